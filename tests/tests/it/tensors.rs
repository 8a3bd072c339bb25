//! Tensors: what creation gives, for each element type, and what shapes, copies and shared ownership do.

use std::fmt::Debug;

use cutile::prelude::*;
use cutile::{HostElement, HostFloat, HostNumber};
use cutile_tests::run;
use half::{bf16, f16};

fn host<T: HostElement>(op: impl DeviceOperation<Output = Tensor<T>>) -> Vec<T> {
    op.to_host_vec().sync().unwrap()
}

#[test]
fn constants_of_every_element_type() {
    fn check<T: HostElement>(value: T) {
        assert_eq!(host(api::zeros::<T>([3, 2])), vec![T::ZERO; 6]);
        assert_eq!(host(api::ones::<T>([3, 2])), vec![T::ONE; 6]);
        assert_eq!(host(api::full(value, [5])), vec![value; 5]);
        assert_eq!(host(api::eye::<T>(2)), [T::ONE, T::ZERO, T::ZERO, T::ONE]);
        assert_eq!(api::ones::<T>([1]).sync().unwrap().dtype(), T::DTYPE);
    }
    check(1.25e300f64);
    check(-0.5f32);
    check(f16::from_f32(-3.5));
    check(bf16::from_f32(1e30));
    check(-7i8);
    check(-300i16);
    check(-70_000i32);
    check(-5_000_000_000i64);
    check(200u8);
    check(60_000u16);
    check(4_000_000_000u32);
    check(u64::MAX - 1);
    check(true);
}

#[test]
fn counting() {
    fn check<T: HostNumber>(expected: [T; 4]) {
        assert_eq!(host(api::arange::<T>(4)), expected);
        assert!(host(api::arange::<T>(0)).is_empty());
    }
    check([0.0f64, 1.0, 2.0, 3.0]);
    check([0.0f32, 1.0, 2.0, 3.0]);
    check([0.0, 1.0, 2.0, 3.0].map(f16::from_f32));
    check([0i8, 1, 2, 3]);
    check([0u64, 1, 2, 3]);
    assert_eq!(host(api::arange::<i8>(128)).last(), Some(&127));
    let error = api::arange::<i8>(129).sync().unwrap_err().to_string();
    assert!(error.contains("128") && error.contains("i8"), "{error}");
}

#[test]
fn equal_distances() {
    assert_eq!(host(api::linspace(1.0f64, -1.0, 5)), [1.0, 0.5, 0.0, -0.5, -1.0]);
    assert_eq!(host(api::linspace(2.0f32, 3.0, 1)), [2.0]);
    assert!(host(api::linspace(2.0f32, 3.0, 0)).is_empty());
    let tenths = host(api::linspace(0.0f32, 1.0, 11));
    assert_eq!(tenths.last(), Some(&1.0), "the end is exact");
    assert!(tenths.iter().enumerate().all(|(i, v)| (v - i as f32 / 10.0).abs() < 1e-7));
}

#[test]
fn random_numbers_depend_on_seed_and_position_alone() {
    fn check<T: HostFloat + Debug>() {
        let numbers = host(api::rand::<T>([1000], 42));
        assert_eq!(host(api::rand::<T>([10, 50, 2], 42)), numbers);
        assert_eq!(host(api::rand::<T>([17], 42)), numbers[..17]);
        assert_ne!(host(api::rand::<T>([1000], 43)), numbers);
        assert!(numbers.iter().all(|v| (0.0..1.0).contains(&v.to_f64())), "{}", T::DTYPE);
        let normal = host(api::randn::<T>([1000], 42));
        assert_eq!(host(api::randn::<T>([17], 42)), normal[..17]);
        let mean = normal.iter().map(|v| v.to_f64()).sum::<f64>() / 1000.0;
        assert!(
            mean.abs() < 0.15 && normal.iter().any(|v| v.to_f64() > 1.5),
            "{}: {mean}",
            T::DTYPE
        );
    }
    check::<f64>();
    check::<f32>();
    check::<f16>();
    check::<bf16>();
}

#[test]
fn shapes_can_be_arrays_slices_and_vectors() {
    assert_eq!(api::zeros::<f32>([2, 3]).sync().unwrap().shape(), [2, 3]);
    assert_eq!(api::zeros::<f32>(&[2, 3][..]).sync().unwrap().shape(), [2, 3]);
    assert_eq!(api::zeros::<f32>(vec![2, 3]).sync().unwrap().shape(), [2, 3]);
    let deep = api::zeros::<f32>([1, 2, 3, 4, 5, 6]).sync().unwrap();
    assert_eq!((deep.len(), deep.strides()), (720, &[720, 360, 120, 30, 6, 1][..]));
    let scalar = api::full(7.0f32, []).sync().unwrap();
    assert_eq!((scalar.shape(), scalar.len()), (&[][..], 1));
    assert_eq!(scalar.to_host_vec().sync().unwrap(), [7.0]);
}

#[test]
fn what_no_tensor_can_be_is_an_error() {
    let error = api::zeros::<f32>([1; 7]).sync().unwrap_err().to_string();
    assert!(error.contains("rank 7"), "{error}");
    let error = api::zeros::<f32>([1 << 40, 1 << 40]).sync().unwrap_err().to_string();
    assert!(error.contains("larger than any memory"), "{error}");
    let error = api::from_slice(&[1, 2, 3], [2, 2]).sync().unwrap_err().to_string();
    assert!(
        error.contains("3 elements") && error.contains("[2, 2]") && error.contains("has 4"),
        "{error}"
    );
}

#[test]
fn more_than_any_memory_is_an_error() {
    const N: usize = 1 << 52;
    fn refused<T: HostElement>(op: impl DeviceOperation<Output = Tensor<T>>) {
        let error = op.sync().unwrap_err();
        assert!(error.is_out_of_memory(), "{error}");
    }
    refused(api::zeros::<f32>([N]));
    refused(api::full(1.5f64, [N]));
    refused(api::arange::<f32>(N));
    refused(api::linspace(0.0f32, 1.0, N));
    refused(api::eye::<u8>(1 << 26));
    refused(api::rand::<f32>([N], 1));
    refused(api::randn::<f16>([N], 1));
}

#[test]
fn operations_borrow_neither_shapes_nor_devices() {
    fn spawned<T: HostElement>(op: impl DeviceOperation<Output = Tensor<T>> + 'static) -> usize {
        std::thread::spawn(move || op.sync().unwrap().len()).join().unwrap()
    }
    fn made() -> impl DeviceOperation<Output = Tensor<f32>> + 'static {
        let (shape, device) = (vec![2, 3], Device::default());
        let random = api::add(api::rand::<f32>(&shape[..], 1), api::randn::<f32>(&shape, 1));
        let filled = api::add(api::zeros::<f32>(&shape), api::full(2.0, &shape));
        api::copy_to(api::add(random, filled), &device)
    }
    assert_eq!(spawned(made()), 6);
    let x = api::ones::<f32>([4]).sync().unwrap();
    let copies = (x.copy_to(&Device::default()), api::copy_to(&x, &Device::default()));
    let (left, right) = copies.join().sync().unwrap();
    assert_eq!((left.len(), right.len()), (4, 4));
}

#[test]
fn host_data_is_copied_at_the_call() {
    let mut data = vec![1, 2, 3, 4];
    let op = api::from_slice(&data, [2, 2]);
    data.fill(0);
    assert_eq!(host(op), [1, 2, 3, 4]);
    assert_eq!(host(api::from_vec(vec![true, false], [2])), [true, false]);
}

#[test]
fn empty_tensors_are_tensors() {
    for shape in [&[0][..], &[4, 0, 3]] {
        let x = api::ones::<f32>(shape).sync().unwrap();
        assert_eq!((x.shape(), x.len(), x.is_empty()), (shape, 0, true));
        assert!(x.to_host_vec().sync().unwrap().is_empty());
        assert!(x.copy_to(&Device::default()).sync().unwrap().is_empty());
        assert!(host(api::rand::<f32>(shape, 1)).is_empty());
        assert!(host(api::from_vec(Vec::<f32>::new(), shape)).is_empty());
    }
}

#[test]
fn reshape_and_transpose_move_nothing() {
    let x = api::arange::<i32>(24).sync().unwrap().reshape([2, 3, 4]);
    assert_eq!((x.shape(), x.strides()), (&[2, 3, 4][..], &[12, 4, 1][..]));
    let x = x.transpose();
    assert_eq!((x.shape(), x.strides()), (&[2, 4, 3][..], &[12, 1, 4][..]));
    let expected: Vec<i32> = (0..2)
        .flat_map(|a| (0..4).flat_map(move |c| (0..3).map(move |b| a * 12 + b * 4 + c)))
        .collect();
    assert_eq!(x.to_host_vec().sync().unwrap(), expected);
    let x = x.transpose().reshape([24]);
    assert_eq!(x.into_host_vec().sync().unwrap(), (0..24).collect::<Vec<_>>());
}

#[test]
fn an_impossible_reshape_is_reported_by_every_use() {
    let bad = || api::arange::<i32>(6).sync().unwrap().reshape([4]);
    let says =
        |error: DeviceError| assert!(error.to_string().contains("6 elements are not 4"), "{error}");
    says(bad().check().unwrap_err());
    says(bad().to_host_vec().sync().unwrap_err());
    says(bad().copy_to(&Device::default()).sync().unwrap_err());
    says(bad().partition([2]).grid().unwrap_err());
    says(bad().reshape([6]).check().unwrap_err());
    says(api::arange::<i32>(6).reshape([4]).sync().unwrap_err());
    let strided = api::arange::<i32>(6).sync().unwrap().reshape([2, 3]).transpose().reshape([6]);
    assert!(strided.check().unwrap_err().to_string().contains("row-major"));
}

#[test]
fn partitions_know_their_grid() {
    let p = api::zeros::<f32>([16, 10]).sync().unwrap().partition([4, 4]);
    assert_eq!(p.grid().unwrap(), [4, 3]);
    assert_eq!((p.shape(), p.tile_shape()), (&[16, 10][..], &[4, 4][..]));
    let x: Tensor<f32> = p.unpartition();
    assert_eq!(x.partition([16, 16]).grid().unwrap(), [1, 1]);
    let bad = api::zeros::<f32>([16]).sync().unwrap().partition([4, 4]);
    assert!(bad.grid().unwrap_err().to_string().contains("[4, 4]"));
    assert!(bad.check().is_err());
    assert_eq!(bad.unwrap().shape(), [16]);
    let zero = api::zeros::<f32>([16]).sync().unwrap().partition([0]);
    assert!(zero.check().unwrap_err().to_string().contains("at least 1"));
}

#[test]
fn an_arc_is_writable_only_while_it_is_the_only_one() {
    let x = api::ones::<f32>([8]).arc().sync().unwrap();
    let other = Arc::clone(&x);
    let error = Arc::clone(&x).partition([4]).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Shared { .. }), "{error}");
    let mut x = x.try_unwrap().unwrap_err();
    assert!(x.partition_mut([4]).is_err());
    drop(other);
    assert_eq!(x.partition_mut([4]).unwrap().grid().unwrap(), [2]);
    assert_eq!(x.partition([4]).unwrap().unpartition().shape(), [8]);

    let y = api::ones::<f32>([8]).arc().sync().unwrap();
    assert!(cuda_async::value(y.clone()).partition([4]).sync().is_err());
    assert!(cuda_async::value(y.clone()).try_unwrap().sync().is_err());
    assert_eq!(cuda_async::value(y).try_unwrap().sync().unwrap().shape(), [8]);
}

#[test]
fn reading_an_arc_borrows_nothing() {
    let x = api::arange::<i32>(3).arc().sync().unwrap();
    let op = x.to_host_vec();
    drop(x);
    let thread = std::thread::spawn(move || run(op));
    assert_eq!(thread.join().unwrap(), [0, 1, 2]);
}

#[test]
fn copies_are_independent() {
    let x = api::arange::<f32>(6).sync().unwrap().reshape([2, 3]).transpose();
    let y = x.copy_to(&Device::default()).sync().unwrap();
    assert_eq!((y.shape(), y.strides()), (x.shape(), x.strides()));
    drop(x);
    assert_eq!(y.to_host_vec().sync().unwrap(), [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    let z = api::copy_to(&y, &Device::default()).sync().unwrap();
    assert_eq!(z.to_host_vec().sync().unwrap(), y.to_host_vec().sync().unwrap());
}
