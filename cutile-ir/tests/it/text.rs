//! The text form: what is printed is read back, and a wrong text says where.

use super::SAXPY;
use cutile_ir::op::{CreateOp, Literal};
use cutile_ir::{Element, FunctionBuilder, FunctionKind, Module, Type};
use proptest::prelude::*;

#[test]
fn text_comes_back_unchanged() {
    let control = r#"files ["a \"quoted\" name.rs", "b\n.rs"]
imports ["other::scale"]
externs ["WIDTH"]
helper @control<T, const N: i32, const FLAG: bool>(%x: T, %n: i32, %t: f16[(N / 2), extern.0]) fast_math {
    %0 = constant 0 : i32
    %1 = constant 1 : i32
    %flag = dim FLAG : bool
    %3, %4 = for %0 %n %1 [%x, %t] (%i: i32, %acc: T, %tile: f16[(N / 2), extern.0]) {
        %5 = call $0 [T, f16] [N, [1, (N * 2)]] [%acc] : T
        %6 = if %flag () {
            yield %5
        } () {
            yield %acc
        } : T
        yield %6, %tile
    } : T, f16[(N / 2), extern.0] loc 1:2:3
    %7 = while [%0] (%w: i32) {
        %8 = compare lt %w %n : bool
        yield %8
    } (%b: i32) {
        assert %flag "went \"wrong\"\n"
        %9 = binary add %b %1 : i32
        yield %9
    } : i32
    yield %3, %4
}
"#;
    for text in [SAXPY, control] {
        let once = Module::parse(text).unwrap_or_else(|e| panic!("{e}\n{text}")).to_string();
        let twice = Module::parse(&once).unwrap_or_else(|e| panic!("{e}\n{once}")).to_string();
        assert_eq!(once, twice);
        assert_eq!(Module::parse(text).unwrap().functions.len(), 1);
    }
    assert_eq!(Module::parse(SAXPY).unwrap().to_string(), SAXPY);
}

#[test]
fn a_wrong_text_says_where() {
    for (text, error) in [
        (
            "entry @f() {\n  %0 = frob : i32\n  yield\n}",
            "line 2, column 8: `frob` is not an operation",
        ),
        (
            "entry @f() {\n  %0 = unary neg %1 : i32\n yield }",
            "line 2, column 18: `%1` is not defined",
        ),
        ("entry @f(%a: f33) { yield }", "line 1, column 14: `f33` is not an element type"),
        ("entry @f(%a: f32[N]) { yield }", "`N` is not a const parameter"),
        ("entry @f() { %0 = unary nag %0 : i32 yield }", "`nag` is not a unary operator"),
        ("entry @f() { ", "line 1, column 14: `the end` is not an operation"),
        ("kernel @f() { yield }", "expected `entry` or `helper`, found `kernel`"),
        ("files [\"a", "a string does not end"),
    ] {
        let found = Module::parse(text).unwrap_err().to_string();
        assert!(found.contains(error), "{text}\n  expected: {error}\n  found: {found}");
    }
}

fn constant(value: Literal, element: Element) -> Module {
    let mut b = FunctionBuilder::new("f", FunctionKind::Entry);
    b.value(CreateOp::Constant { value }, Type::scalar(element));
    Module { functions: vec![b.finish([])], ..Module::default() }
}

proptest! {
    #[test]
    fn float_literals_keep_every_bit(bits in any::<u64>()) {
        let m = constant(Literal::Float(bits), Element::F64);
        prop_assert_eq!(Module::parse(&m.to_string()).unwrap(), m);
    }

    #[test]
    fn integer_literals_keep_their_value(n in any::<i128>()) {
        let m = constant(Literal::Int(n / 2), Element::I64);
        prop_assert_eq!(Module::parse(&m.to_string()).unwrap(), m);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "[ -~\n]{0,80}") {
        let _ = Module::parse(&text);
    }

    #[test]
    fn no_damage_makes_the_reader_panic(at in 0..SAXPY.len(), c in "[ -~]") {
        let mut text = SAXPY.to_string();
        text.replace_range(at..at + 1, &c);
        let _ = Module::parse(&text);
    }
}
