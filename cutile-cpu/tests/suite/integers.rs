//! Elementwise operations on integers and truth values, against Rust's own.

use crate::harness::{Host, elementwise, output, pairs, run, tensor};
use cutile_ir::Element;

trait Integer: Host {
    fn samples() -> Vec<Self>;
}

macro_rules! integer {
    ($($t:ident)*) => {$(
        impl Integer for $t {
            fn samples() -> Vec<$t> {
                let mut v = vec![
                    0, 1, 2, 3, 7, 8, 100, 127, $t::MAX, $t::MAX - 1, $t::MIN, $t::MIN + 1, $t::MAX / 2,
                ];
                v.extend([-1i64, -2, -7, -16, -100, 200, 60_000, 4_000_000_000].map(|n| n as $t));
                v
            }
        }
    )*};
}
integer! { i8 i16 i32 i64 u8 u16 u32 u64 }

/// Checks an operator of two operands over all pairs of samples that `faults` leaves.
fn binary<T: Integer, R: Host>(op: &str, faults: impl Fn(T, T) -> bool, f: impl Fn(T, T) -> R) {
    let (a, b): (Vec<T>, Vec<T>) = {
        let (a, b) = pairs(&T::samples());
        a.into_iter().zip(b).filter(|(a, b)| !faults(*a, *b)).unzip()
    };
    let got: Vec<R> = elementwise(&format!("{op} %a %b"), (T::ELEMENT, R::ELEMENT), &[&a, &b]);
    for i in 0..a.len() {
        assert_eq!(got[i], f(a[i], b[i]), "{op} of {:?} and {:?} as {}", a[i], b[i], T::ELEMENT);
    }
}

fn unary<T: Integer, R: Host>(op: &str, f: impl Fn(T) -> R) {
    let a = T::samples();
    let got: Vec<R> = elementwise(&format!("{op} %a"), (T::ELEMENT, R::ELEMENT), &[&a]);
    for (a, got) in a.iter().zip(got) {
        assert_eq!(got, f(*a), "{op} of {a:?} as {}", T::ELEMENT);
    }
}

macro_rules! arithmetic {
    ($($t:ident)*) => {$({
        binary::<$t, $t>("binary add", |_, _| false, |a, b| a.wrapping_add(b));
        binary::<$t, $t>("binary sub", |_, _| false, |a, b| a.wrapping_sub(b));
        binary::<$t, $t>("binary mul", |_, _| false, |a, b| a.wrapping_mul(b));
        binary::<$t, $t>("binary min", |_, _| false, |a, b| a.min(b));
        binary::<$t, $t>("binary max", |_, _| false, |a, b| a.max(b));
        binary::<$t, $t>("binary and", |_, _| false, |a, b| a & b);
        binary::<$t, $t>("binary or", |_, _| false, |a, b| a | b);
        binary::<$t, $t>("binary xor", |_, _| false, |a, b| a ^ b);
        let masked = |b: $t| (b as i128 & ($t::BITS as i128 - 1)) as u32;
        binary::<$t, $t>("binary shl", |_, _| false, |a, b| a << masked(b));
        binary::<$t, $t>("binary shr", |_, _| false, |a, b| a >> masked(b));
        binary::<$t, bool>("compare eq", |_, _| false, |a, b| a == b);
        binary::<$t, bool>("compare ne", |_, _| false, |a, b| a != b);
        binary::<$t, bool>("compare lt", |_, _| false, |a, b| a < b);
        binary::<$t, bool>("compare le", |_, _| false, |a, b| a <= b);
        binary::<$t, bool>("compare gt", |_, _| false, |a, b| a > b);
        binary::<$t, bool>("compare ge", |_, _| false, |a, b| a >= b);
        unary::<$t, $t>("unary not", |a| !a);
    })*};
}

#[test]
fn arithmetic_wraps_and_compares_by_sign() {
    arithmetic! { i8 i16 i32 i64 u8 u16 u32 u64 }
}

macro_rules! division {
    ($($t:ident)*) => {$({
        let faults = |a: $t, b: $t| b == 0 || a.checked_div(b).is_none();
        let wide = |a: $t| a as i128;
        binary::<$t, $t>("binary div", faults, |a, b| a / b);
        binary::<$t, $t>("binary rem", faults, |a, b| a % b);
        // The quotient rounded down and up, from the Euclidean one of exact numbers.
        let floor = |a: i128, b: i128| if b > 0 { a.div_euclid(b) } else { (-a).div_euclid(-b) };
        binary::<$t, $t>("binary div_floor", faults, |a, b| floor(wide(a), wide(b)) as $t);
        binary::<$t, $t>("binary div_ceil", faults, |a, b| -floor(-wide(a), wide(b)) as $t);
        binary::<$t, $t>("binary rem_euclid", faults, |a, b| a.rem_euclid(b));
    })*};
}

#[test]
fn division_is_rusts() {
    division! { i8 i16 i32 i64 u8 u16 u32 u64 }
}

#[test]
fn signed_only() {
    macro_rules! check {
        ($($t:ident)*) => {$(
            unary::<$t, $t>("unary neg", |a| a.wrapping_neg());
            unary::<$t, $t>("unary abs", |a| a.wrapping_abs());
        )*};
    }
    check! { i8 i16 i32 i64 }
}

#[test]
fn the_report_on_signedness() {
    // u8 200 and 3: greater, quotient, larger, shifted, widened.
    let (a, b) = ([200u8], [3u8]);
    let e = (Element::U8, Element::U8);
    assert_eq!(
        elementwise::<u8, bool>("compare gt %a %b", (Element::U8, Element::Bool), &[&a, &b]),
        [true]
    );
    assert_eq!(elementwise::<u8, u8>("binary div %a %b", e, &[&a, &b]), [66]);
    assert_eq!(elementwise::<u8, u8>("binary max %a %b", e, &[&a, &b]), [200]);
    assert_eq!(elementwise::<u8, u8>("binary shr %a %b", e, &[&a, &[1]]), [100]);
    assert_eq!(elementwise::<u8, i32>("convert %a", (Element::U8, Element::I32), &[&a]), [200]);
    assert_eq!(elementwise::<u8, f32>("convert %a", (Element::U8, Element::F32), &[&a]), [200.0]);
    let wide = elementwise::<u16, f32>("convert %a", (Element::U16, Element::F32), &[&[60_000]]);
    assert_eq!(wide, [60_000.0]);
    let thirds = elementwise::<u32, u32>(
        "binary div %a %b",
        (Element::U32, Element::U32),
        &[&[4_000_000_000], &[3]],
    );
    assert_eq!(thirds, [1_333_333_333]);
}

#[test]
fn truth_values() {
    let (a, b) = pairs(&[false, true]);
    let e = (Element::Bool, Element::Bool);
    let two = |op: &str| elementwise::<bool, bool>(&format!("{op} %a %b"), e, &[&a, &b]);
    assert_eq!(two("binary and"), [false, false, false, true]);
    assert_eq!(two("binary or"), [false, true, true, true]);
    assert_eq!(two("binary xor"), [false, true, true, false]);
    assert_eq!(two("compare eq"), [true, false, false, true]);
    assert_eq!(two("compare lt"), [false, true, false, false]);
    assert_eq!(elementwise::<bool, bool>("unary not %a", e, &[&a]), [true, true, false, false]);
    let numbers = elementwise::<bool, i32>("convert %a", (Element::Bool, Element::I32), &[&b]);
    assert_eq!(numbers, [0, 1, 0, 1]);
}

/// Scalars follow the same rules as tiles.
#[test]
fn scalar_division() {
    let text = "entry @divide(%a: i32, %b: i32, %z: partitioned i32[?] by [1]) {
        %vz = partition %z : view i32[1]
        %q = binary div %a %b : i32
        %r = binary rem %a %b : i32
        %f = binary div_floor %a %b : i32
        %c = binary div_ceil %a %b : i32
        %i0 = constant 0 : i32
        %i1 = constant 1 : i32
        %i2 = constant 2 : i32
        %i3 = constant 3 : i32
        %tq = splat %q : i32[1]
        %tr = splat %r : i32[1]
        %tf = splat %f : i32[1]
        %tc = splat %c : i32[1]
        store %tq %vz [%i0]
        store %tr %vz [%i1]
        store %tf %vz [%i2]
        store %tc %vz [%i3]
        yield
    }";
    for (a, b, expected) in [
        (-7, 2, [-3, -1, -4, -3]),
        (7, -2, [-3, 1, -4, -3]),
        (7, 2, [3, 1, 3, 4]),
        (-1, 16, [0, -1, -1, 0]),
    ] {
        let mut z = output::<i32>(&[4]);
        run(text, &[a.into(), b.into(), z.arg()], &[1]);
        assert_eq!(z.data, expected, "{a} by {b}");
    }
}

#[test]
fn select_moves_bits_of_any_width() {
    fn check<T: Integer>() {
        let (a, b) = pairs(&T::samples());
        let mut c = tensor(&[a.len() as i64], a.iter().zip(&b).map(|(a, b)| *a == *b).collect());
        let (mut ta, mut tb) =
            (tensor(&[a.len() as i64], a.clone()), tensor(&[a.len() as i64], b.clone()));
        let mut z = output::<T>(&[a.len() as i64]);
        let e = T::ELEMENT;
        let text =
            crate::harness::elementwise_text("select %a %b %c", &[Element::Bool, e, e], e, 8);
        run(&text, &[c.arg(), ta.arg(), tb.arg(), z.arg()], &[a.len().div_ceil(8) as u32]);
        for i in 0..a.len() {
            assert_eq!(z.data[i], if c.data[i] { a[i] } else { b[i] });
        }
    }
    check::<i8>();
    check::<u16>();
    check::<i32>();
    check::<u64>();
}
