#[cutile::module]
mod kernels {
    use cutile::core::*;

    #[cutile::entry()]
    fn k(y: &mut Tensor<i32, { [4] }>, h: &mut Tensor<f16, { [4] }>) {
        let a: u8 = 256;
        let b = -129i8;
        let c = 4294967295;
        let d = f32::RADIX;
        h.store(full(1.5 as f16, h.shape()));
        y.store(y.load() + c + reduce_sum(y.load(), -1).to_scalar());
    }
}

fn main() {}
