#[cutile::module]
mod kernels {
    use cutile::core::*;

    use super::other::helper;

    #[cutile::entry()]
    fn k(y: &mut Tensor<f32, { [4] }>) {
        let t = helper(y.load(), 2.0);
        y.store(t);
        let u = super::other::helper(y.load(), 2.0f32);
        y.store(u + 1.0);
    }
}

#[cutile::module]
mod other {
    use cutile::core::*;

    pub fn helper(t: Tile<f32, { [4] }>, k: f32) -> Tile<f32, { [4] }> {
        t * k
    }
}

fn main() {}
