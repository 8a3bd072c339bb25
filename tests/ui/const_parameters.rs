#[cutile::module]
mod kernels {
    use cutile::core::*;

    #[cutile::entry()]
    fn kinds<const N: usize, const S: [i32; 9], const C: char>(y: &mut Tensor<f32, { [N] }>) {
        y.store(y.load());
    }

    #[cutile::entry()]
    fn free_array<const S: [i32; 2]>(y: &mut Tensor<f32, { [S[0]] }>) {
        y.store(y.load() * S[1] as f32);
    }
}

fn main() {}
