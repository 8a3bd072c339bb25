//! From symbols to numbers, and helpers in place of their calls.

use super::{SAXPY, specialised};

#[test]
fn numbers_take_the_place_of_parameters() {
    let text = specialised(SAXPY, "S=[4, 8]").unwrap().to_string();
    assert!(text.contains("%y: partitioned f32[?, ?] by [4, 8]"), "{text}");
    assert!(text.contains("%tile_x = load %4 [%5, %6] clip : f32[4, 8]"), "{text}");
    assert!(!text.contains("S.0"), "{text}");
    // What comes out is itself a text that specialises to itself.
    assert_eq!(specialised(&text, "").unwrap().to_string(), text);
}

const HELPERS: &str = "entry @f<T, const N: i32>(%x: T, %y: partitioned T[?] by [N]) {
    %t = splat %x : T[N]
    %u = call @twice [] [] [%t] : T[N]
    %k = dim (N * 2) : i32
    %v = call @twice [T] [N] [%u] : T[N]
    %w = partition %y : view T[N]
    %i = program_id 0 : i32
    store %v %w [%i]
    yield
}
helper @twice<U, const M: i32>(%t: U[M]) {
    %two = constant 2 : U
    %s = splat %two : U[M]
    %r = call @times [] [] [%t, %s] : U[M]
    yield %r
}
helper @times<U, const M: i32>(%a: U[M], %b: U[M]) {
    %r = binary mul %a %b : U[M]
    yield %r
}
";

#[test]
fn helpers_are_put_in_place() {
    let text = specialised(HELPERS, "N=16, T=f16").unwrap().to_string();
    assert_eq!(text.matches("binary mul").count(), 2, "{text}");
    assert!(text.contains("constant 2.0 : f16"), "a literal takes the element's class\n{text}");
    assert!(text.contains("constant 32 : i32"), "{text}");
    assert!(!text.contains("call"), "{text}");
    let ints = specialised(HELPERS, "N=16, T=i64").unwrap().to_string();
    assert!(ints.contains("constant 2 : i64"), "{ints}");
}

#[test]
fn helpers_inside_loops_see_the_carried_values() {
    let text = "entry @f(%y: partitioned f32[?] by [4]) {
    %n = constant 3 : i32
    %z = constant 0 : i32
    %o = constant 1 : i32
    %w = partition %y : view f32[4]
    %i = program_id 0 : i32
    %t = load %w [%i] clip : f32[4]
    %r = for %z %n %o [%t] (%j: i32, %c: f32[4]) {
        %d = call @inc [] [] [%c] : f32[4]
        yield %d
    } : f32[4]
    store %r %w [%i]
    yield
}
helper @inc(%t: f32[4]) {
    %r = binary add %t %t : f32[4]
    yield %r
}
";
    let text = specialised(text, "").unwrap().to_string();
    assert!(text.contains("binary add %c %c"), "{text}");
}

#[test]
fn wrong_arguments_are_named() {
    for (args, expected) in [
        ("S=[4, 8, 2]", "the const parameter `S` is an `[i32; 2]`, `[4, 8, 2]` is given"),
        ("S=4", "the const parameter `S` is an `[i32; 2]`, `4` is given"),
        ("", "`S` is missing; a specialisation of `saxpy` gives every one of `S`"),
        ("S=[4, 8], Q=1", "`Q` is not a parameter of `saxpy`; it has `S`"),
        ("S", "`S` is not `NAME=VALUE`"),
        ("S=[4, 0]", "src/kernels.rs:6:34: the parameter `y` is partitioned by an extent of 0"),
    ] {
        let found = specialised(SAXPY, args).unwrap_err().join("\n");
        assert!(found.contains(expected), "{args}\n  expected: {expected}\n  found: {found}");
    }
}

#[test]
fn a_wrong_number_is_reported_at_its_source_line() {
    let text = SAXPY.replace(
        "%10 = binary mul %tile_a %tile_x : f32[S.0, S.1] loc 0:9:16",
        "%9 = reshape %tile_x : f32[S.0, 8] loc 0:9:3\n%10 = binary mul %tile_a %9 : f32[S.0, S.1]",
    );
    assert!(specialised(&text, "S=[4, 8]").is_ok());
    let found = specialised(&text, "S=[4, 4]").unwrap_err().join("\n");
    assert!(found.contains("src/kernels.rs:9:3: a reshape of 16 elements to 32"), "{found}");
}

#[test]
fn helpers_that_do_not_fit_are_errors() {
    for (from, to, expected) in [
        ("@twice [T] [N]", "@twice [T] [N, N]", "`twice` takes 1 const arguments, 2 are given"),
        ("@times [] [] [%t, %s]", "@times [] [] [%t]", "`times` takes 2 arguments, 1 are given"),
        ("call @times [] [] [%t, %s]", "call @twice [] [] [%t]", "`twice` calls itself"),
        (
            "@times [] [] [%t, %s] : U[M]",
            "@times [] [] [%t, %s] : U[2]",
            "gives f16[16], f16[2] is",
        ),
        (
            "helper @times<U, const M: i32>",
            "helper @times<U, const M: i32, const Q: i32>",
            "the parameter `Q` of `times` does not follow",
        ),
        ("@times [] []", "@thymes [] []", "there is no function `thymes`"),
        ("dim (N * 2)", "dim (N / (N - N))", "the extent `16 / 0` has no value"),
    ] {
        let text = HELPERS.replace(from, to);
        assert_ne!(text, HELPERS);
        let found = specialised(&text, "N=16, T=f16").unwrap_err().join("\n");
        assert_eq!(
            found.matches(expected).count(),
            1,
            "{to}\n  expected: {expected}\n  found: {found}"
        );
    }
}
