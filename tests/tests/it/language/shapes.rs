//! Shapes that don't divide, ranks, and where a program stands.

use cutile::prelude::*;

#[cutile::module]
mod kernels {
    use cutile::core::*;

    #[cutile::entry()]
    fn softmax<const BM: i32, const BN: i32>(
        x: &Tensor<f32, { [-1, -1] }>,
        y: &mut Tensor<f32, { [BM, BN] }>,
    ) {
        let t = load_tile_like_2d(x, y);
        let m = reduce_max(t, 1).reshape(const_shape![BM, 1]).broadcast(y.shape());
        let e = exp(t - m);
        let s = reduce_sum(e, 1).reshape(const_shape![BM, 1]).broadcast(y.shape());
        y.store(e / s);
    }

    /// Row sums of A, a program for each row.
    #[cutile::entry()]
    fn row_sums<const N: i32>(a: &Tensor<f32, { [-1, N] }>, y: &mut Tensor<f32, { [1] }>) {
        let row = a.partition(const_shape![1, N]).load([program_id(0), 0]);
        y.store(reduce_sum(row, 1));
    }

    #[cutile::entry()]
    fn ids(y: &mut Tensor<i32, { [1, 1, 1] }>) {
        let (a, b, c) = get_tile_block_id();
        let (na, nb, nc) = get_num_tile_blocks();
        let list = tile_block_id::<4>();
        assert!(list[0] == a && list[3] == 0 && na * nb * nc == 24);
        y.store(full(a * 100 + b * 10 + c, y.shape()));
    }

    #[cutile::entry()]
    fn extremes(x: &Tensor<f32, { [16, 1] }>, y: &mut Tensor<f32, { [4] }>) {
        let t = x.load();
        let max: f32 = reduce_max(t, 0).reshape(const_shape![]).to_scalar();
        let sum: f32 = reduce_sum(t, 0).reshape(const_shape![]).to_scalar();
        let same = reduce_max(t, 1);
        let i: Tile<i32, { [4] }> = iota(const_shape![4]);
        let last = select(i == 2, reduce_sum(same, 0).to_scalar() + zeros(y.shape()), 0.0);
        y.store(select(
            i == 0,
            max + zeros(y.shape()),
            select(i == 1, sum + zeros(y.shape()), last),
        ));
    }
}

#[test]
fn softmax_of_ragged_rows_needs_no_mask() {
    let (rows, columns) = (5, 19);
    let x: Vec<f32> = (0..rows * columns).map(|i| ((i * 37) % 23) as f32 / 3.0 - 5.0).collect();
    let y = api::zeros::<f32>([rows, columns]).partition([2, 32]);
    let (_, y) = kernels::softmax(api::from_slice(&x, [rows, columns]), y).sync().unwrap();
    let y = y.unpartition().into_host_vec().sync().unwrap();
    for (given, got) in x.chunks(columns).zip(y.chunks(columns)) {
        let sum: f64 = given.iter().map(|v| f64::from(*v).exp()).sum();
        for (v, p) in given.iter().zip(got) {
            let exact = f64::from(*v).exp() / sum;
            assert!(
                (f64::from(*p) - exact).abs() < 1e-6 * exact.max(1e-3),
                "{p} instead of {exact}"
            );
        }
    }
}

#[test]
fn one_program_a_row_gives_the_same_every_time() {
    for _ in 0..100 {
        let y = api::zeros::<f32>([4]).partition([1]);
        let (_, y) = kernels::row_sums(api::ones::<f32>([4, 4]), y).sync().unwrap();
        assert_eq!(y.unpartition().into_host_vec().sync().unwrap(), [4.0; 4]);
    }
}

#[test]
fn every_program_knows_its_position() {
    let y = api::zeros::<i32>([2, 3, 4]).partition([1, 1, 1]);
    let (y,) = kernels::ids(y).sync().unwrap();
    let expected: Vec<i32> = (0..24).map(|i| i / 12 * 100 + i / 4 % 3 * 10 + i % 4).collect();
    assert_eq!(y.unpartition().into_host_vec().sync().unwrap(), expected);
}

#[test]
fn reductions_of_an_axis_of_one_element() {
    let x: Vec<f32> = (1..=16).map(|i| i as f32).collect();
    let y = api::zeros::<f32>([4]).partition([4]);
    let (_, y) = kernels::extremes(api::from_slice(&x, [16, 1]), y).sync().unwrap();
    assert_eq!(y.unpartition().into_host_vec().sync().unwrap(), [16.0, 136.0, 136.0, 0.0]);
}
