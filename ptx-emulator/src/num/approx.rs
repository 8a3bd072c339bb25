//! The approximate functions. Each is computed in double precision and rounded once, so that its error is below every
//! bound that the PTX ISA states; a card's last bits may differ.

use super::arith::{self, FloatOp};
use super::format::Format;
use super::{Mode, Round};

/// A unary function of single precision (and of half where PTX has it).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Approx {
    Ex2,
    Lg2,
    Sin,
    Cos,
    Tanh,
    Rcp,
    Sqrt,
    Rsqrt,
}

/// `f(x)` in double precision.
pub(crate) fn value(f: Approx, x: f64) -> f64 {
    match f {
        Approx::Ex2 => x.exp2(),
        Approx::Lg2 => x.log2(),
        Approx::Sin => x.sin(),
        Approx::Cos => x.cos(),
        Approx::Tanh => x.tanh(),
        Approx::Rcp => 1.0 / x,
        Approx::Sqrt => x.sqrt(),
        Approx::Rsqrt => 1.0 / x.sqrt(),
    }
}

/// `f` on bits of a narrow format.
pub(crate) fn narrow(format: Format, f: Approx, ftz: bool, bits: u32) -> u32 {
    let x = format.widen(bits);
    let x = if ftz && format.subnormal(bits) { 0f64.copysign(x) } else { x };
    arith::finish(format, value(f, x), Mode { ftz, ..Mode::PLAIN })
}

/// `rcp.approx.ftz.f64` and `rsqrt.approx(.ftz).f64`: only the upper 32 bits of input and result count for `rcp`.
pub(crate) fn double(f: Approx, x: f64) -> f64 {
    let high = f64::from_bits(x.to_bits() & !0xffff_ffff);
    let out = match f {
        Approx::Rcp => {
            arith::op64(FloatOp::Rcp, Mode { round: Round::Near, ..Mode::PLAIN }, high, 0.0, 0.0)
        }
        other => value(other, x),
    };
    if f != Approx::Rcp {
        return out;
    }
    let out = f64::from_bits(out.to_bits() & !0xffff_ffff);
    if out.is_subnormal() { 0f64.copysign(out) } else { out }
}
