#[cutile::module]
mod kernels {
    use cutile::core::*;

    #[cutile::entry()]
    fn k<const BM: i32>(n: i32, x: &Tensor<f32, { [-1] }>, y: &mut Tensor<f32, { [BM] }>) {
        for i in 0..=n {}
        for i in [1, 2] {}
        let BM = 3;
        let list = [1, 2];
        let a = list[n];
        let b = list[2];
        let mut v = x.partition(const_shape![BM]);
        v = x.partition(const_shape![BM]);
        let t = y.load();
        let c = t[0];
        let d = t as f32;
        let (e, [f, g]) = (1, [2, 3]);
    }
}

fn main() {}
