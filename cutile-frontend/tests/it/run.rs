//! Runs kernels from source text on the CPU backend, to see that a desugared program does what Rust would do.

use cutile_cpu::{Arg, Program, RunError, TensorArg};
use cutile_ir::{Element, Specialisation};

use super::front_end;

/// An argument of a kernel.
pub(crate) enum Given<'a> {
    F32(&'a mut [f32]),
    I32(&'a mut [i32]),
    Bytes(&'a mut [u8], Element),
    Int(i32),
    Float(f32),
    Flag(bool),
}

impl<'a> From<&'a mut [f32]> for Given<'a> {
    fn from(data: &'a mut [f32]) -> Self {
        Given::F32(data)
    }
}

impl<'a, const N: usize> From<&'a mut [f32; N]> for Given<'a> {
    fn from(data: &'a mut [f32; N]) -> Self {
        Given::F32(data)
    }
}

impl<'a, const N: usize> From<&'a mut [i32; N]> for Given<'a> {
    fn from(data: &'a mut [i32; N]) -> Self {
        Given::I32(data)
    }
}

impl From<i32> for Given<'_> {
    fn from(n: i32) -> Self {
        Given::Int(n)
    }
}

impl From<f32> for Given<'_> {
    fn from(x: f32) -> Self {
        Given::Float(x)
    }
}

impl From<bool> for Given<'_> {
    fn from(b: bool) -> Self {
        Given::Flag(b)
    }
}

impl Given<'_> {
    fn arg(&mut self) -> Arg {
        match self {
            Given::F32(d) => {
                TensorArg::contiguous(d.as_mut_ptr().cast(), Element::F32, &[d.len() as i64]).into()
            }
            Given::I32(d) => {
                TensorArg::contiguous(d.as_mut_ptr().cast(), Element::I32, &[d.len() as i64]).into()
            }
            Given::Bytes(d, e) => TensorArg::contiguous(
                d.as_mut_ptr().cast(),
                *e,
                &[d.len() as i64 / e.bytes() as i64],
            )
            .into(),
            Given::Int(n) => Arg::from(*n),
            Given::Float(x) => Arg::from(*x),
            Given::Flag(b) => Arg::from(*b),
        }
    }
}

/// Runs the entry of a module of rank-1 tensors over a grid of `programs`.
pub(crate) fn run(
    items: &str,
    specialisation: &str,
    args: &mut [Given<'_>],
    programs: u32,
) -> Result<(), RunError> {
    let compiled = front_end(items);
    let complaints: Vec<&str> = compiled
        .report
        .errors()
        .iter()
        .chain(compiled.report.left_to_rustc())
        .map(|d| d.message.as_str())
        .collect();
    assert!(complaints.is_empty(), "{complaints:#?}");
    let root = compiled.module.functions.iter().position(|f| f.entry.is_some()).expect("an entry");
    let module = &compiled.units[root].module;
    let values = Specialisation::parse(specialisation, &module.functions[0])
        .expect("the test's specialisation suits");
    let kernel =
        cutile_ir::specialise(module, &values).unwrap_or_else(|e| panic!("{module}\n{e:#?}"));
    let program = Program::new(&kernel).unwrap_or_else(|e| panic!("{kernel}\n{e}"));
    let args: Vec<Arg> = args.iter_mut().map(Given::arg).collect();
    // SAFETY: each tensor argument is a slice that is borrowed mutably for the call.
    unsafe { program.run(&args, &[programs], 1) }
}

/// Runs `body` once, with `out: [i32; 4]` (of which it sets what it wants with `put`) and an argument `n`.
pub(crate) fn ints(body: &str, n: i32) -> Result<[i32; 4], RunError> {
    let source = format!(
        "#[cutile::entry()] fn k(n: i32, y: &mut Tensor<i32, {{[4]}}>) {{
            let (a, b, c, d) = f(n);
            let i: Tile<i32, {{[4]}}> = iota(const_shape![4]);
            y.store(select(i == 0, full(a, y.shape()), select(i == 1, full(b, y.shape()), select(i == 2, full(c, y.shape()), d))));
        }}
        {body}"
    );
    let mut out = [0; 4];
    run(&source, "", &mut [n.into(), (&mut out).into()], 1)?;
    Ok(out)
}
