//! Loads, stores and elementwise operations, whole and ragged.

use crate::harness::*;
use cutile_bundle::key::FactsClass;

const SAXPY: &str = "
files [\"src/k.rs\"]
entry @saxpy(%a: f32, %x: tensor f32[?, ?], %y: partitioned f32[?, ?] by [8, 32]) {
    %px = partition %x : view f32[8, 32]
    %py = partition %y : view f32[8, 32]
    %i = program_id 0 : i32
    %j = program_id 1 : i32
    %tx = load %px [%i, %j] clip : f32[8, 32] loc 0:7:13
    %ty = load %py [%i, %j] clip : f32[8, 32] loc 0:8:13
    %ta = splat %a : f32[8, 32]
    %ax = binary mul %ta %tx : f32[8, 32] loc 0:9:13
    %s = binary add %ax %ty : f32[8, 32] loc 0:9:15
    store %s %py [%i, %j] loc 0:10:5
    yield
}
";

#[test]
fn saxpy_is_right_on_whole_and_on_ragged_tensors() {
    for (m, n) in [(16i64, 64i64), (13, 52), (1, 4)] {
        let (x, y) = (noise((m * n) as usize, 1), noise((m * n) as usize, 2));
        let grid = [(m as u32).div_ceil(8), (n as u32).div_ceil(32)];
        let args = [scalar(3.0f32), tensor(&x, &[m, n]), tensor(&y, &[m, n])];
        run(SAXPY, &grid, &args, |o| {
            let got = o.tensors[1].values::<f32>();
            for i in 0..x.len() {
                assert_eq!(got[i], 3.0 * x[i] + y[i], "{i} of {m} x {n}");
            }
        });
    }
}

#[test]
fn a_tile_smaller_than_a_warp_is_loaded_by_all_and_stored_by_one() {
    let text = SAXPY.replace("[8, 32]", "[4, 4]");
    let (x, y) = (noise(64, 1), noise(64, 2));
    let args = [scalar(2.0f32), tensor(&x, &[8, 8]), tensor(&y, &[8, 8])];
    run(&text, &[2, 2], &args, |o| {
        for (i, got) in o.tensors[1].values::<f32>().into_iter().enumerate() {
            assert_eq!(got, 2.0 * x[i] + y[i]);
        }
    });
}

#[test]
fn on_sm_90_a_kernel_waits_for_the_launch_before_it() {
    // The emulator refuses an access of global memory before that wait.
    let k = build_for(&kernel(SAXPY), FactsClass::Aligned, "sm_90a");
    assert!(k.abi.launch.pdl);
    let (x, y) = (noise(512, 1), noise(512, 2));
    let o = launch(&k, &[2, 1], &[scalar(2.0f32), tensor(&x, &[16, 32]), tensor(&y, &[16, 32])]);
    assert!(o.report.is_none(), "{}", o.report.unwrap());
    for (i, got) in o.tensors[1].values::<f32>().into_iter().enumerate() {
        assert_eq!(got, 2.0 * x[i] + y[i]);
    }
}
