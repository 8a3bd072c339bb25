//! The compiled kernels themselves: the same programs on emulated devices, whose kernels are PTX. Left out where no kernel
//! toolchain is at hand.

mod handmade;

use cutile::MissingKernel;
use cutile::cuda_async::with_context;
use cutile::prelude::*;

use crate::child::{in_child, is_child};

#[cutile::module]
mod kernels {
    use cutile::core::*;

    #[cutile::entry()]
    fn saxpy<const S: [i32; 2]>(a: f32, x: &Tensor<f32, { [-1, -1] }>, y: &mut Tensor<f32, S>) {
        let tile_x: Tile<f32, S> = load_tile_like_2d(x, y);
        y.store(y.load() + tile_x * a);
    }

    #[cutile::entry()]
    fn tile_of(n: i32, x: &Tensor<f32, { [-1] }>, y: &mut Tensor<f32, { [4] }>) {
        y.store(x.partition(const_shape![4]).load([n]));
    }

    #[cutile::entry()]
    fn places(
        i: &mut Tensor<i32, { [1, 1, 1] }>,
        j: &mut Tensor<i32, { [1, 1, 1] }>,
        k: &mut Tensor<i32, { [1, 1, 1] }>,
    ) {
        let id = get_tile_block_id();
        i.store(broadcast_scalar(id.0, i.shape()));
        j.store(broadcast_scalar(id.1, j.shape()));
        k.store(broadcast_scalar(id.2, k.shape()));
    }
}
use kernels::{places, saxpy, tile_of};

const EMULATOR: &[(&str, &str)] = &[("CUTILE_DEVICE", "emulator")];

/// The architectures that kernels are built for.
pub(crate) const ARCHS: [&str; 2] = ["sm_80", "sm_90a"];

/// The environment of a program on emulated devices of an architecture.
pub(crate) fn emulator(arch: &str) -> [(&str, &str); 2] {
    [("CUTILE_DEVICE", "emulator"), ("CUTILE_EMULATOR_ARCH", arch)]
}

/// Whether kernels can be compiled here.
pub(crate) fn can_compile() -> bool {
    match saxpy(1.0, api::ones::<f32>([4, 4]), api::ones::<f32>([4, 4]).partition([4, 4])).sync() {
        Ok(_) => true,
        Err(error) if error.downcast_ref::<MissingKernel>().is_some() => {
            eprintln!("left out: {error}");
            false
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn memory_that_nobody_wrote_is_not_initialised() {
    in_child("emulated::memory_that_nobody_wrote_is_not_initialised", EMULATOR, || {
        if !can_compile() {
            return;
        }
        let fresh = || {
            with_context(|ctx| {
                // SAFETY: none of its elements is read, but for the one launch that the emulator ends.
                let y: Tensor<f32> = unsafe { api::uninit(ctx, [8]) }?;
                Ok(y.partition([4]))
            })
        };
        // `tile_of` writes every element and reads none.
        let (.., y) = tile_of(0, api::ones::<f32>([4]), fresh()).sync().unwrap();
        assert_eq!(y.unpartition().to_host_vec().sync().unwrap(), [1.0; 8]);
        let square = fresh().map(|y| y.unpartition().reshape([2, 4]).partition([2, 4]));
        let said = saxpy(1.0, api::ones::<f32>([2, 4]), square).sync().unwrap_err().to_string();
        assert!(said.contains("saxpy") && said.contains("uninitialised"), "{said}");
    });
}

#[test]
fn launches_give_what_the_cpu_gives() {
    in_child("emulated::launches_give_what_the_cpu_gives", EMULATOR, || {
        if !can_compile() {
            return;
        }
        let x = api::arange::<f32>(5 * 7).reshape([5, 7]).sync().unwrap();
        let y = || api::full(2.0f32, [5, 7]).partition([2, 4]);
        let (.., aligned) = saxpy(3.0, &x, y()).sync().unwrap();
        let expected: Vec<f32> = (0..35).map(|i| 2.0 + 3.0 * i as f32).collect();
        assert_eq!(aligned.unpartition().to_host_vec().sync().unwrap(), expected);
        let turned = x.transpose();
        let (.., general) =
            saxpy(3.0, &turned, api::zeros::<f32>([7, 5]).partition([4, 2])).sync().unwrap();
        let general = general.unpartition().transpose().to_host_vec().sync().unwrap();
        assert_eq!(general, (0..35).map(|i| 3.0 * i as f32).collect::<Vec<_>>());
    });
}

#[test]
fn a_failed_check_is_told_by_place() {
    in_child("emulated::a_failed_check_is_told_by_place", EMULATOR, || {
        if !can_compile() {
            return;
        }
        let x = api::arange::<f32>(8).sync().unwrap();
        let launch = |n| tile_of(n, &x, api::zeros::<f32>([4]).partition([4])).sync();
        let (.., y) = launch(1).unwrap();
        assert_eq!(y.unpartition().to_host_vec().sync().unwrap(), [4.0, 5.0, 6.0, 7.0]);
        let text = launch(2).map(|_| ()).unwrap_err().to_string();
        assert!(text.contains("tile_of") && text.contains("emulated/mod.rs:24: "), "{text}");
        assert!(text.contains("trapped") && text.contains("in thread ("), "{text}");
        assert_eq!(x.to_host_vec().sync().unwrap()[7], 7.0);
    });
}

#[test]
fn tensor_functions_give_what_the_cpu_gives() {
    fn check<T: api::MatMul + api::Sum>(of: impl Fn(i32) -> T + Copy) {
        let x = api::from_vec((0..12).map(of).collect(), [3, 4]).sync().unwrap();
        let two = api::full(of(2), [3, 4]).sync().unwrap();
        let host = |op: BoxedTensor<'_, T>| op.to_host_vec().sync().unwrap();
        let expected = |f: &dyn Fn(i32) -> i32| (0..12).map(|i| of(f(i))).collect::<Vec<_>>();
        assert_eq!(host(api::add(&x, &two).boxed()), expected(&|i| i + 2));
        assert_eq!(host(api::mul(&x, &two).boxed()), expected(&|i| i * 2));
        assert_eq!(host(api::maximum(&x, &two).boxed()), expected(&|i| i.max(2)));
        assert_eq!(host(api::sum(&x).boxed()), [of(66)]);
        let y = api::from_vec((0..8).map(|i| of(i % 3)).collect(), [4, 2]).sync().unwrap();
        let product = [4, 7, 16, 23, 28, 39].map(of);
        assert_eq!(host(api::matmul(&x, &y).boxed()), product, "{}", T::DTYPE);
    }
    type BoxedTensor<'a, T> = cuda_async::BoxedOperation<'a, Tensor<T>>;
    if !is_child() {
        check(|i| i);
        check(|i| i as f32);
    }
    in_child("emulated::tensor_functions_give_what_the_cpu_gives", EMULATOR, || {
        if !can_compile() {
            return;
        }
        check(|i| i);
        check(|i| i as u8);
        check(|i| i as f32);
        check(f64::from);
        check(|i| half::f16::from_f32(i as f32));
    });
}

/// triton-lang/triton#2983: programs of a grid of rank 3 saw the same place twice.
#[test]
fn each_program_of_a_grid_has_a_place_of_its_own() {
    fn check() {
        let part = || api::zeros::<i32>([2, 3, 4]).partition([1, 1, 1]);
        let (i, j, k) = places(part(), part(), part()).sync().unwrap();
        let host = |part: Partition<Tensor<i32>>| part.unpartition().to_host_vec().sync().unwrap();
        let found: Vec<_> = host(i).into_iter().zip(host(j)).zip(host(k)).collect();
        let all = (0..2).flat_map(|i| (0..3).flat_map(move |j| (0..4).map(move |k| ((i, j), k))));
        assert_eq!(found, all.collect::<Vec<_>>());
    }
    if !is_child() {
        check();
    }
    in_child("emulated::each_program_of_a_grid_has_a_place_of_its_own", EMULATOR, || {
        if can_compile() {
            check();
        }
    });
}

#[test]
fn a_kernel_that_is_not_there_is_named_with_the_command_that_builds_it() {
    let cache = std::env::temp_dir().join("cutile-no-such-cache");
    let nothing = &[
        ("CUTILE_DEVICE", "emulator"),
        ("CUTILE_RUSTC", "/nowhere/rustc"),
        ("CUTILE_CACHE", cache.to_str().unwrap()),
    ];
    in_child(
        "emulated::a_kernel_that_is_not_there_is_named_with_the_command_that_builds_it",
        nothing,
        || {
            let y = api::ones::<f32>([6, 6]).sync().unwrap().partition([3, 5]);
            let failed = saxpy(1.0, api::ones::<f32>([6, 6]), y)
                .recover()
                .sync()
                .unwrap()
                .map(|_| ())
                .unwrap_err();
            let missing = failed
                .error
                .downcast_ref::<MissingKernel>()
                .unwrap_or_else(|| panic!("{}", failed.error));
            assert_eq!(missing.kernel, "it::emulated::kernels::saxpy");
            assert_eq!(missing.specialisation, "S=[3, 5]");
            assert!(missing.gpu.contains("sm_90a"), "{}", missing.gpu);
            assert!(missing.command.contains("build-kernels --arch sm_90a"), "{}", missing.command);
            let (_, x, y) = failed.inputs.expect("nothing was submitted");
            assert_eq!((x.shape(), y.grid().unwrap()), (&[6, 6][..], vec![2, 2]));
        },
    );
}
