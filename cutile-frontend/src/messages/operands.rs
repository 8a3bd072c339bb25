//! Messages about the types of operands.

use cutile_ir::{
    Element,
    op::{BinaryOp, UnaryOp},
};

pub(crate) fn mismatch(expected: &str, got: &str) -> String {
    format!("expected `{expected}`, found `{got}`")
}

pub(crate) fn operand(got: &str) -> String {
    format!("expected a scalar or a tile, found `{got}`")
}

pub(crate) fn operands(left: &str, right: &str) -> String {
    format!("`{left}` doesn't go with `{right}`")
}

pub(crate) fn tuple_pattern(len: usize, got: &str) -> String {
    format!("a tuple of {len} is expected, this is `{got}`")
}

pub(crate) fn unknown_element(name: &str) -> String {
    format!(
        "the element type of `{name}` is not determined: annotate it, as in `let {name}: Tile<f32, S> = ..;`"
    )
}

pub(crate) fn unary_element(op: UnaryOp, element: Element) -> String {
    match op {
        UnaryOp::Neg => no_arithmetic("-", element, "negation takes floats and signed integers"),
        UnaryOp::Not => no_arithmetic("!", element, "it takes bool and integers"),
        UnaryOp::Abs => no_arithmetic("abs", element, "it takes floats and signed integers"),
        _ => no_arithmetic(
            crate::unary_name(op),
            element,
            "it takes floats: convert it first, with `convert`",
        ),
    }
}

pub(crate) fn binary_element(op: BinaryOp, element: Element) -> String {
    let takes = match op {
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => "it takes bool and integers",
        BinaryOp::Shl
        | BinaryOp::Shr
        | BinaryOp::DivFloor
        | BinaryOp::DivCeil
        | BinaryOp::RemEuclid => "it takes integers",
        BinaryOp::Pow | BinaryOp::Minimum | BinaryOp::Maximum => "it takes floats",
        _ if element == Element::Bool => "convert it first, or use `&`, `|`, `^`",
        _ => "convert it to a type with arithmetic first, with `convert`",
    };
    no_arithmetic(crate::binary_name(op), element, takes)
}

fn no_arithmetic(op: &str, element: Element, takes: &str) -> String {
    format!("`{op}` has no meaning for `{element}`: {takes}")
}

pub(crate) fn takes(name: &str, what: &str, element: Element) -> String {
    format!("`{name}` takes {what}, not `{element}`")
}
