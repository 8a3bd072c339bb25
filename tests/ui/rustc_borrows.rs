#[cutile::module]
mod kernels {
    use cutile::core::*;

    #[cutile::entry()]
    fn k<const S: [i32; 1]>(x: &Tensor<f32, { [4] }>, y: &mut Tensor<f32, S>) {
        x.store(x.load());
        let t = y.load();
        t += 1.0;
        let (view, loaded) = (y.partition_mut(const_shape![1]), y.load());
        view.store([0], view.load([0]));
    }
}

fn main() {}
