#[cutile::module]
mod kernels {
    use cutile::core::*;

    #[cutile::entry()]
    fn k(n: i32, y: &mut Tensor<f32, { [4] }>) {
        let mut i = 0;
        while { i += 1; i < n } {}
        let a = 1 + if n > 2 { return } else { 3 };
        for j in 0..n {
            i = if j > 4 { break } else { j };
        }
        y.store(full(if n == 7 { return } else { 1.0 }, y.shape()));
    }
}

fn main() {}
