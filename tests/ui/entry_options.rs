#[cutile::module]
mod kernels {
    use cutile::core::*;

    #[cutile::entry(fast, specialize(S = [64]), num_warps = 4)]
    fn unknown<const S: [i32; 1]>(y: &mut Tensor<f32, S>) {
        y.store(y.load());
    }

    #[cutile::entry(specialize(S = [64], T = f32, Q = 3), specialize(S = 64, T = f31), specialize(S = [1, 2]))]
    fn wrong_values<T: Number, const S: [i32; 1]>(y: &mut Tensor<T, S>) {
        y.store(y.load());
    }

    #[cutile::entry(fast_math = true, specialize)]
    fn wrong_forms(y: &mut Tensor<f32, { [8] }>) {
        y.store(y.load());
    }

    #[cutile::kernel]
    fn unknown_attribute(y: &mut Tensor<f32, { [8] }>) {
        y.store(y.load());
    }
}

fn main() {}
