//! The forms of a launcher: what it takes, what it gives back, free const parameters, grids.

use std::sync::Arc;

use cutile::prelude::*;

#[cutile::module]
mod kernels {
    use cutile::core::*;

    /// y = k x, for any element with arithmetic.
    #[cutile::entry()]
    fn scale<T: Number, const S: [i32; 1]>(k: T, x: &Tensor<T, { [-1] }>, y: &mut Tensor<T, S>) {
        y.store(load_tile_like(x, y) * k);
    }

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
        for i in 0..((K + BK - 1) / BK) {
            acc = mma(px.load([pid.0, i]), py.load([i, pid.1]), acc);
        }
        z.store(acc);
    }

    /// Adds N to y, or takes it away.
    #[cutile::entry()]
    fn shift<T: Number, const S: [i32; 1], const UP: bool, const N: i32>(y: &mut Tensor<T, S>) {
        let by: Tile<T, S> = convert(full(N, y.shape()));
        if UP { y.store(y.load() + by) } else { y.store(y.load() - by) }
    }

    /// Fails unless every program finds its own position in x.
    #[cutile::entry()]
    fn positions(x: &Tensor<i32, { [-1, -1] }>) {
        let here = x.partition(const_shape![1, 1]).load([program_id(0), program_id(1)]);
        let expected = program_id(0) * num_programs(1) + program_id(1);
        assert!(here.reshape(const_shape![]).to_scalar() == expected, "the program's own element");
    }

    /// Names that the launcher could want for itself.
    #[cutile::entry()]
    fn greedy<X0: Number, const KERNEL: i32>(
        consts: X0,
        launch: &Tensor<X0, { [-1] }>,
        zip: &mut Tensor<X0, { [4] }>,
    ) {
        let kernel: Tile<X0, { [4] }> = convert(full(KERNEL, zip.shape()));
        zip.store(load_tile_like(launch, zip) * consts + kernel);
    }

    /// The same, where every const parameter is bound.
    #[cutile::entry()]
    fn greedy_too<X0: Number, const X1: i32>(
        x: &Tensor<X0, { [-1] }>,
        y: &mut Tensor<X0, { [X1] }>,
    ) {
        y.store(load_tile_like(x, y));
    }
}

fn values<T: cutile::HostElement>(y: Partition<Tensor<T>>) -> Vec<T> {
    y.unpartition().into_host_vec().sync().expect("a read back")
}

#[test]
fn you_get_back_what_you_put_in() {
    let x: Tensor<f32> = api::arange::<f32>(10).sync().unwrap();
    let mut y: Tensor<f32> = api::zeros::<f32>([10]).sync().unwrap();
    let (k, back, part) = kernels::scale(3.0, &x, y.partition_mut([4])).sync().unwrap();
    let _: (f32, &Tensor<f32>) = (k, back);
    drop(part);
    assert_eq!(y.to_host_vec().sync().unwrap()[9], 27.0);

    let shared: Arc<Tensor<f32>> = Arc::new(x);
    let (_, shared, y) = kernels::scale(2.0, shared, y.partition([3])).sync().unwrap();
    let _: Arc<Tensor<f32>> = shared;
    assert_eq!(values(y)[9], 18.0);
}

#[test]
fn element_types_follow_from_the_arguments() {
    let (_, _, y) = kernels::scale(3, api::arange::<i32>(5), api::zeros::<i32>([5]).partition([2]))
        .sync()
        .unwrap();
    assert_eq!(values(y), [0, 3, 6, 9, 12]);
    let (_, _, y) =
        kernels::scale(0.5, api::arange::<f64>(5), api::zeros::<f64>([5]).partition([8]))
            .sync()
            .unwrap();
    assert_eq!(values(y), [0.0, 0.5, 1.0, 1.5, 2.0]);
}

#[test]
fn free_parameters_come_by_turbofish_or_at_run_time() {
    let (m, n, k) = (7, 9, 10);
    let x: Vec<f32> = (0..m * k).map(|i| (i % 5) as f32 - 2.0).collect();
    let y: Vec<f32> = (0..k * n).map(|i| (i % 7) as f32 - 3.0).collect();
    let expected: Vec<f32> =
        (0..m * n).map(|i| (0..k).map(|j| x[i / n * k + j] * y[j * n + i % n]).sum()).collect();
    let tensor = |v: &[f32], shape: [usize; 2]| api::from_slice(v, shape).arc();
    let z = || api::zeros::<f32>([m, n]).partition([4, 4]);

    let (z1, x1, y1) =
        kernels::gemm::<4>(z(), tensor(&x, [m, k]), tensor(&y, [k, n])).sync().unwrap();
    assert_eq!(values(z1), expected);
    let (z2, _, _) = zip!(z(), x1.clone(), y1.clone()).apply(kernels::gemm::<3>).sync().unwrap();
    assert_eq!(values(z2), expected);
    for bk in [1, 5, 16] {
        let consts = kernels::gemm::Consts { BK: bk };
        let (z3, _, _) = kernels::gemm::with(consts, z(), x1.clone(), y1.clone()).sync().unwrap();
        assert_eq!(values(z3), expected, "BK = {bk}");
    }
}

#[test]
fn bools_and_elements_are_parameters_too() {
    let y = || api::ones::<f32>([4]).partition([4]);
    let (up,) = kernels::shift::<f32, true, 5>(y()).sync().unwrap();
    assert_eq!(values(up), [6.0; 4]);
    let (down,) = kernels::shift::<f32, false, 5>(y()).sync().unwrap();
    assert_eq!(values(down), [-4.0; 4]);
    let whole = api::ones::<i64>([4]).partition([4]);
    let (whole,) =
        kernels::shift::with(kernels::shift::Consts { UP: true, N: -1 }, whole).sync().unwrap();
    assert_eq!(values(whole), [0i64; 4]);
}

#[test]
fn kernels_without_outputs_take_a_grid() {
    let x = api::arange::<i32>(12).sync().unwrap().reshape([3, 4]);
    kernels::positions(x).grid([3, 4]).sync().unwrap();
    // On a host device: a fault ends a GPU's context.
    let stream = Device::host(0).new_stream().unwrap();
    let x = api::arange::<i32>(12).sync_on(&stream).unwrap().reshape([3, 4]);
    assert!(
        kernels::positions(x).grid([3, 3]).sync_on(&stream).is_err(),
        "element 4 is not program (1, 1)'s"
    );
}

#[test]
fn names_of_a_kernel_do_not_meet_those_of_its_launcher() {
    let (x, y) = (|| api::full(2, [4]).arc(), || api::zeros::<i32>([4]).partition([4]));
    let (.., sum) = kernels::greedy::<i32, 7>(3, x(), y()).sync().unwrap();
    assert_eq!(values(sum), [13; 4]);
    let consts = kernels::greedy::Consts { KERNEL: 7 };
    let (.., sum) = kernels::greedy::with(consts, 3, x(), y()).sync().unwrap();
    assert_eq!(values(sum), [13; 4]);
    let (_, copy) = kernels::greedy_too(x(), y()).sync().unwrap();
    assert_eq!(values(copy), [2; 4]);
}
