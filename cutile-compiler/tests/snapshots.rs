//! Text in, text out: what the passes make of tile IR, where tiles are put, and the generated Rust of a few kernels.

use cutile_bundle::key::FactsClass;
use cutile_bundle::target::Target;
use cutile_compiler::{Stage, stage};
use cutile_ir::{Kernel, Module, Specialisation, specialise};

fn kernel(text: &str) -> Kernel {
    let module = Module::parse(text).unwrap();
    specialise(&module, &Specialisation::default()).unwrap()
}

/// A stage for sm_80; of generated Rust the kernel's own part, without the device functions.
fn shown(text: &str, what: Stage) -> String {
    let target = Target::new("sm_80".parse().unwrap());
    let text = stage(&kernel(text), FactsClass::Aligned, &target, what).unwrap();
    text.split("\nmod simt {").next().unwrap_or_default().to_string()
}

#[test]
fn constants_fold_and_branches_on_them_go() {
    insta::assert_snapshot!(shown(
        "entry @k(%x: partitioned i32[?] by [8]) {
            %a = constant 6 : i32
            %b = constant 7 : i32
            %c = binary mul %a %b : i32
            %d = constant 42 : i32
            %e = compare eq %c %d : bool
            %r = if %e () { yield %c } () { yield %a } : i32
            %t = splat %r : i32[8]
            %p = partition %x : view i32[8]
            %o = program_id 0 : i32
            store %t %p [%o]
            yield
        }",
        Stage::Opt
    ));
}

#[test]
fn equal_work_is_done_once_and_invariant_work_before_the_loop() {
    insta::assert_snapshot!(shown(
        "entry @k(%n: i32, %x: tensor f32[?], %y: partitioned f32[?] by [8]) {
            %z = constant 0 : i32
            %one = constant 1 : i32
            %py = partition %y : view f32[8]
            %o = program_id 0 : i32
            %t = load %py [%o] clip : f32[8]
            %r = for %z %n %one [%t] (%i: i32, %s: f32[8]) {
                %px = partition %x : view f32[8]
                %two = constant 2 : i32
                %m = binary mul %n %two : i32
                %j = binary add %i %m : i32
                %k = binary add %i %m : i32
                %a = load %px [%j] clip : f32[8]
                %b = load %px [%k] clip : f32[8]
                %c = binary add %a %b : f32[8]
                %d = binary add %s %c : f32[8]
                %unused = binary sub %d %c : f32[8]
                yield %d
            } : f32[8]
            store %r %py [%o]
            yield
        }",
        Stage::Opt
    ));
}

#[test]
fn shapes_that_change_nothing_go() {
    insta::assert_snapshot!(shown(
        "entry @k(%x: partitioned f32[?, ?] by [4, 8]) fast_math {
            %p = partition %x : view f32[4, 8]
            %i = program_id 0 : i32
            %j = program_id 1 : i32
            %t = load %p [%i, %j] clip : f32[4, 8]
            %u = permute [1, 0] %t : f32[8, 4]
            %v = permute [1, 0] %u : f32[4, 8]
            %s = constant 2.0 : f32
            %s1 = splat %s : f32[1, 8]
            %sb = broadcast %s1 : f32[4, 8]
            %m = binary mul %v %sb : f32[4, 8]
            %a = binary add %m %t : f32[4, 8]
            store %a %p [%i, %j]
            yield
        }",
        Stage::Opt
    ));
}

const SAXPY: &str = "files [\"src/k.rs\"]
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
    }";

const ROW_SUM: &str = "entry @row_sum(%x: tensor f32[64, 96], %y: partitioned f32[?] by [64]) {
        %px = partition %x : view f32[64, 96]
        %py = partition %y : view f32[64]
        %o = constant 0 : i32
        %i = program_id 0 : i32
        %t = load %px [%o, %o] clip : f32[64, 96]
        %s = reduce sum 1 %t : f32[64]
        store %s %py [%i]
        yield
    }";

const GEMM: &str = "files [\"src/gemm.rs\"]
    entry @gemm(%z: partitioned f32[?, ?] by [32, 32], %x: tensor bf16[?, 256], %y: tensor bf16[256, ?]) {
        %pz = partition %z : view f32[32, 32]
        %px = partition %x : view bf16[32, 32]
        %py = partition %y : view bf16[32, 32]
        %i = program_id 0 : i32
        %j = program_id 1 : i32
        %zero = constant 0 : i32
        %one = constant 1 : i32
        %n = constant 8 : i32
        %z0 = constant 0.0 : f32[32, 32]
        %r = for %zero %n %one [%z0] (%k: i32, %acc: f32[32, 32]) {
            %a = load %px [%i, %k] clip : bf16[32, 32] loc 0:5:9
            %b = load %py [%k, %j] clip : bf16[32, 32] loc 0:6:9
            %s = mma %a %b %acc : f32[32, 32] loc 0:7:9
            yield %s
        } : f32[32, 32]
        store %r %pz [%i, %j]
        yield
    }";

#[test]
fn saxpy_as_rust() {
    insta::assert_snapshot!(shown(SAXPY, Stage::Simt));
}

#[test]
fn a_row_sum_crosses_lanes_only() {
    insta::assert_snapshot!(shown(ROW_SUM, Stage::Map));
    insta::assert_snapshot!(shown(ROW_SUM, Stage::Simt));
}

#[test]
fn a_product_copies_its_operands_ahead() {
    insta::assert_snapshot!(shown(GEMM, Stage::Map));
    insta::assert_snapshot!(shown(GEMM, Stage::Simt));
}

/// `y = 2 y` by tiles of so many rows.
fn doubled(rows: u32) -> String {
    format!(
        "files [\"src/lib.rs\"]
        entry @k(%y: partitioned f32[?, ?] by [{rows}, 4096]) {{
            %p = partition %y : view f32[{rows}, 4096]
            %o = program_id 0 : i32
            %z = constant 0 : i32
            %t = load %p [%o, %z] clip : f32[{rows}, 4096] loc 0:7:9
            %s = binary add %t %t : f32[{rows}, 4096]
            store %s %p [%o, %z]
            yield
        }}"
    )
}

#[test]
fn tiles_far_beyond_the_registers_are_refused_at_their_place() {
    let target = Target::new("sm_90a".parse().unwrap());
    let rust = |rows| stage(&kernel(&doubled(rows)), FactsClass::Aligned, &target, Stage::Simt);
    assert!(rust(4).is_ok());
    let error = rust(4096).unwrap_err().to_string();
    assert_eq!(
        error,
        "kernel `k`, src/lib.rs:7:9: a tile of [4096, 4096] leaves 16384 elements to each of 1024 threads, \
         and a thread can hold 512: use smaller tiles"
    );
}
