//! Matrix products. f32 and f64 go to the `gemm` crate as they are; narrower floats are widened to
//! f32 first, which is exact, and so are their products; integers are summed here.

use super::lane::{Convert, Lane, with_lane};
use super::map::{DONE, Dst, Kernel, Lanes, Src, kernel};
use cutile_ir::Element;
use gemm::Parallelism;
use std::slice::{from_raw_parts, from_raw_parts_mut};

/// A matrix in memory: `stride` in elements, by row and by column.
#[derive(Clone, Copy)]
pub(crate) struct Matrix {
    pub(crate) ptr: *const u8,
    pub(crate) stride: [isize; 2],
}

/// A product: `acc[m, n] += a[m, k] * b[k, n]`.
#[derive(Clone, Copy)]
pub(crate) struct Product {
    pub(crate) m: usize,
    pub(crate) n: usize,
    pub(crate) k: usize,
    pub(crate) a: Matrix,
    pub(crate) b: Matrix,
    pub(crate) acc: *mut u8,
    /// Elements from one row of `acc` to the next; its columns are consecutive.
    pub(crate) acc_stride: usize,
    /// As many bytes as [`scratch_bytes`] says, aligned to 8.
    pub(crate) scratch: *mut u8,
}

/// A product over certain element types.
///
/// # Safety
/// The matrices are valid for reads, `acc` and `scratch` for reads and writes; all are aligned, and
/// `acc` and `scratch` overlap nothing.
pub(crate) type Multiply = unsafe fn(&Product);

/// How a product is computed.
enum Way {
    /// Operands and accumulator as they are.
    Direct,
    /// Operands widened to f32 or i32.
    Widened,
    /// Operands and accumulator widened to f32.
    AllWidened,
}

fn way(operand: Element, acc: Element) -> Option<Way> {
    use Element::{BF16, F8E4M3, F8E5M2, F16, F32, F64, I8, I32, TF32, U8};
    match (operand, acc) {
        (F32, F32) | (F64, F64) => Some(Way::Direct),
        (F16 | BF16 | F8E4M3 | F8E5M2 | TF32, F32) | (I8 | U8, I32) => Some(Way::Widened),
        (F16, F16) => Some(Way::AllWidened),
        _ => None,
    }
}

/// Bytes of scratch memory that a product of tiles needs.
pub(crate) fn scratch_bytes(operand: Element, acc: Element, [m, n, k]: [usize; 3]) -> usize {
    let operands = m.saturating_mul(k).saturating_add(k.saturating_mul(n));
    let elements = match way(operand, acc) {
        Some(Way::Direct) | None => 0,
        Some(Way::Widened) => operands,
        Some(Way::AllWidened) => operands.saturating_add(m.saturating_mul(n)),
    };
    elements.saturating_mul(4)
}

/// The product over an operand and an accumulator type; `None` is one that does not exist.
pub(crate) fn multiply(operand: Element, acc: Element) -> Option<Multiply> {
    match (way(operand, acc)?, operand) {
        (Way::Direct, Element::F64) => Some(direct::<f64>),
        (Way::Direct, _) => Some(direct::<f32>),
        (Way::Widened, Element::I8) => Some(integers::<i8>),
        (Way::Widened, Element::U8) => Some(integers::<u8>),
        (Way::Widened, Element::TF32) => Some(widened::<MmaTf32>),
        (Way::Widened, e) => with_lane!(e, T => Some(widened::<T> as Multiply), None),
        (Way::AllWidened, _) => Some(all_widened),
    }
}

/// A tf32 operand: bits below its mantissa, which memory may hold, don't count.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct MmaTf32(u32);

impl Lane for MmaTf32 {
    fn to_f64_odd(self) -> f64 {
        Convert::<f32>::convert(self).into()
    }
}

impl Convert<f32> for MmaTf32 {
    #[inline(always)]
    fn convert(self) -> f32 {
        f32::from_bits(self.0 & !0x1fff)
    }
}

/// # Safety
/// As for [`Multiply`], with elements of `T`.
unsafe fn direct<T: gemm_scalar::Scalar>(p: &Product) {
    if p.m == 0 || p.n == 0 {
        return;
    }
    // SAFETY: the caller's contract: every index below m, n, k is in its matrix.
    unsafe {
        gemm::gemm(
            p.m,
            p.n,
            p.k,
            p.acc.cast::<T>(),
            1,
            p.acc_stride as isize,
            true,
            p.a.ptr.cast::<T>(),
            p.a.stride[1],
            p.a.stride[0],
            p.b.ptr.cast::<T>(),
            p.b.stride[1],
            p.b.stride[0],
            T::ONE,
            T::ONE,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

/// The element types that `gemm` is used for.
mod gemm_scalar {
    pub(super) trait Scalar: Copy + 'static {
        const ONE: Self;
    }
    impl Scalar for f32 {
        const ONE: f32 = 1.0;
    }
    impl Scalar for f64 {
        const ONE: f64 = 1.0;
    }
}

/// Copies a matrix, converted, to consecutive rows at `dst`; gives where that lies.
///
/// # Safety
/// `from` is valid for `rows` times `columns` elements, `dst` for as many of `D`.
unsafe fn widen<S: Lane + Convert<D>, D: Lane>(
    from: Matrix,
    rows: usize,
    columns: usize,
    dst: *mut u8,
) -> Matrix {
    let src: *const S = from.ptr.cast();
    for i in 0..rows {
        // SAFETY: row `i` of `from` has `columns` elements, and so has row `i` at `dst`.
        unsafe {
            let row = src.offset(i as isize * from.stride[0]);
            let to = from_raw_parts_mut(dst.cast::<D>().add(i * columns), columns);
            if from.stride[1] == 1 {
                S::convert_all(from_raw_parts(row, columns), to);
            } else {
                for (j, y) in to.iter_mut().enumerate() {
                    *y = (*row.offset(j as isize * from.stride[1])).convert();
                }
            }
        }
    }
    Matrix { ptr: dst, stride: [columns as isize, 1] }
}

/// # Safety
/// As for [`Multiply`], with operands of `S` and an accumulator of `D`, which has 4 bytes.
unsafe fn widen_operands<S: Lane + Convert<D>, D: Lane>(p: &Product) -> Product {
    // SAFETY: the scratch memory holds both operands, one after the other.
    unsafe {
        let a = widen::<S, D>(p.a, p.m, p.k, p.scratch);
        let b = widen::<S, D>(p.b, p.k, p.n, p.scratch.add(p.m * p.k * size_of::<D>()));
        Product { a, b, ..*p }
    }
}

/// # Safety
/// As for [`Multiply`], with operands of `S` and an accumulator of f32.
unsafe fn widened<S: Lane + Convert<f32>>(p: &Product) {
    // SAFETY: the caller's contract, passed on.
    unsafe { direct::<f32>(&widen_operands::<S, f32>(p)) }
}

/// # Safety
/// As for [`Multiply`], all of f16.
unsafe fn all_widened(p: &Product) {
    use half::f16;
    // SAFETY: the scratch memory holds the operands, then the accumulator.
    unsafe {
        let wide = widen_operands::<f16, f32>(p);
        let acc = p.scratch.add((p.m * p.k + p.k * p.n) * size_of::<f32>());
        let narrow = Matrix { ptr: p.acc, stride: [p.acc_stride as isize, 1] };
        widen::<f16, f32>(narrow, p.m, p.n, acc);
        direct::<f32>(&Product { acc, acc_stride: p.n, ..wide });
        for i in 0..p.m {
            let from = from_raw_parts(acc.cast::<f32>().add(i * p.n), p.n);
            let to = from_raw_parts_mut(p.acc.cast::<f16>().add(i * p.acc_stride), p.n);
            for (x, y) in from.iter().zip(to) {
                *y = f16::from_f32(*x);
            }
        }
    }
}

/// # Safety
/// As for [`Multiply`], with operands of `S` and an accumulator of i32.
unsafe fn integers<S: Lane + Convert<i32>>(p: &Product) {
    let row = multiply_row();
    // SAFETY: the caller's contract, passed on; rows of the accumulator don't overlap operands.
    unsafe {
        let wide = widen_operands::<S, i32>(p);
        for i in 0..p.m {
            let acc = p.acc.cast::<i32>().add(i * p.acc_stride);
            for k in 0..p.k {
                let a = Src::one(wide.a.ptr.add((i * p.k + k) * 4));
                let b = Src::run(wide.b.ptr.add(k * p.n * 4));
                row(Dst::run(acc.cast()), &[a, b, Src::NONE], Lanes::run(p.n));
            }
        }
    }
}

/// Adds a multiple of a row to a row, in i32.
fn multiply_row() -> Kernel {
    kernel!(|dst, src, lanes| {
        let a = *src[0].ptr.cast::<i32>();
        let b = from_raw_parts(src[1].ptr.cast::<i32>(), lanes.n);
        for (acc, b) in dst.lanes::<i32>(0, lanes.n).iter_mut().zip(b) {
            *acc = acc.wrapping_add(a.wrapping_mul(*b));
        }
        DONE
    })
}
