//! The same program with its built kernels inside.

fn main() -> Result<(), cutile::prelude::DeviceError> {
    cutile::embed_kernels!();
    outside::run()
}
