//! Runs the crate's own kernel and prints what came out.

fn main() -> Result<(), cutile::prelude::DeviceError> {
    outside::run()
}
