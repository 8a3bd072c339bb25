//! Kernels from IR text, tensors in vectors, and launches of one on the other.

use cutile_cpu::{Arg, Program, RunError, TensorArg};
use cutile_ir::{Element, Module, Specialisation, specialise};
use half::{bf16, f16};

/// A type of which a vector can be a tensor.
pub(crate) trait Host: Copy + PartialEq + std::fmt::Debug {
    const ELEMENT: Element;
    /// Fills outputs before a run: nothing a kernel computes.
    const POISON: Self;
}

macro_rules! host {
    ($($t:ty => $e:ident, $p:expr;)*) => {$(
        impl Host for $t {
            const ELEMENT: Element = Element::$e;
            const POISON: $t = $p;
        }
    )*};
}
host! {
    f64 => F64, -7.7e77;
    f32 => F32, -7.7e17;
    f16 => F16, f16::from_bits(0x7a11);
    bf16 => BF16, bf16::from_bits(0x7a11);
    i8 => I8, 0x5a;
    i16 => I16, 0x5a5a;
    i32 => I32, 0x5a5a_5a5a;
    i64 => I64, 0x5a5a_5a5a_5a5a_5a5a;
    u8 => U8, 0xa5;
    u16 => U16, 0xa5a5;
    u32 => U32, 0xa5a5_a5a5;
    u64 => U64, 0xa5a5_a5a5_a5a5_a5a5;
    bool => Bool, true;
}

/// A tensor in a vector, row-major.
#[derive(Clone, Debug)]
pub(crate) struct Host2<T> {
    pub(crate) data: Vec<T>,
    pub(crate) shape: Vec<i64>,
    pub(crate) element: Element,
}

/// A row-major tensor.
pub(crate) fn tensor<T: Host>(shape: &[i64], data: Vec<T>) -> Host2<T> {
    assert_eq!(data.len() as i64, shape.iter().product::<i64>(), "the shape is the data's");
    Host2 { data, shape: shape.to_vec(), element: T::ELEMENT }
}

/// A row-major tensor full of poison.
pub(crate) fn output<T: Host>(shape: &[i64]) -> Host2<T> {
    tensor(shape, vec![T::POISON; shape.iter().product::<i64>() as usize])
}

impl<T> Host2<T> {
    /// The same bits read as another element type of that size.
    pub(crate) fn of(mut self, element: Element) -> Self {
        assert_eq!(size_of::<T>(), element.bytes(), "one size");
        self.element = element;
        self
    }

    pub(crate) fn arg(&mut self) -> Arg {
        TensorArg::contiguous(self.data.as_mut_ptr().cast(), self.element, &self.shape).into()
    }

    /// A rank-2 tensor with its axes exchanged.
    pub(crate) fn transposed(&mut self) -> Arg {
        let [rows, columns] = self.shape[..] else { panic!("rank 2") };
        TensorArg {
            base: self.data.as_mut_ptr().cast(),
            element: self.element,
            extents: [columns, rows].into_iter().collect(),
            strides: [1, columns].into_iter().collect(),
        }
        .into()
    }
}

/// Prepares the entry of an IR text that has no parameters left to choose.
pub(crate) fn program(text: &str) -> Program {
    let module = Module::parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let kernel = specialise(&module, &Specialisation::default()).unwrap_or_else(|errors| {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        panic!("{}\n{text}", errors.join("\n"))
    });
    Program::new(&kernel).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Runs a text's kernel: few programs on one thread, which then takes neighbours together, many on all
/// threads.
pub(crate) fn try_run(text: &str, args: &[Arg], grid: &[u32]) -> Result<(), RunError> {
    let few = grid.iter().product::<u32>() <= 64;
    let threads = if few { 1 } else { cutile_cpu::max_threads() };
    // SAFETY: arguments are views of vectors that the tests keep; kernels of tests store to tiles of
    // their own.
    unsafe { program(text).run(args, grid, threads) }
}

/// Runs a text's kernel, which must succeed.
pub(crate) fn run(text: &str, args: &[Arg], grid: &[u32]) {
    try_run(text, args, grid).unwrap_or_else(|e| panic!("{e}\n{text}"));
}

/// A small generator of test numbers (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// In [-1, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    pub(crate) fn units(&mut self, n: usize) -> Vec<f32> {
        (0..n).map(|_| self.unit() as f32).collect()
    }
}

/// Applies an elementwise operation to vectors of one length, in tiles of 8 of which the last may be
/// ragged. `op` is the operation's text over `%a`, `%b`, `%c`; `from` and `to` are element types.
pub(crate) fn elementwise<A: Host, R: Host>(
    op: &str,
    (from, to): (Element, Element),
    operands: &[&[A]],
) -> Vec<R> {
    let mut result = output::<R>(&[operands[0].len() as i64]).of(to);
    let text = elementwise_text(op, &vec![from; operands.len()], to, 8);
    let mut tensors: Vec<Host2<A>> =
        operands.iter().map(|v| tensor(&[v.len() as i64], v.to_vec()).of(from)).collect();
    let mut args: Vec<Arg> = tensors.iter_mut().map(Host2::arg).collect();
    args.push(result.arg());
    run(&text, &args, &[operands[0].len().div_ceil(8) as u32]);
    result.data
}

/// The text of a kernel that applies an operation over `%a`, `%b`, `%c` element by element.
pub(crate) fn elementwise_text(op: &str, from: &[Element], to: Element, tile: usize) -> String {
    let names = ["a", "b", "c"];
    let mut text = String::from("entry @elementwise(");
    for (name, e) in names.iter().zip(from) {
        text += &format!("%t{name}: tensor {e}[?], ");
    }
    text += &format!("%tz: partitioned {to}[?] by [{tile}]) {{\n %i = program_id 0 : i32\n");
    for (name, e) in names.iter().zip(from) {
        text += &format!(
            " %v{name} = partition %t{name} : view {e}[{tile}]
              %{name} = load %v{name} [%i] clip : {e}[{tile}]\n"
        );
    }
    text += &format!(
        " %vz = partition %tz : view {to}[{tile}]
          %z = {op} : {to}[{tile}]
          store %z %vz [%i]
          yield
        }}"
    );
    text
}

/// Every pair of two lists' elements, as two lists.
pub(crate) fn pairs<T: Copy>(values: &[T]) -> (Vec<T>, Vec<T>) {
    values.iter().flat_map(|a| values.iter().map(move |b| (*a, *b))).unzip()
}
