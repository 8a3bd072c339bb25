//! The kernels of the specification and of the design.

use super::{front_end, ir};

#[test]
fn saxpy() {
    insta::assert_snapshot!(ir(r#"
        #[cutile::entry()]
        fn saxpy<const S: [i32; 2]>(a: f32, x: &Tensor<f32, {[-1, -1]}>, y: &mut Tensor<f32, S>) {
            let tile_a: Tile<f32, S> = broadcast_scalar(a, y.shape());
            let tile_x: Tile<f32, S> = load_tile_like_2d(x, y);
            let tile_y: Tile<f32, S> = load_tile_mut(y);
            store_tile(tile_a * tile_x + tile_y, y);
        }
    "#));
}

#[test]
fn gemm() {
    insta::assert_snapshot!(ir(r#"
        #[cutile::entry()]
        fn gemm<const BM: i32, const BN: i32, const BK: i32, const K: i32>(
            z: &mut Tensor<f32, { [BM, BN] }>,
            x: &Tensor<f32, { [-1, K] }>,
            y: &Tensor<f32, { [K, -1] }>,
        ) {
            let px = x.partition(const_shape![BM, BK]);
            let py = y.partition(const_shape![BK, BN]);
            let pid = get_tile_block_id();
            let mut acc = z.load();
            for i in 0..(K / BK) {
                acc = mma(px.load([pid.0, i]), py.load([i, pid.1]), acc);
            }
            z.store(acc);
        }
    "#));
}

#[test]
fn softmax() {
    insta::assert_snapshot!(ir(r#"
        #[cutile::entry()]
        fn softmax<const BM: i32, const BN: i32>(x: &Tensor<f32, {[-1, -1]}>, y: &mut Tensor<f32, {[BM, BN]}>) {
            let t: Tile<f32, {[BM, BN]}> = load_tile_like_2d(x, y);
            let m = reduce_max(t, 1).reshape(const_shape![BM, 1]).broadcast(const_shape![BM, BN]);
            let e = exp(t - m);
            let s: Tile<f32, {[BM]}> = reduce_sum(e, 1);
            y.store(e / s.reshape(const_shape![BM, 1]).broadcast(y.shape()));
        }
    "#));
}

#[test]
fn relu_and_add() {
    insta::assert_snapshot!(ir(r#"
        #[cutile::entry()]
        fn add_relu<const S: [i32; 1]>(x: &Tensor<f32, {[-1]}>, y: &Tensor<f32, {[-1]}>, z: &mut Tensor<f32, S>) {
            let sum = load_tile_like(x, z) + load_tile_like(y, z);
            z.store(relu(sum));
        }
        fn relu<T: Element, const S: [i32; 1]>(t: Tile<T, S>) -> Tile<T, S> {
            max(t, zeros(t.shape()))
        }
    "#));
}

#[test]
fn operations_know_their_place() {
    let compiled = front_end(
        "#[cutile::entry()]\nfn f<const S: [i32; 1]>(y: &mut Tensor<f32, S>) {\n    y.store(y.load() * 2.0);\n}",
    );
    let text = compiled.units[0].module.to_string();
    let product = text.lines().find(|l| l.contains("binary mul")).unwrap_or_default();
    assert!(product.ends_with("loc 0:4:22"), "{product}");
}
