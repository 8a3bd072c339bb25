//! Numbers as PTX defines them: formats, rounding modes, arithmetic and conversions on single values.
//! Pure functions over bits; knows nothing of registers or instructions.

pub(crate) mod approx;
pub(crate) mod arith;
pub(crate) mod convert;
pub(crate) mod exact;
pub(crate) mod format;

/// Rounding of a floating-point result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Round {
    /// To nearest, ties to even (`.rn`, `.rni`).
    Near,
    /// Towards zero (`.rz`, `.rzi`).
    Zero,
    /// Towards negative infinity (`.rm`, `.rmi`).
    Down,
    /// Towards positive infinity (`.rp`, `.rpi`).
    Up,
    /// To nearest, ties away from zero (`.rna`).
    NearAway,
}

/// How an arithmetic instruction treats its result and its subnormals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mode {
    pub(crate) round: Round,
    /// Subnormal inputs and results become zero of the same sign.
    pub(crate) ftz: bool,
    /// The result is clamped to [0, 1], NaN becoming 0.
    pub(crate) sat: bool,
    /// A negative result becomes 0, NaN becoming canonical NaN.
    pub(crate) relu: bool,
}

impl Mode {
    /// Nearest even, nothing flushed or clamped.
    pub(crate) const PLAIN: Mode = Mode { round: Round::Near, ftz: false, sat: false, relu: false };
}
