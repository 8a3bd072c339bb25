#[cutile::module]
mod kernels {
    use cutile::core::*;

    const SCALE: f32 = super::scale();
    const NAMES: [f32; 2] = [1.0, 2.0];
    const WIDE: u128 = 1;

    #[cutile::entry()]
    fn k<const S: [i32; 1]>(y: &mut Tensor<f32, S>) {
        let shape = S;
        let size: [i32; program_id(0)] = [1];
        let ids = tile_block_id();
        let many = tile_block_id::<9>();
        y.store(y.load() * SCALE);
    }
}

const fn scale() -> f32 {
    2.0
}

fn main() {}
