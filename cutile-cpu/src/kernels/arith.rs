//! Elementwise operations on elements of one type: which kernel runs an operator on a storage type.
//! `None` is an operator that the type does not have; the verifier refuses it earlier.

use super::block::{Half, Plain};
use super::float::{Float, fma_narrow_odd};
use super::lane::{Bool, Convert, ConvertAll, Lane, Narrow, with_lane};
use super::map::{DONE, Dst, Kernel, Lanes, Src, kernel, map1, map2, map2_checked, map3};
use super::rows::copy_bytes;
use cutile_ir::Element;
use cutile_ir::op::{BinaryOp, CompareOp, UnaryOp};
use half::{bf16, f16};

macro_rules! k1 {
    ($a:ty, $d:ty, $f:expr) => {
        kernel!(|dst, src, lanes| map1::<$a, $d>(dst, src, lanes, $f))
    };
}
macro_rules! k2 {
    ($a:ty, $d:ty, $f:expr) => {
        kernel!(|dst, src, lanes| map2::<$a, $a, $d>(dst, src, lanes, $f))
    };
}
macro_rules! checked {
    ($t:ty, $bad:expr, $f:expr) => {
        kernel!(|dst, src, lanes| map2_checked::<Plain<$t>, Plain<$t>>(dst, src, lanes, $bad, $f))
    };
}

macro_rules! unary_float {
    ($op:expr, $a:ty, $t:ident) => {
        Some(match $op {
            UnaryOp::Neg => k1!($a, $a, |x: $t| -x),
            UnaryOp::Abs => k1!($a, $a, |x: $t| x.abs()),
            UnaryOp::Exp => k1!($a, $a, |x: $t| x.exp()),
            UnaryOp::Exp2 => k1!($a, $a, |x: $t| x.exp2()),
            UnaryOp::Log => k1!($a, $a, |x: $t| x.ln()),
            UnaryOp::Log2 => k1!($a, $a, |x: $t| x.log2()),
            UnaryOp::Sqrt => k1!($a, $a, |x: $t| x.sqrt()),
            UnaryOp::Rsqrt => k1!($a, $a, |x: $t| x.rsqrt()),
            UnaryOp::Tanh => k1!($a, $a, |x: $t| x.tanh()),
            UnaryOp::Sin => k1!($a, $a, |x: $t| x.sin()),
            UnaryOp::Cos => k1!($a, $a, |x: $t| x.cos()),
            UnaryOp::Erf => k1!($a, $a, |x: $t| Float::erf(x)),
            UnaryOp::Sigmoid => k1!($a, $a, |x: $t| x.sigmoid()),
            UnaryOp::Floor => k1!($a, $a, |x: $t| x.floor()),
            UnaryOp::Ceil => k1!($a, $a, |x: $t| x.ceil()),
            UnaryOp::Round => k1!($a, $a, |x: $t| x.round()),
            UnaryOp::RoundEven => k1!($a, $a, |x: $t| x.round_ties_even()),
            UnaryOp::Trunc => k1!($a, $a, |x: $t| x.trunc()),
            UnaryOp::IsNan => k1!($a, Plain<Bool>, |x: $t| x.is_nan().into()),
            UnaryOp::IsInf => k1!($a, Plain<Bool>, |x: $t| x.is_infinite().into()),
            UnaryOp::Not => return None,
        })
    };
}
macro_rules! unary_signed {
    ($op:expr, $t:ident) => {
        Some(match $op {
            UnaryOp::Neg => k1!(Plain<$t>, Plain<$t>, |x| x.wrapping_neg()),
            UnaryOp::Abs => k1!(Plain<$t>, Plain<$t>, |x| x.wrapping_abs()),
            UnaryOp::Not => k1!(Plain<$t>, Plain<$t>, |x| !x),
            _ => return None,
        })
    };
}
macro_rules! unary_unsigned {
    ($op:expr, $t:ident) => {
        match $op {
            UnaryOp::Not => Some(k1!(Plain<$t>, Plain<$t>, |x| !x)),
            _ => None,
        }
    };
}

/// The kernel of an operator of one operand.
pub(crate) fn unary(op: UnaryOp, element: Element) -> Option<Kernel> {
    match element {
        Element::F64 => unary_float!(op, Plain<f64>, f64),
        Element::F32 => unary_float!(op, Plain<f32>, f32),
        Element::F16 => unary_half(op, unary_float!(op, Half<f16>, f32)),
        Element::BF16 => unary_half(op, unary_float!(op, Half<bf16>, f32)),
        Element::I8 => unary_signed!(op, i8),
        Element::I16 => unary_signed!(op, i16),
        Element::I32 => unary_signed!(op, i32),
        Element::I64 => unary_signed!(op, i64),
        Element::U8 => unary_unsigned!(op, u8),
        Element::U16 => unary_unsigned!(op, u16),
        Element::U32 => unary_unsigned!(op, u32),
        Element::U64 => unary_unsigned!(op, u64),
        Element::Bool if op == UnaryOp::Not => {
            Some(k1!(Plain<Bool>, Plain<Bool>, |x: Bool| (!x.holds()).into()))
        }
        _ => None,
    }
}

/// f16 and bf16 have the sign bit where u16 has its highest: no conversion, and NaN keeps its bits.
fn unary_half(op: UnaryOp, otherwise: Option<Kernel>) -> Option<Kernel> {
    match op {
        UnaryOp::Neg => Some(k1!(Plain<u16>, Plain<u16>, |x| x ^ 0x8000)),
        UnaryOp::Abs => Some(k1!(Plain<u16>, Plain<u16>, |x| x & 0x7fff)),
        _ => otherwise,
    }
}

macro_rules! binary_float {
    ($op:expr, $a:ty, $t:ident) => {
        Some(match $op {
            BinaryOp::Add => k2!($a, $a, |a: $t, b: $t| a + b),
            BinaryOp::Sub => k2!($a, $a, |a: $t, b: $t| a - b),
            BinaryOp::Mul => k2!($a, $a, |a: $t, b: $t| a * b),
            BinaryOp::Div => k2!($a, $a, |a: $t, b: $t| a / b),
            BinaryOp::Rem => k2!($a, $a, |a: $t, b: $t| a % b),
            BinaryOp::Min => k2!($a, $a, |a: $t, b: $t| a.min_number(b)),
            BinaryOp::Max => k2!($a, $a, |a: $t, b: $t| a.max_number(b)),
            BinaryOp::Minimum => k2!($a, $a, |a: $t, b: $t| Float::minimum(a, b)),
            BinaryOp::Maximum => k2!($a, $a, |a: $t, b: $t| Float::maximum(a, b)),
            BinaryOp::Pow => k2!($a, $a, |a: $t, b: $t| a.powf(b)),
            _ => return None,
        })
    };
}

/// Integer operators; `$overflows` says when a quotient has no representation.
macro_rules! binary_integer {
    ($op:expr, $t:ident, $overflows:expr, $floor:expr, $ceil:expr) => {
        Some(match $op {
            BinaryOp::Add => k2!(Plain<$t>, Plain<$t>, |a, b| a.wrapping_add(b)),
            BinaryOp::Sub => k2!(Plain<$t>, Plain<$t>, |a, b| a.wrapping_sub(b)),
            BinaryOp::Mul => k2!(Plain<$t>, Plain<$t>, |a, b| a.wrapping_mul(b)),
            BinaryOp::Div => checked!($t, $overflows, |a, b| a.wrapping_div(b)),
            BinaryOp::Rem => checked!($t, $overflows, |a, b| a.wrapping_rem(b)),
            BinaryOp::DivFloor => checked!($t, $overflows, $floor),
            BinaryOp::DivCeil => checked!($t, $overflows, $ceil),
            BinaryOp::RemEuclid => checked!($t, $overflows, |a, b| a.wrapping_rem_euclid(b)),
            BinaryOp::Min => k2!(Plain<$t>, Plain<$t>, |a, b| a.min(b)),
            BinaryOp::Max => k2!(Plain<$t>, Plain<$t>, |a, b| a.max(b)),
            BinaryOp::And => k2!(Plain<$t>, Plain<$t>, |a, b| a & b),
            BinaryOp::Or => k2!(Plain<$t>, Plain<$t>, |a, b| a | b),
            BinaryOp::Xor => k2!(Plain<$t>, Plain<$t>, |a, b| a ^ b),
            BinaryOp::Shl => k2!(Plain<$t>, Plain<$t>, |a, b| a.wrapping_shl(b as u32)),
            BinaryOp::Shr => k2!(Plain<$t>, Plain<$t>, |a, b| a.wrapping_shr(b as u32)),
            BinaryOp::Minimum | BinaryOp::Maximum | BinaryOp::Pow => return None,
        })
    };
}
macro_rules! binary_signed {
    ($op:expr, $t:ident) => {
        binary_integer!(
            $op,
            $t,
            |a: $t, b: $t| b == 0 || (a == $t::MIN && b == -1),
            // A remainder whose sign is not the divisor's (is the divisor's) moves the quotient.
            |a: $t, b: $t| {
                let (q, r) = (a.wrapping_div(b), a.wrapping_rem(b));
                q - $t::from(r != 0 && (r < 0) != (b < 0))
            },
            |a: $t, b: $t| {
                let (q, r) = (a.wrapping_div(b), a.wrapping_rem(b));
                q + $t::from(r != 0 && (r < 0) == (b < 0))
            }
        )
    };
}
macro_rules! binary_unsigned {
    ($op:expr, $t:ident) => {
        binary_integer!($op, $t, |_: $t, b: $t| b == 0, |a: $t, b: $t| a / b, |a: $t, b: $t| a
            .div_ceil(b))
    };
}

/// The kernel of an operator of two operands. Division and remainder of integers report the first
/// lane that faults.
pub(crate) fn binary(op: BinaryOp, element: Element) -> Option<Kernel> {
    match element {
        Element::F64 => binary_float!(op, Plain<f64>, f64),
        Element::F32 => binary_float!(op, Plain<f32>, f32),
        Element::F16 => binary_float!(op, Half<f16>, f32),
        Element::BF16 => binary_float!(op, Half<bf16>, f32),
        Element::I8 => binary_signed!(op, i8),
        Element::I16 => binary_signed!(op, i16),
        Element::I32 => binary_signed!(op, i32),
        Element::I64 => binary_signed!(op, i64),
        Element::U8 => binary_unsigned!(op, u8),
        Element::U16 => binary_unsigned!(op, u16),
        Element::U32 => binary_unsigned!(op, u32),
        Element::U64 => binary_unsigned!(op, u64),
        Element::Bool => match op {
            BinaryOp::And => Some(k2!(Plain<Bool>, Plain<Bool>, |a: Bool, b: Bool| {
                (a.holds() & b.holds()).into()
            })),
            BinaryOp::Or => Some(k2!(Plain<Bool>, Plain<Bool>, |a: Bool, b: Bool| {
                (a.holds() | b.holds()).into()
            })),
            BinaryOp::Xor => Some(k2!(Plain<Bool>, Plain<Bool>, |a: Bool, b: Bool| {
                (a.holds() ^ b.holds()).into()
            })),
            _ => None,
        },
        _ => None,
    }
}

macro_rules! compare_lanes {
    ($op:expr, $a:ty, $t:ty, |$x:ident| $key:expr) => {{
        fn key($x: $t) -> impl PartialOrd {
            $key
        }
        Some(match $op {
            CompareOp::Eq => k2!($a, Plain<Bool>, |a: $t, b: $t| (key(a) == key(b)).into()),
            CompareOp::Ne => k2!($a, Plain<Bool>, |a: $t, b: $t| (key(a) != key(b)).into()),
            CompareOp::Lt => k2!($a, Plain<Bool>, |a: $t, b: $t| (key(a) < key(b)).into()),
            CompareOp::Le => k2!($a, Plain<Bool>, |a: $t, b: $t| (key(a) <= key(b)).into()),
            CompareOp::Gt => k2!($a, Plain<Bool>, |a: $t, b: $t| (key(a) > key(b)).into()),
            CompareOp::Ge => k2!($a, Plain<Bool>, |a: $t, b: $t| (key(a) >= key(b)).into()),
        })
    }};
}

/// The kernel of a comparison.
pub(crate) fn compare(op: CompareOp, element: Element) -> Option<Kernel> {
    match element {
        Element::F64 => compare_lanes!(op, Plain<f64>, f64, |x| x),
        Element::F32 => compare_lanes!(op, Plain<f32>, f32, |x| x),
        Element::F16 => compare_lanes!(op, Half<f16>, f32, |x| x),
        Element::BF16 => compare_lanes!(op, Half<bf16>, f32, |x| x),
        Element::I8 => compare_lanes!(op, Plain<i8>, i8, |x| x),
        Element::I16 => compare_lanes!(op, Plain<i16>, i16, |x| x),
        Element::I32 => compare_lanes!(op, Plain<i32>, i32, |x| x),
        Element::I64 => compare_lanes!(op, Plain<i64>, i64, |x| x),
        Element::U8 => compare_lanes!(op, Plain<u8>, u8, |x| x),
        Element::U16 => compare_lanes!(op, Plain<u16>, u16, |x| x),
        Element::U32 => compare_lanes!(op, Plain<u32>, u32, |x| x),
        Element::U64 => compare_lanes!(op, Plain<u64>, u64, |x| x),
        Element::Bool => compare_lanes!(op, Plain<Bool>, Bool, |x| x.holds()),
        _ => None,
    }
}

/// The kernel of `select` for elements of that many bytes: it moves bits.
pub(crate) fn select(bytes: usize) -> Option<Kernel> {
    macro_rules! k {
        ($t:ty) => {
            kernel!(|dst, src, lanes| {
                map3::<Plain<Bool>, Plain<$t>, Plain<$t>, Plain<$t>>(dst, src, lanes, |c, a, b| {
                    if c.holds() { a } else { b }
                })
            })
        };
    }
    by_width(bytes, || k!(u8), || k!(u16), || k!(u32), || k!(u64))
}

/// The kernel that moves elements of that many bytes, or repeats a uniform one.
pub(crate) fn copy(bytes: usize) -> Option<Kernel> {
    macro_rules! k {
        ($t:ty) => {
            kernel!(|dst, src, lanes| copy_lanes::<$t>(dst, src, lanes))
        };
    }
    by_width(bytes, || k!(u8), || k!(u16), || k!(u32), || k!(u64))
}

/// # Safety
/// [`Kernel`]'s contract with one source.
#[inline(always)]
unsafe fn copy_lanes<T: Lane>(dst: Dst, src: &[Src; 3], Lanes { n, rows }: Lanes) -> usize {
    for row in 0..rows {
        // SAFETY: the caller's contract, passed on; source and destination don't overlap.
        unsafe {
            let to = dst.lanes::<T>(row, n);
            let from = src[0].ptr.offset(row as isize * src[0].row);
            if src[0].uniform {
                to.fill(*from.cast::<T>());
            } else {
                copy_bytes(to.as_mut_ptr().cast(), from, size_of_val(to));
            }
        }
    }
    DONE
}

fn by_width(
    bytes: usize,
    one: impl Fn() -> Kernel,
    two: impl Fn() -> Kernel,
    four: impl Fn() -> Kernel,
    eight: impl Fn() -> Kernel,
) -> Option<Kernel> {
    match bytes {
        1 => Some(one()),
        2 => Some(two()),
        4 => Some(four()),
        8 => Some(eight()),
        _ => None,
    }
}

/// The kernel of `fma`.
pub(crate) fn fma(element: Element) -> Option<Kernel> {
    macro_rules! wide {
        ($t:ty) => {
            kernel!(|dst, src, lanes| {
                map3::<Plain<$t>, Plain<$t>, Plain<$t>, Plain<$t>>(dst, src, lanes, |a, b, c| {
                    a.mul_add(b, c)
                })
            })
        };
    }
    macro_rules! narrow {
        ($t:ty) => {
            kernel!(|dst, src, lanes| {
                map3::<Half<$t>, Half<$t>, Half<$t>, Plain<$t>>(dst, src, lanes, |a, b, c| {
                    <$t as Narrow>::round(fma_narrow_odd(a, b, c))
                })
            })
        };
    }
    match element {
        Element::F64 => Some(wide!(f64)),
        Element::F32 => Some(wide!(f32)),
        Element::F16 => Some(narrow!(f16)),
        Element::BF16 => Some(narrow!(bf16)),
        _ => None,
    }
}

/// The kernel of `convert`.
pub(crate) fn convert(from: Element, to: Element) -> Option<Kernel> {
    match (from, to) {
        // Between f32 and the half formats whole blocks convert at once.
        (Element::F32, Element::F16) => Some(k1!(Plain<f32>, Half<f16>, |x| x)),
        (Element::F32, Element::BF16) => Some(k1!(Plain<f32>, Half<bf16>, |x| x)),
        (Element::F16, Element::F32) => Some(k1!(Half<f16>, Plain<f32>, |x| x)),
        (Element::BF16, Element::F32) => Some(k1!(Half<bf16>, Plain<f32>, |x| x)),
        _ => with_lane!(from, S => convert_from::<S>(to), None),
    }
}

fn convert_from<S>(to: Element) -> Option<Kernel>
where
    S: Lane + ConvertAll,
{
    with_lane!(to, D => Some(convert_lanes::<S, D> as Kernel), None)
}

/// # Safety
/// [`Kernel`]'s contract with one source.
unsafe fn convert_lanes<S: Lane + Convert<D>, D: Lane>(
    dst: Dst,
    src: &[Src; 3],
    lanes: Lanes,
) -> usize {
    // SAFETY: the caller's contract, passed on.
    unsafe { map1::<Plain<S>, Plain<D>>(dst, src, lanes, |x| x.convert()) }
}
