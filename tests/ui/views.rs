#[cutile::module]
mod kernels {
    use cutile::core::*;

    #[cutile::entry()]
    fn k(n: i32, x: &Tensor<f32, { [-1] }>, y: &mut Tensor<f32, { [4] }>) {
        let a = x.partition(const_shape![4]);
        let b = x.partition(const_shape![4]);
        let chosen = if n > 0 { a } else { b };
        let shape = if n > 0 { y.shape() } else { const_shape![4] };
        let tile = x.load_tile(const_shape![4, 4], [0, 0]);
        y.store(chosen.load([0]));
    }
}

fn main() {}
