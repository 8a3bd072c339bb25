#[cutile::module]
mod kernels {
    use cutile::core::*;

    #[cutile::entry()]
    fn k(n: i32, x: &Tensor<i32, { [-1] }>, y: &mut Tensor<i32, { [4] }>) {
        let t = y.load();
        let a = t.map(|v| if v > 0 { n / v } else { 0 });
        let b = t.map(|v| {
            if v > 0 {
                return 1;
            }
            let mut w = v;
            w += 1;
            for i in 0..n {}
            assert!(w > 0);
            w
        });
        let c = t.map(|v| helper(v));
        let tiles = x.partition(const_shape![1]);
        let d = t.map(|v| v + tiles.load([0]).to_scalar());
        let e = t.map(|v, w| v);
        let f = t.map(helper);
        let g = |v: i32| v + 1;
        y.store(a);
    }

    fn helper(n: i32) -> i32 {
        n
    }
}

fn main() {}
