//! Devices: how they are chosen, several of them in one program, and what is said when one is missing.

use cutile::prelude::*;

use crate::child::in_child;

#[cutile::module]
mod kernels {
    use cutile::core::*;

    #[cutile::entry()]
    fn double<const N: i32>(x: &Tensor<i32, { [-1] }>, y: &mut Tensor<i32, { [N] }>) {
        let tile: Tile<i32, { [N] }> = load_tile_like_1d(x, y);
        y.store(tile + tile);
    }
}
use kernels::double;

const TWO: &[(&str, &str)] = &[("CUTILE_DEVICE", "host"), ("CUTILE_HOST_DEVICES", "2")];

#[test]
fn a_tensor_goes_to_another_device_and_back() {
    in_child("devices::a_tensor_goes_to_another_device_and_back", TWO, || {
        assert_eq!(Device::count(), 2);
        let [first, second] = Device::all()[..] else { panic!("two devices") };
        assert_eq!((first, second), (Device::host(0), Device::host(1)));
        let x = api::arange::<i32>(1000).sync().unwrap();
        let there = x.copy_to(&second).sync().unwrap();
        assert_eq!((x.device(), there.device()), (first, second));
        let back = api::copy_to(there, &first).sync().unwrap();
        assert_eq!(back.device(), first);
        assert_eq!(back.to_host_vec().sync().unwrap(), x.to_host_vec().sync().unwrap());
        let strided = x.reshape([2, 500]).transpose().copy_to(&second).sync().unwrap();
        assert_eq!(strided.to_host_vec().sync().unwrap()[..4], [0, 500, 1, 501]);
    });
}

#[test]
fn a_kernel_runs_where_its_arguments_are() {
    in_child("devices::a_kernel_runs_where_its_arguments_are", TWO, || {
        let second = Device::host(1);
        let x = api::arange::<i32>(10).copy_to(&second).arc().sync().unwrap();
        let y = api::zeros::<i32>([10]).copy_to(&second).sync().unwrap().partition([4]);
        let (_, y) = double(x, y).sync().unwrap();
        let y = y.unpartition();
        assert_eq!(y.device(), second);
        assert_eq!(y.to_host_vec().sync().unwrap()[9], 18);
    });
}

#[test]
fn every_device_computes_and_passes_on() {
    fn check() {
        let mut x = api::arange::<i32>(10).sync().unwrap();
        for device in Device::all() {
            let here = x.copy_to(&device).sync().unwrap();
            let y = api::zeros::<i32>([10]).schedule(global_policy(device.index())).sync().unwrap();
            assert_eq!((here.device(), y.device()), (device, device));
            let (_, y) = double(&here, y.partition([4])).sync().unwrap();
            x = y.unpartition();
        }
        let factor = 1 << Device::count();
        assert_eq!(
            x.to_host_vec().sync().unwrap(),
            (0..10).map(|i| i * factor).collect::<Vec<_>>()
        );
    }
    check(); // with the devices that there are
    in_child("devices::every_device_computes_and_passes_on", TWO, check);
}

#[test]
fn a_policy_places_an_operation_on_its_device() {
    in_child("devices::a_policy_places_an_operation_on_its_device", TWO, || {
        let x = api::ones::<f32>([4]).schedule(global_policy(1)).sync().unwrap();
        assert_eq!(x.device(), Device::host(1));
        let error = api::ones::<f32>([4]).schedule(global_policy(2)).sync().unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("host:2") && text.contains('2') && text.contains("CUTILE_HOST_DEVICES"),
            "{text}"
        );
    });
}

#[test]
fn devices_do_not_mix_in_one_launch() {
    in_child("devices::devices_do_not_mix_in_one_launch", TWO, || {
        let x = api::arange::<i32>(10).copy_to(&Device::host(1)).sync().unwrap();
        let y = api::zeros::<i32>([10]).sync().unwrap().partition([4]);
        let launch = double(&x, y).recover().schedule(global_policy(0));
        let failed = launch.sync().unwrap().unwrap_err();
        let text = failed.error.to_string();
        for part in ["double", "`x`", "host:0", "host:1", "copy_to"] {
            assert!(text.contains(part), "{part} in {text}");
        }
        let (x, y) = failed.inputs.unwrap();
        let x = x.copy_to(&Device::host(0)).sync().unwrap();
        let (_, y) = double(x, y).sync().unwrap();
        assert_eq!(y.unpartition().to_host_vec().sync().unwrap()[3], 6);
    });
}

#[test]
fn tensors_on_different_devices_are_added_only_after_a_copy() {
    in_child("devices::tensors_on_different_devices_are_added_only_after_a_copy", TWO, || {
        let here = api::ones::<f32>([4]).sync().unwrap();
        let there = here.copy_to(&Device::host(1)).sync().unwrap();
        let error = api::add(&here, &there).sync().unwrap_err().to_string();
        assert!(error.contains("host:0") && error.contains("host:1"), "{error}");
        let sum = api::add(&here, there.copy_to(&Device::host(0))).sync().unwrap();
        assert_eq!(sum.to_host_vec().sync().unwrap(), [2.0; 4]);
    });
}

#[test]
fn memory_that_runs_out_is_an_error_with_the_numbers() {
    let limits = &[("CUTILE_DEVICE", "host"), ("CUTILE_HOST_MEMORY", "1M")];
    in_child("devices::memory_that_runs_out_is_an_error_with_the_numbers", limits, || {
        let held = api::zeros::<u8>([600 << 10]).sync().unwrap();
        let error = api::zeros::<u8>([500 << 10]).sync().unwrap_err();
        assert!(error.is_out_of_memory());
        let text = error.to_string();
        for number in [500 << 10, 600 << 10, 1 << 20] {
            assert!(text.contains(&number.to_string()), "{number} in {text}");
        }
        let error = api::add(&held, &held).sync().unwrap_err();
        assert!(error.is_out_of_memory(), "{error}");
        assert_eq!(
            held.to_host_vec().sync().unwrap().len(),
            600 << 10,
            "what the caller holds stays usable"
        );
        drop(held);
        assert!(api::zeros::<u8>([1000 << 10]).sync().is_ok());
    });
}

#[test]
fn a_device_that_is_asked_for_and_missing_is_named() {
    if Device::cuda(0).name().is_ok() {
        return; // nothing is missing here
    }
    let cuda = &[("CUTILE_DEVICE", "cuda")];
    in_child("devices::a_device_that_is_asked_for_and_missing_is_named", cuda, || {
        let error = api::ones::<f32>([4]).sync().unwrap_err().to_string();
        assert!(error.contains("CUDA") && error.contains("driver"), "{error}");
    });
}

#[test]
fn a_choice_that_means_nothing_is_an_error() {
    let gpu = &[("CUTILE_DEVICE", "gpu")];
    in_child("devices::a_choice_that_means_nothing_is_an_error", gpu, || {
        let error = api::ones::<f32>([4]).sync().unwrap_err().to_string();
        assert!(error.contains("CUTILE_DEVICE=gpu") && error.contains("host"), "{error}");
    });
}

#[test]
fn requests_are_recorded() {
    let file = std::env::temp_dir().join(format!("cutile-record-{}.txt", std::process::id()));
    let variables = &[("CUTILE_DEVICE", "host"), ("CUTILE_RECORD", file.to_str().unwrap())];
    in_child("devices::requests_are_recorded", variables, || {
        for _ in 0..2 {
            let y = api::zeros::<i32>([10]).sync().unwrap().partition([4]);
            let (_, y) = double(api::arange::<i32>(10), y).sync().unwrap();
            double(api::arange::<i32>(10), y.unpartition().partition([5])).sync().unwrap();
        }
        let text = std::fs::read_to_string(std::env::var_os("CUTILE_RECORD").unwrap()).unwrap();
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        let kernel = "it::devices::kernels::double";
        assert_eq!(lines, [format!("{kernel} N=4"), format!("{kernel} N=5")]);
    });
    let _ = std::fs::remove_file(file);
}
