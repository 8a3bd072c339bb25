//! Launches on the host device: what they compute, what binds const parameters, and what is refused.

use cuda_async::HostOptions;
use cutile_core::prelude::*;
use cutile_core::{LaunchError, LaunchReason, api};

use crate::kernels::{check, copy, damaged, fill, mistaken, mistyped, saxpy};

fn ones(shape: &[usize]) -> Tensor<f32> {
    api::ones(shape).sync().unwrap()
}

/// Why a launch was refused.
fn refused<T>(result: Result<T, DeviceError>) -> (LaunchReason, String) {
    let Err(error) = result else { panic!("the launch was not refused") };
    match error.downcast_ref::<LaunchError>() {
        Some(launch) => (launch.reason.clone(), error.to_string()),
        None => panic!("not a launch error: {error}"),
    }
}

#[test]
fn the_first_example_of_the_specification() {
    let x = api::ones::<f32>([16, 16]).arc();
    let y = api::ones::<f32>([16, 16]).partition([4, 4]);
    let (a, x, y) = api::zip((2.0, x, y)).apply(saxpy).sync().unwrap();
    assert_eq!(a, 2.0);
    assert_eq!(x.shape(), [16, 16]);
    assert_eq!(y.unpartition().to_host_vec().sync().unwrap(), [3.0; 256]);
}

#[test]
fn arguments_come_back_in_the_form_in_which_they_were_given() {
    let (x, mut y) = (ones(&[5, 7]), ones(&[5, 7]));
    let (_, x_again, part): (f32, &Tensor<f32>, Partition<&mut Tensor<f32>>) =
        saxpy(2.0, &x, y.partition_mut([2, 4])).sync().unwrap();
    assert_eq!((x_again.shape(), part.tile_shape()), (&[5, 7][..], &[2, 4][..]));
    assert_eq!(y.to_host_vec().sync().unwrap(), [3.0; 35]);
    let (_, x, y): (f32, Tensor<f32>, Partition<Tensor<f32>>) =
        saxpy(1.0, x, y.partition([3, 3])).sync().unwrap();
    assert_eq!((x.len(), y.unwrap().to_host_vec().sync().unwrap()), (35, vec![4.0; 35]));
}

#[test]
fn a_transposed_tensor_is_read_through_its_strides() {
    let x = api::arange::<f32>(6).reshape([2, 3]).transpose();
    let y = api::zeros::<f32>([3, 2]).partition([2, 2]);
    let (_, _, y) = saxpy(1.0, x, y).sync().unwrap();
    assert_eq!(y.unpartition().to_host_vec().sync().unwrap(), [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    let x = api::arange::<f32>(6).reshape([2, 3]);
    let y = api::zeros::<f32>([3, 2]).transpose().partition([1, 2]);
    let (_, _, y) = saxpy(1.0, x, y).sync().unwrap();
    assert_eq!(
        y.unpartition().transpose().to_host_vec().sync().unwrap(),
        [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]
    );
}

#[test]
fn one_kernel_serves_many_specialisations() {
    for n in [1, 2, 3, 8, 100] {
        let y = api::zeros::<i64>([100]).partition([n]);
        let (_, y) = fill::<i64, true>(n as i64, y).sync().unwrap();
        assert_eq!(y.unpartition().to_host_vec().sync().unwrap(), [n as i64; 100]);
    }
    let (_, y) = fill::<bool, false>(true, api::zeros::<bool>([3]).partition([2])).sync().unwrap();
    assert_eq!(y.unpartition().to_host_vec().sync().unwrap(), [true; 3]);
}

#[test]
fn grids_agree_after_dropping_trailing_ones() {
    let args = || (ones(&[10, 8]).arc(), ones(&[4]).arc());
    let (x, w) = args();
    let (y, rows) = (ones(&[10, 8]).partition([4, 8]), ones(&[10]).partition([4]));
    let (.., y, _) = copy::<2>(x, w, y, rows).sync().unwrap();
    assert_eq!(y.grid().unwrap(), [3, 1]);
    let (x, w) = args();
    let (y, rows) = (ones(&[10, 16]).partition([4, 8]), ones(&[10]).partition([4]));
    let (reason, text) = refused(copy::<2>(x, w, y, rows).sync());
    assert!(matches!(reason, LaunchReason::Grids { .. }), "{text}");
    for part in ["test::copy", "`y`", "[3, 2]", "`rows`", "[3]"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn extents_that_the_signature_fixes_are_checked() {
    let launch = |x: &[usize], w: &[usize], tile: [usize; 2], rows: usize| {
        let (y, r) = (ones(&[8, 8]).partition(tile), ones(&[8]).partition([rows]));
        refused(copy::<2>(ones(x).arc(), ones(w).arc(), y, r).sync())
    };
    let (reason, text) = launch(&[8, 8], &[4], [4, 4], 4);
    assert!(
        matches!(reason, LaunchReason::Extent { axis: 1, given: 4, expected: 8, .. }),
        "{text}"
    );
    assert!(text.contains("`y`") && text.contains("the kernel's signature"), "{text}");
    let (reason, text) = launch(&[8, 8], &[4], [4, 8], 2);
    assert!(matches!(reason, LaunchReason::Extent { given: 2, expected: 4, .. }), "{text}");
    assert!(text.contains("`rows`") && text.contains("`B`, bound by parameter `y`"), "{text}");
    let (reason, text) = launch(&[8, 8], &[5], [4, 8], 4);
    assert!(matches!(reason, LaunchReason::Extent { given: 5, expected: 4, .. }), "{text}");
    assert!(text.contains("`w`") && text.contains("`(K / Q)`"), "{text}");
    let (reason, text) = launch(&[8], &[4], [4, 8], 4);
    assert!(matches!(reason, LaunchReason::Rank { expected: 2, .. }), "{text}");
    assert!(text.contains("`x`") && text.contains("[8]"), "{text}");
}

#[test]
fn an_expression_without_a_value_is_refused() {
    let (y, r) = (ones(&[8, 8]).partition([4, 8]), ones(&[8]).partition([4]));
    let (reason, text) = refused(copy::<0>(ones(&[8, 8]).arc(), ones(&[4]).arc(), y, r).sync());
    assert!(matches!(reason, LaunchReason::Expression { .. }), "{text}");
}

#[test]
fn a_bad_partition_is_reported_by_the_launch() {
    for (tile, part) in [(&[4, 4, 4][..], "[4, 4, 4]"), (&[4, 0], "extent 0"), (&[4], "[4]")] {
        let (reason, text) =
            refused(saxpy(1.0, ones(&[8, 8]), ones(&[8, 8]).partition(tile)).sync());
        assert!(matches!(reason, LaunchReason::Tensor { .. }), "{text}");
        assert!(text.contains("`y`") && text.contains(part), "{text}");
    }
    let huge = ones(&[8, 8]).partition([1 << 40, 8]);
    let (reason, text) = refused(saxpy(1.0, ones(&[8, 8]), huge).sync());
    assert!(matches!(reason, LaunchReason::ExtentTooLarge { axis: 0, .. }), "{text}");
}

#[test]
fn a_bad_reshape_is_reported_by_the_launch() {
    let x = ones(&[8, 8]).reshape([9, 9]);
    assert!(x.check().is_err());
    let (_, text) = refused(saxpy(1.0, x, ones(&[8, 8]).partition([4, 4])).sync());
    assert!(text.contains("`x`") && text.contains("64 elements are not 81"), "{text}");
}

#[test]
fn tensors_of_another_device_are_refused() {
    let elsewhere = Device::private_host(HostOptions::default());
    let x = ones(&[4, 4]).copy_to(&elsewhere).sync().unwrap();
    assert_eq!(x.device(), elsewhere);
    let launch = saxpy(1.0, &x, ones(&[4, 4]).partition([2, 2]));
    let stream = Device::default().new_stream().unwrap();
    let (reason, text) = refused(launch.sync_on(&stream));
    assert!(matches!(reason, LaunchReason::Device { .. }), "{text}");
    assert!(text.contains("`x`") && text.contains("copy_to"), "{text}");
    assert_eq!(x.to_host_vec().sync().unwrap(), [1.0; 16]);
}

#[test]
fn empty_grids_launch_nothing_and_succeed() {
    for shape in [[0, 4], [4, 0], [0, 0]] {
        let (x, y) = (ones(&shape), ones(&shape).partition([2, 2]));
        let (_, _, y) = saxpy(1.0, x, y).sync().unwrap();
        assert!(y.unpartition().to_host_vec().sync().unwrap().is_empty());
    }
    assert_eq!(check(0).grid([3, 0]).sync().unwrap(), (0,));
}

#[test]
fn a_kernel_that_writes_nothing_takes_its_grid_from_the_caller() {
    assert_eq!(check(6).grid([2, 3]).sync().unwrap(), (6,));
    assert_eq!(check(1).grid([]).sync().unwrap(), (1,));
    let (reason, text) = refused(check(6).sync());
    assert!(reason == LaunchReason::NoGrid && text.contains(".grid([..])"), "{text}");
    let (reason, text) = refused(check(6).grid([1; 7]).sync());
    assert!(matches!(reason, LaunchReason::GridRank { .. }), "{text}");
    let (reason, text) = refused(check(6).grid([1 << 20, 1 << 20]).sync());
    assert!(matches!(reason, LaunchReason::GridTooLarge { .. }), "{text}");
}

#[test]
fn a_launch_that_is_refused_gives_its_inputs_back() {
    let launch = saxpy(3.0, ones(&[8, 8]), ones(&[8, 8]).partition([4]));
    let failed = launch.recover().sync().unwrap().unwrap_err();
    let (a, x, y) = failed.inputs.unwrap();
    assert!(failed.error.to_string().contains("`y`"), "{}", failed.error);
    let (_, _, y) = saxpy(a, x, y.unpartition().partition([4, 4])).sync().unwrap();
    assert_eq!(y.unpartition().to_host_vec().sync().unwrap(), [4.0; 64]);
}

#[test]
fn a_failed_check_names_kernel_place_and_program() {
    let error = check(1).grid([2, 3]).sync().unwrap_err().to_string();
    for part in ["test::check", "src/kernels.rs:12", "the program's number is below the limit"] {
        assert!(error.contains(part), "{error}");
    }
    assert_eq!(check(6).grid([2, 3]).sync().unwrap(), (6,), "the device lives on");
}

#[test]
fn what_a_failed_kernel_may_have_written_is_poisoned() {
    let x = ones(&[2, 8]).arc();
    let w = ones(&[4]).arc();
    // Ten rows of tiles, but x has only two rows: the third tile of x does not exist.
    let (y, rows) = (ones(&[10, 8]).partition([2, 8]), ones(&[10]).partition([2]));
    let (.., y, _) = copy::<2>(x.clone(), w, y, rows).fallible().sync().unwrap().map_or_else(
        |error| {
            assert!(error.to_string().contains("src/kernels.rs:3"), "{error}");
            (x.clone(), x.clone(), ones(&[1]).partition([1]), ones(&[1]).partition([1]))
        },
        |_| panic!("an index outside the tensor is a fault"),
    );
    drop(y);
    assert_eq!(x.to_host_vec().sync().unwrap(), [1.0; 16], "what the caller holds stays usable");
}

#[test]
fn launchers_of_another_version_are_told_so() {
    let (reason, text) = refused(mistaken(1).grid([1]).sync());
    assert!(matches!(reason, LaunchReason::Signature { given: 1, expected: 0, .. }), "{text}");
    let (reason, _) = refused(damaged(1).grid([1]).sync());
    assert!(matches!(reason, LaunchReason::Damaged(_)));
}

#[test]
fn element_types_and_consts_are_checked_whoever_wrote_the_launcher() {
    assert!(mistyped(DType::F32, 1).sync().is_ok());
    let (reason, text) = refused(mistyped(DType::F16, 1).sync());
    assert!(matches!(reason, LaunchReason::Type { .. }), "{text}");
    assert!(text.contains("`v`") && text.contains("f16") && text.contains("f32"), "{text}");
    let (reason, text) = refused(mistyped(DType::F32, 2).sync());
    assert!(matches!(reason, LaunchReason::Const { given: 2, .. }), "{text}");
}

#[test]
fn one_operation_reads_two_results_of_one_launch() {
    let x = api::ones::<f32>([16, 16]).arc();
    let y = api::ones::<f32>([16, 16]).partition([4, 4]);
    let (a, x, y) = zip!(2.0, x, y).apply(saxpy).unzip();
    drop((a, x));
    let y: Arc<Tensor<f32>> = y.unpartition().arc().sync().unwrap();
    assert_eq!(y.to_host_vec().sync().unwrap(), [3.0; 256]);
}
