//! Reductions over one axis: of a run of elements to one, or of rows of elements to one row. The
//! order depends on the number of elements alone, so that results are the same on every run.

use super::block::{BLOCK, Half, Plain, Read, Write};
use super::float::Float;
use super::lane::{Bool, Lane};

use cutile_ir::Element;
use cutile_ir::op::ReduceKind;
use half::{bf16, f16};
use std::slice::{from_raw_parts, from_raw_parts_mut};

/// Reduces `n` rows of `lanes` consecutive elements, `stride` bytes apart, to `lanes` elements.
///
/// # Safety
/// `dst` is valid for writes of `lanes` result elements; `src` for reads of `lanes` elements at each
/// of `n` multiples of `stride`; both are aligned and don't overlap.
pub(crate) type Reduction =
    unsafe fn(dst: *mut u8, src: *const u8, n: usize, stride: isize, lanes: usize);

/// Running results of a run; they are combined at its end.
const PARTIAL: usize = 16;

/// An associative combination of values.
trait Fold<V> {
    /// Result of nothing.
    const IDENTITY: V;
    /// What to begin with if there are values.
    fn seed(first: V) -> V;
    fn step(a: V, b: V) -> V;
}

macro_rules! folds {
    ($($name:ident)*) => {$( struct $name; )*};
}
folds! { Sum Prod Max Min Maximum Minimum Any All }

macro_rules! fold {
    ($name:ident, $v:ty, $identity:expr, |$first:ident| $seed:expr, |$a:ident, $b:ident| $step:expr) => {
        impl Fold<$v> for $name {
            const IDENTITY: $v = $identity;
            #[inline(always)]
            fn seed($first: $v) -> $v {
                $seed
            }
            #[inline(always)]
            fn step($a: $v, $b: $v) -> $v {
                $step
            }
        }
    };
}
macro_rules! float_folds {
    ($($t:ident)*) => {$(
        fold!(Sum, $t, 0.0, |_first| 0.0, |a, b| a + b);
        fold!(Prod, $t, 1.0, |_first| 1.0, |a, b| a * b);
        // From the first value, not from an infinity: all NaN gives NaN.
        fold!(Max, $t, $t::NEG_INFINITY, |first| first, |a, b| a.max_number(b));
        fold!(Min, $t, $t::INFINITY, |first| first, |a, b| a.min_number(b));
        fold!(Maximum, $t, $t::NEG_INFINITY, |first| first, |a, b| Float::maximum(a, b));
        fold!(Minimum, $t, $t::INFINITY, |first| first, |a, b| Float::minimum(a, b));
    )*};
}
macro_rules! integer_folds {
    ($($t:ident)*) => {$(
        fold!(Sum, $t, 0, |_first| 0, |a, b| a.wrapping_add(b));
        fold!(Prod, $t, 1, |_first| 1, |a, b| a.wrapping_mul(b));
        fold!(Max, $t, $t::MIN, |first| first, |a, b| a.max(b));
        fold!(Min, $t, $t::MAX, |first| first, |a, b| a.min(b));
    )*};
}
float_folds! { f32 f64 }
integer_folds! { i8 i16 i32 i64 u8 u16 u32 u64 }
fold!(Any, Bool, Bool(0), |_first| Bool(0), |a, b| Bool((a.holds() | b.holds()).into()));
fold!(All, Bool, Bool(1), |_first| Bool(1), |a, b| Bool((a.holds() & b.holds()).into()));

/// # Safety
/// As for a [`Reduction`].
unsafe fn fold<R: Read, W: Write<Value = R::Value>, F: Fold<R::Value>>(
    dst: *mut u8,
    src: *const u8,
    n: usize,
    stride: isize,
    lanes: usize,
) {
    // SAFETY: the caller's contract, passed on.
    unsafe {
        let dst = from_raw_parts_mut(dst.cast::<W::Stored>(), lanes);
        if n == 0 {
            W::block(dst, |_| F::IDENTITY);
        } else if lanes == 1 {
            let result = run::<R, F>(src, n, stride);
            W::block(dst, |_| result);
        } else {
            for (i, part) in dst.chunks_mut(BLOCK).enumerate() {
                let src = src.add(i * BLOCK * size_of::<R::Stored>());
                rows::<R, W, F>(part, src, n, stride);
            }
        }
    }
}

/// # Safety
/// As for a [`Reduction`] of one lane; `n` is at least 1.
#[inline(always)]
unsafe fn run<R: Read, F: Fold<R::Value>>(src: *const u8, n: usize, stride: isize) -> R::Value {
    let dense = stride == size_of::<R::Stored>() as isize;
    let mut partial = [R::zero(); PARTIAL];
    let mut room = R::room();
    let mut gathered: [R::Stored; BLOCK];
    // SAFETY: index 0 is in the run.
    let first = unsafe { *src.cast::<R::Stored>() };
    partial.fill(F::seed(R::one(first)));
    gathered = [first; BLOCK];
    for at in (0..n).step_by(BLOCK) {
        let len = BLOCK.min(n - at);
        // SAFETY: `at + len` is at most `n`.
        let from = unsafe {
            let start = src.offset(at as isize * stride);
            if dense {
                from_raw_parts(start.cast::<R::Stored>(), len)
            } else {
                for (i, x) in gathered[..len].iter_mut().enumerate() {
                    *x = *start.offset(i as isize * stride).cast::<R::Stored>();
                }
                &gathered[..len]
            }
        };
        let values = R::block(from, &mut room);
        let (whole, rest) = values.as_chunks::<PARTIAL>();
        for values in whole {
            for (p, v) in partial.iter_mut().zip(values) {
                *p = F::step(*p, *v);
            }
        }
        for (p, v) in partial.iter_mut().zip(rest) {
            *p = F::step(*p, *v);
        }
    }
    let mut width = PARTIAL;
    while width > 1 {
        width /= 2;
        for i in 0..width {
            partial[i] = F::step(partial[i], partial[i + width]);
        }
    }
    partial[0]
}

/// # Safety
/// As for a [`Reduction`] of `dst.len()` lanes, at most [`BLOCK`]; `n` is at least 1.
#[inline(always)]
unsafe fn rows<R: Read, W: Write<Value = R::Value>, F: Fold<R::Value>>(
    dst: &mut [W::Stored],
    src: *const u8,
    n: usize,
    stride: isize,
) {
    let lanes = dst.len();
    let mut sum = [F::IDENTITY; BLOCK];
    let mut room = R::room();
    for row in 0..n {
        // SAFETY: each of `n` rows holds `lanes` elements.
        let from =
            unsafe { from_raw_parts(src.offset(row as isize * stride).cast::<R::Stored>(), lanes) };
        let values = R::block(from, &mut room);
        if row == 0 {
            for (s, v) in sum.iter_mut().zip(values) {
                *s = F::seed(*v);
            }
        }
        for (s, v) in sum.iter_mut().zip(values) {
            *s = F::step(*s, *v);
        }
    }
    W::block(dst, |i| sum[i]);
}

/// Index of the first value that none precedes in the order `before`; values that aren't equal to
/// themselves (NaN) are skipped.
///
/// # Safety
/// As for a [`Reduction`] with results of i32.
unsafe fn arg<R: Read, O: Order<R::Value>>(
    dst: *mut u8,
    src: *const u8,
    n: usize,
    stride: isize,
    lanes: usize,
) where
    R::Value: PartialOrd,
{
    for lane in 0..lanes {
        let mut best: Option<(R::Value, usize)> = None;
        for i in 0..n {
            // SAFETY: row `i` holds element `lane`.
            let v = unsafe { *src.offset(i as isize * stride).cast::<R::Stored>().add(lane) };
            let v = R::one(v);
            let better = match best {
                Some((b, _)) => O::before(v, b),
                None => v.partial_cmp(&v).is_some(),
            };
            if better {
                best = Some((v, i));
            }
        }
        let index = best.map_or(0, |(_, i)| i as i32);
        // SAFETY: `dst` holds `lanes` results.
        unsafe { *dst.cast::<i32>().add(lane) = index };
    }
}

/// Which of two values argmax or argmin prefers.
trait Order<V> {
    fn before(a: V, b: V) -> bool;
}
struct Largest;
struct Smallest;
impl<V: PartialOrd> Order<V> for Largest {
    fn before(a: V, b: V) -> bool {
        a > b
    }
}
impl<V: PartialOrd> Order<V> for Smallest {
    fn before(a: V, b: V) -> bool {
        a < b
    }
}

/// The kernel of a reduction; `None` is one that the element type does not have.
pub(crate) fn reduction(kind: ReduceKind, element: Element) -> Option<Reduction> {
    macro_rules! any_number {
        ($r:ty) => {
            match kind {
                ReduceKind::Sum => Some(fold::<$r, $r, Sum> as Reduction),
                ReduceKind::Prod => Some(fold::<$r, $r, Prod>),
                ReduceKind::Max => Some(fold::<$r, $r, Max>),
                ReduceKind::Min => Some(fold::<$r, $r, Min>),
                ReduceKind::ArgMax => Some(arg::<$r, Largest>),
                ReduceKind::ArgMin => Some(arg::<$r, Smallest>),
                _ => None,
            }
        };
    }
    macro_rules! float {
        ($r:ty) => {
            match kind {
                ReduceKind::Maximum => Some(fold::<$r, $r, Maximum> as Reduction),
                ReduceKind::Minimum => Some(fold::<$r, $r, Minimum>),
                _ => any_number!($r),
            }
        };
    }
    match element {
        Element::F64 => float!(Plain<f64>),
        Element::F32 => float!(Plain<f32>),
        Element::F16 => float!(Half<f16>),
        Element::BF16 => float!(Half<bf16>),
        Element::I8 => any_number!(Plain<i8>),
        Element::I16 => any_number!(Plain<i16>),
        Element::I32 => any_number!(Plain<i32>),
        Element::I64 => any_number!(Plain<i64>),
        Element::U8 => any_number!(Plain<u8>),
        Element::U16 => any_number!(Plain<u16>),
        Element::U32 => any_number!(Plain<u32>),
        Element::U64 => any_number!(Plain<u64>),
        Element::Bool => match kind {
            ReduceKind::Any => Some(fold::<Plain<Bool>, Plain<Bool>, Any> as Reduction),
            ReduceKind::All => Some(fold::<Plain<Bool>, Plain<Bool>, All>),
            _ => None,
        },
        _ => None,
    }
}

/// Writes 0, 1, 2, .. as the integers of a storage type; they wrap.
///
/// # Safety
/// `dst` is valid for writes of `n` elements and aligned.
pub(crate) unsafe fn count<T: Lane>(dst: *mut u8, n: usize)
where
    u64: super::lane::Convert<T>,
{
    // SAFETY: the caller's contract, passed on.
    let dst = unsafe { from_raw_parts_mut(dst.cast::<T>(), n) };
    for (i, x) in dst.iter_mut().enumerate() {
        *x = super::lane::Convert::convert(i as u64);
    }
}
