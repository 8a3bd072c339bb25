//! Each rule of the verifier, broken once.

use cutile_ir::{Module, verify};

fn errors(body: &str) -> String {
    let text = format!(
        "entry @f(%a: f32, %n: i32, %x: tensor f32[?, ?], %y: partitioned f32[?, ?] by [4, 8]) \
         {{\n{body}\nyield\n}}"
    );
    let module = Module::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    match verify(&module.functions[0]) {
        Ok(()) => String::new(),
        Err(e) => e.iter().map(|e| e.to_string() + "\n").collect(),
    }
}

#[test]
fn every_rule_can_fail() {
    let cases: &[(&str, &str)] = &[
        ("%t = splat %a : f32[4, 0]", "an extent of 0"),
        ("%t = splat %n : f32[4]", "i32 can't be splatted into f32[4]"),
        ("%t = splat %a : f32[1, 1, 1, 1, 1, 1, 1]", "rank 7; the highest is 6"),
        ("%t = constant 1.5 : i32", "the literal does not suit i32"),
        ("%t = constant 300 : u8", "the literal does not suit u8"),
        ("%t = iota : f32[4]", "iota gives a tile of integers"),
        ("%t = binary add %a %n : f32", "operands of one type are expected, found f32 and i32"),
        ("%t = binary and %a %a : f32", "`and` does not take f32"),
        ("%t = unary exp %n : i32", "`exp` does not take i32"),
        ("%t = unary neg %x : f32", "expected a scalar or a tile, found tensor f32[?, ?]"),
        ("%t = unary neg %a : i32", "the result is f32, not i32"),
        ("%t = compare lt %a %a : f32", "the result is bool, not f32"),
        ("%t = select %a %a %a : f32", "the condition: expected bool, found f32"),
        ("%t = fma %n %n %n : i32", "`fma` does not take i32"),
        ("%t = convert %a : bool", "f32 does not convert to bool"),
        ("%t = bitcast %a : i16", "a bitcast keeps the width"),
        ("%s = splat %a : f32[4]\n%t = reshape %s : f32[5]", "a reshape of 4 elements to 5"),
        ("%s = splat %a : f32[2]\n%t = broadcast %s : f32[4]", "repeats axes of extent 1"),
        ("%s = splat %a : f32[2, 3]\n%t = permute [0, 0] %s : f32[2, 2]", "not an order of the 2"),
        ("%s = splat %a : f32[2]\n%t = to_scalar %s : f32", "a tile of one element is expected"),
        ("%t = extent %x 2 : i32", "axis 2 of a rank of 2"),
        ("%t = partition %x : view f32[4]", "rank 2 is cut into tiles of rank 1"),
        ("%t = partition %x : view f16[4, 4]", "element type is not the tensor's"),
        ("%v = partition %x : view f32[4, 4]\n%t = load %v [%n] clip : f32[4, 4]", "1 indices"),
        ("%v = partition %x : view f32[4, 4]\n%t = load %v [%n, %a] clip : f32[4, 4]", "an index"),
        (
            "%v = partition %x : view f32[4, 4]\n%t = load %v [%n, %n] fill %n : f32[4, 4]",
            "padding",
        ),
        (
            "%v = partition %x : view f32[4, 4]\n%s = splat %a : f32[4, 4]\nstore %s %v [%n, %n]",
            "`x` is `&Tensor`: a store needs `&mut Tensor`",
        ),
        (
            "%v = partition %y : view f32[4, 4]\n%s = splat %a : f32[4, 8]\nstore %s %v [%n, %n]",
            "the tile: expected f32[4, 4], found f32[4, 8]",
        ),
        ("%s = splat %a : f32[4]\n%t = reduce sum 1 %s : f32[4]", "axis 1 of a rank of 1"),
        ("%s = splat %a : f32[4]\n%t = reduce any 0 %s : f32[]", "`any` does not reduce f32[4]"),
        ("%s = splat %a : f32[4, 8]\n%t = mma %s %s %s : f32[4, 8]", "K is 8 in the left operand"),
        ("%s = splat %n : i32[4, 4]\n%t = mma %s %s %s : i32[4, 4]", "does not accumulate in i32"),
        ("assert %a \"no\"", "expected a scalar bool, found f32"),
        ("%t = if %n () { yield %a } () { yield %a } : f32", "condition of `if` is a scalar bool"),
        (
            "%c = constant true : bool\n%t = if %c () { yield %a } () { yield %n } : f32",
            "the yields of the second block: expected f32, found i32",
        ),
        (
            "%t = for %n %n %n [%x] (%i: i32, %c: tensor f32[?, ?]) { yield %c } : tensor f32[?, ?]",
            "only scalars and tiles change in a block, not tensor f32[?, ?]",
        ),
        ("%t = for %n %n %n [%a] (%i: i32, %c: f32) { yield %i } : f32", "the body's yields"),
        ("%t = for %n %n %n [%a] (%i: i64, %c: f32) { yield %c } : f32", "the counter"),
        ("%t = while [%a] (%c: f32) { yield %c } (%d: f32) { yield %d } : f32", "one scalar bool"),
    ];
    for (body, expected) in cases {
        let found = errors(body);
        assert!(found.contains(expected), "{body}\n  expected: {expected}\n  found: {found}");
    }
}

#[test]
fn values_stay_in_their_block() {
    let body = "%c = constant true : bool\n\
        if %c () { %inner = constant 1 : i32 yield } () { yield }\n\
        %t = unary neg %inner : i32";
    assert!(errors(body).contains("outside the block that defines it"));
}

#[test]
fn all_errors_are_reported() {
    let found = errors("%t = unary exp %n : i32\n%u = binary and %a %a : f32");
    assert_eq!(found.matches("does not take").count(), 2, "{found}");
}

#[test]
fn symbols_agree_with_anything() {
    let text = "helper @f<T, const N: i32>(%t: T[N, (N / 2)]) {\n\
        %u = reshape %t : T[(N * N)]\n %v = unary exp %u : T[(N * N)]\n yield %v\n}";
    assert_eq!(verify(&Module::parse(text).unwrap().functions[0]), Ok(()));
}
