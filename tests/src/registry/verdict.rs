//! How far results may be apart: not at all, unless the kernel has functions of stated accuracy or sums of inexact numbers.

use cutile_ir::op::{ArithOp, BinaryOp, ReduceKind, ReduceOp, UnaryOp};
use cutile_ir::{Element, Kernel, OpKind};
use half::{bf16, f16};

use super::arguments::Case;

/// How results are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    /// Bits, any NaN like any other.
    Exact,
    /// So many units in the last place of the result's type, or of 1/4 for smaller results.
    Ulps(u32),
}

/// Each function is within 8 ulp on both sides; a kernel chains a few, and sums some hundreds of their results.
const APPROXIMATE: Bound = Bound::Ulps(512);

impl Bound {
    /// What a kernel's operations allow.
    pub(super) fn of(kernel: &Kernel) -> Bound {
        let (mut approximate, mut inexact, mut summed) = (false, false, false);
        let f = kernel.function();
        f.body.for_each_op(&mut |op| {
            let float = op
                .results
                .first()
                .and_then(|value| f.ty(*value).element().known())
                .is_some_and(Element::is_float);
            match &op.kind {
                OpKind::Arith(ArithOp::Unary { op, .. }) => approximate |= is_approximate(*op),
                OpKind::Arith(ArithOp::Binary { op: BinaryOp::Div, .. }) => inexact |= float,
                OpKind::Reduce(ReduceOp::Reduce { kind: ReduceKind::Prod, .. }) => {
                    approximate |= float;
                }
                OpKind::Reduce(ReduceOp::Reduce { kind: ReduceKind::Sum, .. })
                | OpKind::Matrix(_) => summed |= float,
                _ => {}
            }
        });
        // What the arguments hold is exact in every sum, whatever its order; quotients are not.
        if approximate || (inexact && summed) || f.fast_math { APPROXIMATE } else { Bound::Exact }
    }

    /// The number of elements that agree, or what the first that does not is.
    pub(super) fn compare(
        self,
        case: &Case,
        expected: &[Vec<u8>],
        found: &[Vec<u8>],
    ) -> Result<usize, String> {
        let mut compared = 0;
        for (number, (tensor, (expected, found))) in
            case.tensors().zip(expected.iter().zip(found)).enumerate()
        {
            if !tensor.written && expected != found {
                return Err(format!("tensor {number} was written, and may only be read"));
            }
            let mut between = (expected.clone(), found.clone());
            for (at, place) in tensor.places().enumerate() {
                let range = place..place + tensor.element.bytes();
                let (e, g) = (&expected[range.clone()], &found[range.clone()]);
                if !self.agrees(tensor.element, e, g) {
                    return Err(format!(
                        "tensor {number}, element {at}: {} instead of {}",
                        shown(tensor.element, g),
                        shown(tensor.element, e)
                    ));
                }
                between.0[range.clone()].fill(0);
                between.1[range].fill(0);
                compared += 1;
            }
            if between.0 != between.1 {
                return Err(format!("memory between the elements of tensor {number} was written"));
            }
        }
        Ok(compared)
    }

    fn agrees(self, element: Element, expected: &[u8], found: &[u8]) -> bool {
        if expected == found {
            return true;
        }
        let (Some((e, ulp)), Some((g, _))) = (float(element, expected), float(element, found))
        else {
            return false;
        };
        match self {
            _ if e.is_nan() && g.is_nan() => true,
            Bound::Exact => false,
            Bound::Ulps(n) => (e - g).abs() <= f64::from(n) * ulp * e.abs().max(0.25),
        }
    }
}

/// Whether a function's accuracy is stated in ulp; all others are exact or correctly rounded.
fn is_approximate(op: UnaryOp) -> bool {
    use UnaryOp::*;
    matches!(op, Exp | Exp2 | Log | Log2 | Rsqrt | Tanh | Sin | Cos | Erf | Sigmoid)
}

/// A float's value, and the distance from 1 to the next of its type.
fn float(element: Element, bytes: &[u8]) -> Option<(f64, f64)> {
    let word = |n: usize| {
        let mut word = [0; 8];
        word[..n].copy_from_slice(&bytes[..n]);
        u64::from_le_bytes(word)
    };
    Some(match element {
        Element::F64 => (f64::from_bits(word(8)), f64::EPSILON),
        Element::F32 | Element::TF32 => {
            (f32::from_bits(word(4) as u32).into(), f32::EPSILON.into())
        }
        Element::F16 => (f16::from_bits(word(2) as u16).into(), f16::EPSILON.into()),
        Element::BF16 => (bf16::from_bits(word(2) as u16).into(), bf16::EPSILON.into()),
        _ => return None,
    })
}

fn shown(element: Element, bytes: &[u8]) -> String {
    match float(element, bytes) {
        Some((value, _)) => format!("{value:?}"),
        None => format!("{element} {:02x?}", bytes.iter().rev().collect::<Vec<_>>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_seen() {
        let (one, next) = (1.0f32.to_le_bytes(), f32::from_bits(0x3f80_0001).to_le_bytes());
        assert!(Bound::Exact.agrees(Element::F32, &one, &one));
        assert!(!Bound::Exact.agrees(Element::F32, &one, &next));
        assert!(Bound::Ulps(1).agrees(Element::F32, &one, &next));
        assert!(!APPROXIMATE.agrees(Element::F32, &one, &1.001f32.to_le_bytes()));
        assert!(!APPROXIMATE.agrees(Element::F32, &one, &f32::NAN.to_le_bytes()));
        assert!(!APPROXIMATE.agrees(Element::I32, &[1, 0, 0, 0], &[2, 0, 0, 0]));
        let nans = [f32::NAN, -f32::NAN].map(f32::to_le_bytes);
        assert!(Bound::Exact.agrees(Element::F32, &nans[0], &nans[1]));
    }
}
