//! Helpers and consts of other modules, whose declarations are not seen: where the type of a use comes from, and what is
//! said where it comes from nowhere.

use super::{complaints, ir};

/// A kernel with this body, in a module that imports what the bodies use.
fn kernel(body: &str) -> String {
    format!(
        "use super::math::{{self, relu, offset, BIAS}};
#[cutile::entry()]
fn k(n: i32, c: bool, a: f32, w: &Tensor<f32, {{[-1, 4]}}>, y: &mut Tensor<f32, {{[4, 4]}}>) {{
let t = y.load();
{body}
}}
fn clipped(t: Tile<f32, {{[4, 4]}}>) -> Tile<f32, {{[4, 4]}}> {{ relu(t) }}
fn early(c: bool, t: Tile<f32, {{[4, 4]}}>) -> Tile<f32, {{[4, 4]}}> {{ if c {{ return relu(t); }} t }}
fn pair(n: i32, t: Tile<f32, {{[4, 4]}}>) -> (i32, Tile<f32, {{[4, 4]}}>) {{ (offset(n), relu(t)) }}
fn scaled(k: f32, t: Tile<f32, {{[4, 4]}}>) -> Tile<f32, {{[4, 4]}}> {{ t * k }}"
    )
}

/// The result types of the calls of other modules' helpers in a kernel with this body.
fn call_types(body: &str) -> Vec<String> {
    ir(&kernel(body))
        .lines()
        .filter(|line| line.contains("= call $"))
        .filter_map(|line| line.rsplit_once(" : ").map(|(_, ty)| ty.to_owned()))
        .collect()
}

/// What is said of a kernel with this body, by line of the body.
fn said(body: &str) -> Vec<String> {
    complaints(&kernel(body))
        .into_iter()
        .map(|c| {
            let (line, rest) = c.split_once(':').expect("a complaint has a place");
            line.parse::<usize>().map_or_else(|_| c.clone(), |n| format!("{}:{rest}", n - 4))
        })
        .collect()
}

const UNKNOWN: &str = "the type of `relu(..)` is not known here, since its declaration is in another module: annotate it, as in \
                       `let y: Tile<f32, S> = relu(..);`";

#[test]
fn a_call_has_the_type_that_its_place_wants() {
    let tile = "f32[4, 4]";
    for body in [
        "y.store(relu(t));",
        "store_tile(math::relu(t), y);",
        "let mut v = y.partition_mut(const_shape![4, 4]); v.store([0, 0], relu(t));",
        "let mut acc = t; acc = relu(acc); y.store(acc);",
        "let mut both = (t, n); both.0 = relu(t); y.store(both.0);",
        "y.store(if c { t } else { relu(t) });",
        "y.store(if c { relu(t) } else { t });",
        "let u = if c { relu(t) } else { t }; y.store(u);",
        "y.store({ let u = t + 1.0; exp(-relu(u)) });",
        "y.store(mma(t, t, relu(t)));",
        "let mut acc = t; for i in 0..n { acc = mma(t, t, relu(acc)); } y.store(acc);",
        "y.store(scaled(2.0, relu(t)));",
    ] {
        assert_eq!(call_types(body), [tile], "{body}");
    }
    assert_eq!(call_types("y.store(if c { relu(t) } else { math::relu(t) });"), [tile, tile]);
    assert_eq!(
        call_types("let v = w.partition(const_shape![4, 4]); y.store(v.load([offset(n), 0]));"),
        ["i32"]
    );
}

#[test]
fn a_helpers_result_is_what_its_last_expression_and_returns_want() {
    let tile = "f32[4, 4]";
    assert_eq!(call_types("y.store(clipped(t));"), [tile]);
    assert_eq!(call_types("y.store(early(c, t));"), [tile]);
    assert_eq!(call_types("let (i, u) = pair(n, t); y.store(u + i as f32);"), ["i32", tile]);
}

#[test]
fn the_other_operand_of_arithmetic_gives_the_type() {
    let tile = "f32[4, 4]";
    for body in [
        "y.store(t + relu(t));",
        "y.store(relu(t) - t);",
        "let u = t * math::relu(t); y.store(u);",
        "y.store(exp(t) / relu(t));",
        "let mut acc = t; acc += relu(acc); y.store(acc);",
        // A scalar is repeated: the whole says what the call gives.
        "y.store(a * relu(t));",
        "y.store(relu(t) * 2.0);",
        "let u: Tile<f32, {[4, 4]}> = a + relu(t); y.store(u);",
    ] {
        assert_eq!(call_types(body), [tile], "{body}");
    }
    for body in [
        "let i = n + offset(n); y.store(t + i as f32);",
        "let mut i = n; i %= offset(n); y.store(t + i as f32);",
        "let i: i32 = offset(n) + 1; y.store(t + i as f32);",
    ] {
        assert_eq!(call_types(body), ["i32"], "{body}");
    }
}

#[test]
fn where_nothing_gives_the_type_an_annotation_is_asked_for() {
    for (body, at) in [
        ("let u = relu(t); y.store(u + 1.0);", "1:9: "),
        ("let u = relu(t) + 1.0; y.store(u);", "1:9: "),
        (
            "y.store(reduce_max(relu(t), 0).reshape(const_shape![1, 4]).broadcast(y.shape()));",
            "1:20: ",
        ),
        ("if relu(t) > a { y.store(t); }", "1:4: "),
        ("let u = mma(t, t, relu(t)); y.store(u);", "1:19: "),
    ] {
        assert_eq!(said(body), [format!("{at}{UNKNOWN}")], "{body}");
    }
    let both = said("y.store(relu(t) + relu(t));");
    assert_eq!(both, [format!("1:9: {UNKNOWN}"), format!("1:19: {UNKNOWN}")]);
}

#[test]
fn consts_of_other_modules_are_i32() {
    let advice = "consts of other modules are i32: pass the value as a scalar argument, or write the const in this module";
    for (body, at, expected) in [
        ("let b: f32 = math::BIAS;\ny.store(t + b);", "1:14", "f32"),
        ("y.store(t);\nlet b: f32 = BIAS;", "2:14", "f32"),
        ("let b: i64 = -math::BIAS;", "1:15", "i64"),
        ("y.store(scaled(math::BIAS, t));", "1:16", "f32"),
        ("if math::FLAG { y.store(t); }", "1:4", "bool"),
        ("let mut b = a; b = math::BIAS;", "1:20", "f32"),
    ] {
        let message = format!("{at}: `{expected}` is expected here, and {advice}");
        assert_eq!(said(body), [message], "{body}");
    }
    for body in [
        "let b: i32 = math::BIAS; y.store(t + b as f32);",
        "let b = BIAS; y.store(t + b as f32);",
        "let b: f32 = math::BIAS as f32; y.store(t + b);",
        "for i in (0i64..8).step_by(math::STEP) { y.store(t + i as f32); }",
    ] {
        assert!(ir(&kernel(body)).contains("dim extern.0 : i32"), "{body}");
    }
}

#[test]
fn what_nothing_explains_may_come_from_a_glob() {
    let kernel = "#[cutile::entry()]
    fn k(y: &mut Tensor<f32, {[SIZE]}>) {
        let t: Tile<f32, {[SIZE]}> = square(y.load());
        y.store(t + SIZE as f32);
    }";
    let text = ir(&format!("use super::helpers::*;\n{kernel}"));
    assert!(
        text.contains(r#"imports ["square"]"#) && text.contains(r#"externs ["SIZE"]"#),
        "{text}"
    );
    // Without one it is a name that is nowhere.
    assert!(!complaints(&format!("use super::helpers::{{self}};\n{kernel}")).is_empty());
}
