#[cutile::module]
mod kernels {
    use cutile::core::*;

    #[cutile::entry()]
    fn k(u: &Tensor<u32, { [4] }>, h: &Tensor<f8e4m3, { [4] }>, y: &mut Tensor<f32, { [4] }>) {
        let t = y.load();
        let positive = t > 0.0;
        let both = positive + positive;
        let negative = -u.load();
        let shifted = t << t;
        let inverted = !t;
        let eighth = h.load() * h.load();
        let masked = t & t;
    }
}

fn main() {}
