//! How element types, numbers and values are written in Rust.

use cutile_ir::Element;
use cutile_ir::op::Literal;
use cutile_simt::convert::Convert;
use cutile_simt::float::{Bf16, F8E4M3, F8E5M2, F16, Tf32};

/// The Rust type that holds an element in a register.
pub(super) fn repr(e: Element) -> &'static str {
    match e {
        Element::F16 => "F16",
        Element::BF16 => "Bf16",
        Element::TF32 => "Tf32",
        Element::F8E4M3 => "F8E4M3",
        Element::F8E5M2 => "F8E5M2",
        other => other.name(),
    }
}

/// The Rust type that holds an element in memory.
pub(super) fn memory_repr(e: Element) -> &'static str {
    if e == Element::Bool { "u8" } else { repr(e) }
}

/// A number of an element type.
pub(super) fn literal(value: Literal, e: Element) -> String {
    match value {
        Literal::Bool(b) => b.to_string(),
        Literal::Int(n) if e.is_float() => float(n as f64, e),
        Literal::Int(n) if n < 0 => format!("({n}{})", repr(e)),
        Literal::Int(n) => format!("{n}{}", repr(e)),
        Literal::Float(bits) => float(f64::from_bits(bits), e),
    }
}

/// Zero of an element type.
pub(super) fn zero(e: Element) -> String {
    match e {
        Element::Bool => "false".into(),
        e if e.is_float() => float(0.0, e),
        e => format!("0{}", repr(e)),
    }
}

/// A float of an element type, rounded to it.
pub(super) fn float(v: f64, e: Element) -> String {
    match e {
        Element::F64 if v.is_finite() => parenthesised(format!("{v:?}f64")),
        Element::F64 => special(v, "f64", || format!("{:#x}", v.to_bits())),
        Element::F16 => format!("F16({:#06x})", Convert::<F16>::convert(v).0),
        Element::BF16 => format!("Bf16({:#06x})", Convert::<Bf16>::convert(v).0),
        Element::F8E4M3 => format!("F8E4M3({:#04x})", Convert::<F8E4M3>::convert(v).0),
        Element::F8E5M2 => format!("F8E5M2({:#04x})", Convert::<F8E5M2>::convert(v).0),
        Element::TF32 => format!("Tf32({})", single(Convert::<Tf32>::convert(v).0)),
        _ => single(v as f32),
    }
}

fn single(v: f32) -> String {
    if v.is_finite() {
        parenthesised(format!("{v:?}f32"))
    } else {
        special(v.into(), "f32", || format!("{:#x}", v.to_bits()))
    }
}

fn special(v: f64, ty: &str, bits: impl Fn() -> String) -> String {
    if v == f64::INFINITY {
        format!("{ty}::INFINITY")
    } else if v == f64::NEG_INFINITY {
        format!("{ty}::NEG_INFINITY")
    } else {
        format!("{ty}::from_bits({})", bits())
    }
}

fn parenthesised(text: String) -> String {
    if text.starts_with('-') { format!("({text})") } else { text }
}

/// A Rust name made of a source name, whatever that is.
pub(super) fn identifier(name: &str) -> String {
    let mut out: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if out.is_empty() || out.starts_with(|c: char| c.is_ascii_digit()) {
        out.insert(0, 'v');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive() {
        assert_eq!(literal(Literal::float(-0.0), Element::F32), "(-0.0f32)");
        assert_eq!(literal(Literal::float(0.1f32 as f64), Element::F32), "0.1f32");
        assert_eq!(literal(Literal::Int(-5), Element::I64), "(-5i64)");
        assert_eq!(float(f64::NEG_INFINITY, Element::F32), "f32::NEG_INFINITY");
        assert_eq!(float(1.0, Element::F16), "F16(0x3c00)");
        assert_eq!(float(1.0, Element::BF16), "Bf16(0x3f80)");
        assert!(float(f64::NAN, Element::F32).starts_with("f32::from_bits(0x7fc"));
    }
}
