//! Bad input to launches and tensor functions: an error that names what was given and what was expected, before anything is
//! submitted; and what the caller still holds stays usable.

use cutile::prelude::*;
use cutile::{LaunchError, LaunchReason, TensorError};
use cutile_tests::run;

use crate::child::in_child;

#[cutile::module]
mod kernels {
    use cutile::core::*;

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

    #[cutile::entry()]
    fn rows<const N: i32>(
        x: &Tensor<f32, { [-1, 4] }>,
        sums: &mut Tensor<f32, { [N] }>,
        most: &mut Tensor<f32, { [N] }>,
    ) {
        let tiles = x.partition(const_shape![N, 4]);
        let pid = get_tile_block_id();
        let tile = tiles.load([pid.0, 0]);
        sums.store(reduce_sum(tile, 1));
        most.store(reduce_max(tile, 1));
    }

    #[cutile::entry()]
    fn quotient(x: &Tensor<i32, { [-1] }>, y: &mut Tensor<i32, { [4] }>) {
        let tile: Tile<i32, { [4] }> = load_tile_like_1d(x, y);
        y.store(y.load() / tile);
    }
}
use kernels::{gemm, quotient, rows};

fn ones(shape: &[usize]) -> Tensor<f32> {
    api::ones(shape).sync().unwrap()
}

#[track_caller]
fn refused<T>(result: Result<T, DeviceError>, parts: &[&str]) -> LaunchReason {
    let Err(error) = result else { panic!("the launch was not refused") };
    let text = error.to_string();
    parts.iter().for_each(|part| assert!(text.contains(part), "{part} in {text}"));
    error
        .downcast_ref::<LaunchError>()
        .unwrap_or_else(|| panic!("no launch error: {text}"))
        .reason
        .clone()
}

#[test]
fn a_product_of_matrices_that_fit() {
    let (z, x, y) = (ones(&[8, 6]).partition([4, 3]), ones(&[8, 16]).arc(), ones(&[16, 6]).arc());
    let (z, ..) = gemm::<8>(z, x, y).sync().unwrap();
    assert_eq!(z.unpartition().to_host_vec().sync().unwrap(), [17.0; 48]);
}

#[test]
fn a_const_that_two_arguments_bind_must_agree() {
    let (z, x, y) = (ones(&[8, 6]).partition([4, 3]), ones(&[8, 16]).arc(), ones(&[15, 6]).arc());
    let reason = refused(
        gemm::<8>(z, x.clone(), y).sync(),
        &["gemm", "`y`", "axis 0", "15", "16", "`K`", "`x`"],
    );
    assert!(matches!(reason, LaunchReason::Extent { given: 15, expected: 16, .. }));
    assert_eq!(x.to_host_vec().sync().unwrap().len(), 128);
}

#[test]
fn ranks_are_checked() {
    let (z, y) = (|| ones(&[8, 6]).partition([4, 3]), ones(&[16, 6]).arc());
    refused(gemm::<8>(z(), ones(&[8]).arc(), y.clone()).sync(), &["`x`", "rank 2", "[8]"]);
    refused(
        gemm::<8>(ones(&[8]).partition([4]), ones(&[8, 16]).arc(), y.clone()).sync(),
        &["`z`", "rank 2", "[4]"],
    );
    refused(
        gemm::<8>(ones(&[8, 6]).partition([4]), ones(&[8, 16]).arc(), y).sync(),
        &["`z`", "[8, 6]", "[4]"],
    );
}

#[test]
fn fixed_extents_are_checked() {
    let part = |n: usize, tile: usize| ones(&[n]).partition([tile]);
    assert!(rows(ones(&[6, 4]), part(6, 4), part(6, 4)).sync().is_ok());
    refused(
        rows(ones(&[6, 5]), part(6, 4), part(6, 4)).sync(),
        &["`x`", "axis 1", "5", "4", "signature"],
    );
    refused(
        rows(ones(&[6, 4]), part(6, 4), part(6, 2)).sync(),
        &["`most`", "2", "4", "`N`", "`sums`"],
    );
    let reason = refused(
        rows(ones(&[6, 4]), part(6, 4), part(9, 4)).sync(),
        &["`sums`", "[2]", "`most`", "[3]"],
    );
    assert!(matches!(reason, LaunchReason::Grids { .. }));
}

#[test]
fn empty_tensors_are_launched_on() {
    let part = || ones(&[0]).partition([4]);
    let (_, sums, _) = rows(ones(&[0, 4]), part(), part()).sync().unwrap();
    assert_eq!(sums.grid().unwrap(), [0]);
    // The checks come first, also where nothing would run.
    refused(rows(ones(&[0, 5]), part(), part()).sync(), &["`x`", "axis 1"]);
}

#[test]
fn a_sub_tensor_needs_elements() {
    let reason = refused(
        quotient(api::ones::<i32>([4]), api::ones::<i32>([4]).partition([0])).sync(),
        &["`y`", "extent 0"],
    );
    assert!(matches!(reason, LaunchReason::Tensor { .. }));
}

#[test]
fn await_panics_with_the_text_and_fallible_does_not() {
    let launch = || quotient(api::ones::<i32>([4]), api::ones::<i32>([4]).partition([3]));
    let error = run(launch().fallible()).map(|_| ()).unwrap_err();
    let panic = std::panic::catch_unwind(|| run(launch())).map(|_| ()).unwrap_err();
    let text = panic.downcast_ref::<String>().expect("a panic with a text");
    assert!(text.contains(&error.to_string()), "{text}");
}

#[test]
fn a_fault_names_kernel_file_and_line() {
    // In a process of its own: on a GPU the fault ends the context.
    in_child("launch_errors::a_fault_names_kernel_file_and_line", &[], || {
        let (_, y) =
            quotient(api::ones::<i32>([4]), api::full(6, [4]).partition([4])).sync().unwrap();
        assert_eq!(y.unpartition().to_host_vec().sync().unwrap(), [6; 4]);
        let failed = quotient(api::zeros::<i32>([4]), api::ones::<i32>([4]).partition([4])).sync();
        let text = failed.map(|_| ()).unwrap_err().to_string();
        assert!(text.contains("quotient") && text.contains("launch_errors.rs:"), "{text}");
    });
}

#[test]
fn tensor_functions_name_the_shapes() {
    fn says<T: std::fmt::Debug>(result: Result<T, DeviceError>, parts: &[&str]) {
        let error = result.unwrap_err();
        assert!(error.downcast_ref::<TensorError>().is_some(), "{error}");
        let text = error.to_string();
        parts.iter().for_each(|part| assert!(text.contains(part), "{part} in {text}"));
    }
    let x = ones(&[2, 3]);
    says(api::add(&x, ones(&[3, 2])).sync(), &["`add`", "[2, 3]", "[3, 2]"]);
    says(api::maximum(&x, ones(&[6])).sync(), &["`maximum`", "[6]"]);
    says(api::matmul(&x, &x).sync(), &["`matmul`", "[2, 3]"]);
    says(api::matmul(&x, ones(&[3])).sync(), &["`matmul`", "[3]"]);
    says(api::sum(ones(&[6]).reshape([4])).sync(), &["6 elements are not 4"]);
    assert_eq!(x.to_host_vec().sync().unwrap(), [1.0; 6]);
}

#[test]
fn a_failure_upstream_is_the_failure() {
    let bad = api::from_vec(vec![1.0f32; 3], [4]);
    let error = api::sum(api::add(bad, api::ones::<f32>([4]))).sync().unwrap_err().to_string();
    assert!(error.contains("3 elements"), "{error}");
}
