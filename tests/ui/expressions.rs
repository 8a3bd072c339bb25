#[cutile::module]
mod kernels {
    use cutile::core::*;

    #[cutile::entry()]
    fn k(n: i32, y: &mut Tensor<f32, { [8] }>) {
        match n {
            0 => {}
            _ => {}
        }
        let pair = Pair { left: 1 };
        let all = [0; n];
        let q = helper(n)?;
        unsafe { y.store(y.load()) };
        println!("{n}");
        let f = |x: f32| x + 1.0;
        let text = "rows";
        let r = *n;
        let s = n.bits;
        let Some(t) = n else { return };
    }
}

fn main() {}
