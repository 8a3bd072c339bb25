#[cutile::module]
mod kernels {
    use cutile::core::*;

    #[cutile::entry = "fast"]
    fn name_value(y: &mut Tensor<f32, { [4] }>) {
        y.store(y.load());
    }

    #[cutile::entry(fast_math,, specialize)]
    fn commas(y: &mut Tensor<f32, { [4] }>) {
        y.store(y.load());
    }

    #[cutile::entry(specialize(S 3), specialize(S = [4], S = [8]))]
    fn bindings<const S: [i32; 1]>(y: &mut Tensor<f32, S>) {
        y.store(y.load());
    }

    #[cutile::entry(specialize(S = [4]))]
    fn nothing_to_specialise(y: &mut Tensor<f32, { [4] }>) {
        y.store(y.load());
    }
}

fn main() {}
