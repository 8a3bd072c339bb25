//! Kernels as the macro would embed them, with their launchers.

use cutile_core::launch::ir::blob::UnitParts;
use cutile_core::launch::{
    AsPartition, AsTensor, GridLaunch, HostElement, IntoDeviceOperation, KernelDef, Launch, launch,
    launch_grid, zip,
};
use cutile_core::prelude::*;

macro_rules! kernel {
    ($name:literal, $text:expr) => {{
        const UNIT: UnitParts<'_> = UnitParts {
            name: concat!("test::", $name),
            text: $text,
            specialisations: "",
            externs: &[],
            imports: &[],
        };
        static BYTES: [u8; UNIT.size()] = UNIT.bytes();
        static KERNEL: KernelDef = KernelDef::new(&BYTES);
        &KERNEL
    }};
}

const SAXPY: &str = r#"
entry @saxpy<const S: [i32; 2]>(%a: f32, %x: tensor f32[?, ?], %y: partitioned f32[?, ?] by [S.0, S.1]) {
    %xs = partition %x : view f32[S.0, S.1]
    %ys = partition %y : view f32[S.0, S.1]
    %i = program_id 0 : i32
    %j = program_id 1 : i32
    %tx = load %xs [%i, %j] clip : f32[S.0, S.1]
    %ty = load %ys [%i, %j] clip : f32[S.0, S.1]
    %ta = splat %a : f32[S.0, S.1]
    %p = binary mul %ta %tx : f32[S.0, S.1]
    %r = binary add %p %ty : f32[S.0, S.1]
    store %r %ys [%i, %j]
    yield
}
"#;

/// y = a x + y.
pub(crate) fn saxpy<X: AsTensor<f32>, Y: AsPartition<f32>>(
    a: impl IntoDeviceOperation<f32>,
    x: impl IntoDeviceOperation<X>,
    y: impl IntoDeviceOperation<Y>,
) -> impl Launch<Args = (f32, X, Y)> {
    launch(kernel!("saxpy", SAXPY), [], [], zip((a, x, y)))
}

const COPY: &str = r#"
files ["src/kernels.rs"]
entry @copy<const B: i32, const K: i32, const Q: i32>(%x: tensor f32[?, K], %w: tensor f32[(K / Q)], %y: partitioned f32[?, ?] by [B, 8], %rows: partitioned f32[?] by [B]) {
    %xs = partition %x : view f32[B, 8]
    %ys = partition %y : view f32[B, 8]
    %rs = partition %rows : view f32[B]
    %i = program_id 0 : i32
    %zero = constant 0 : i32
    %t = load %xs [%i, %zero] clip : f32[B, 8] loc 0:3:9
    store %t %ys [%i, %zero]
    %one = constant 1.0 : f32
    %ones = splat %one : f32[B]
    store %ones %rs [%i]
    yield
}
"#;

/// What `copy` takes and gives.
type CopyArgs =
    (Arc<Tensor<f32>>, Arc<Tensor<f32>>, Partition<Tensor<f32>>, Partition<Tensor<f32>>);

/// The first 8 columns of x, and a one for each row; `w` has K / Q elements.
pub(crate) fn copy<const Q: i32>(
    x: impl IntoDeviceOperation<Arc<Tensor<f32>>>,
    w: impl IntoDeviceOperation<Arc<Tensor<f32>>>,
    y: impl IntoDeviceOperation<Partition<Tensor<f32>>>,
    rows: impl IntoDeviceOperation<Partition<Tensor<f32>>>,
) -> impl Launch<Args = CopyArgs> {
    launch(kernel!("copy", COPY), [], [Q.into()], zip((x, w, y, rows)))
}

const FILL: &str = r#"
entry @fill<T, const FLAG: bool, const S: [i32; 1]>(%v: T, %y: partitioned T[?] by [S.0]) {
    %ys = partition %y : view T[S.0]
    %i = program_id 0 : i32
    %t = splat %v : T[S.0]
    store %t %ys [%i]
    yield
}
"#;

/// y = v, for any element type.
pub(crate) fn fill<T: HostElement, const FLAG: bool>(
    v: impl IntoDeviceOperation<T>,
    y: impl IntoDeviceOperation<Partition<Tensor<T>>>,
) -> impl Launch<Args = (T, Partition<Tensor<T>>)> {
    launch(kernel!("fill", FILL), [T::DTYPE], [FLAG.into()], zip((v, y)))
}

const CHECK: &str = r#"
files ["src/kernels.rs"]
entry @check(%limit: i32) {
    %i = program_id 0 : i32
    %ok = compare lt %i %limit : bool
    assert %ok "the program's number is below the limit" loc 0:12:5
    yield
}
"#;

/// Fails in programs from `limit` on.
pub(crate) fn check(limit: impl IntoDeviceOperation<i32>) -> impl GridLaunch<Args = (i32,)> {
    launch_grid(kernel!("check", CHECK), [], [], zip((limit,)))
}

/// A launcher that gives more than the kernel takes, as one of another version might.
pub(crate) fn mistaken(limit: i32) -> impl GridLaunch<Args = (i32,)> {
    launch_grid(kernel!("mistaken", CHECK), [], [7], zip((limit,)))
}

/// A kernel whose embedded data is damaged.
pub(crate) fn damaged(limit: i32) -> impl GridLaunch<Args = (i32,)> {
    static KERNEL: KernelDef = KernelDef::new(b"cutile");
    launch_grid(&KERNEL, [], [], zip((limit,)))
}

/// A launcher that names another element type than its arguments have, or another const than the kernel takes.
pub(crate) fn mistyped(
    types: DType,
    flag: i64,
) -> impl Launch<Args = (f32, Partition<Tensor<f32>>)> {
    let y = cutile_core::api::zeros::<f32>([4]).partition([4]);
    launch(kernel!("mistyped", FILL), [types], [flag], zip((1.0f32, y)))
}
