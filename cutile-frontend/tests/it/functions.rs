//! Helpers, consts, generics, imports.

use super::{
    front_end, ir,
    run::{ints, run},
};

#[test]
fn helpers_are_generic_over_shape_and_element() {
    insta::assert_snapshot!(ir(r#"
        #[cutile::entry()]
        fn k<const BM: i32>(x: &Tensor<f64, {[-1, 8]}>, y: &mut Tensor<f64, {[BM, 8]}>) {
            let t = load_tile_like(x, y);
            let half: Tile<f64, {[BM / 2, 16]}> = scale(t, 0.5).reshape(const_shape![BM / 2, 16]);
            let rows = row_sums(half);
            let (a, b) = both(rows, 3);
            y.store(t + b.reshape(const_shape![BM / 2, 1]).broadcast(const_shape![BM / 2, 16]).reshape(y.shape()) + a as f64);
        }
        fn scale<T: Number, const S: [i32; 2]>(t: Tile<T, S>, k: T) -> Tile<T, S> { t * k }
        fn row_sums<T: Number, const M: i32, const N: i32>(t: Tile<T, {[M, N]}>) -> Tile<T, {[M]}> { reduce_sum(t, 1) }
        fn both<const M: i32>(t: Tile<f64, {[M]}>, n: i32) -> (i32, Tile<f64, {[M]}>) { (n + M, t) }
    "#));
}

#[test]
fn turbofish_and_expected_types_bind_what_arguments_do_not() {
    insta::assert_snapshot!(ir(r#"
        const WIDTH: i32 = 4 * 8;
        #[cutile::entry()]
        fn k<const S: [i32; 1]>(y: &mut Tensor<f32, S>) {
            let a = ramp::<f32, 16, true>();
            let b: Tile<f32, {[WIDTH]}> = filled();
            let c = filled::<{[8]}>();
            let d = filled::<S>();
            let n = reduce_sum(a, 0).to_scalar() + reduce_max(b, 0).to_scalar() + reduce_min(c, 0).to_scalar();
            y.store(d * n);
        }
        fn ramp<T: Number, const N: i32, const UP: bool>() -> Tile<T, {[N]}> {
            let i: Tile<i32, {[N]}> = iota(const_shape![N]);
            if UP { convert(i) } else { convert(N - 1 - i) }
        }
        fn filled<const S: [i32; 1]>() -> Tile<f32, S> { ones(shape_of::<S>()) }
        fn shape_of<const S: [i32; 1]>() -> Shape<S> { const_shape![S[0]] }
    "#));
}

#[test]
fn tensors_and_views_pass_to_helpers() {
    let source = "
        #[cutile::entry()]
        fn k<const B: i32>(x: &Tensor<f32, {[-1]}>, y: &mut Tensor<f32, {[B]}>) {
            let v = x.partition(const_shape![B]);
            put(second(v, x), y);
        }
        fn second<const B: i32>(v: PartitionView<f32, {[B]}>, x: &Tensor<f32, {[-1]}>) -> Tile<f32, {[B]}> {
            v.load([1]) + x.shape()[0] as f32
        }
        fn put<const S: [i32; 1]>(t: Tile<f32, S>, y: &mut Tensor<f32, S>) { y.store(y.load() + t) }";
    let (mut x, mut y) = ([1.0f32, 2.0, 3.0, 4.0], [100.0f32; 4]);
    run(source, "B=2", &mut [(&mut x).into(), (&mut y).into()], 2).unwrap();
    assert_eq!(y, [107.0, 108.0, 107.0, 108.0]);
}

#[test]
fn nested_helpers_belong_to_their_function() {
    let body = "fn f(n: i32) -> (i32, i32, i32, i32) {
        fn twice(n: i32) -> i32 { n * 2 }
        (twice(n), g(n), 0, 0)
    }
    fn g(n: i32) -> i32 {
        fn twice(n: i32) -> i32 { n * 20 }
        twice(n) + N
    }
    const N: i32 = 1;";
    assert_eq!(ints(body, 3).unwrap(), [6, 61, 0, 0]);
}

#[test]
fn only_entries_become_units_of_their_own_with_what_they_call() {
    let compiled = front_end(
        "
        #[cutile::entry()]
        fn k(n: i32, y: &mut Tensor<i32, {[1]}>) { y.store(full(a(n), y.shape())) }
        fn a(n: i32) -> i32 { b(n) + b(1) }
        fn b(n: i32) -> i32 { n }
        fn unused(n: i32) -> i32 { b(n) }",
    );
    let names: Vec<Vec<&str>> = compiled
        .units
        .iter()
        .map(|u| u.module.functions.iter().map(|f| f.name.as_str()).collect())
        .collect();
    assert_eq!(names, [vec!["k", "a", "b"], vec!["a", "b"], vec!["b"], vec!["unused", "b"]]);
}

#[test]
fn consts_have_their_values() {
    let body = "const A: i32 = 3 * 4 - 1;
    const B: f32 = -1.5e3 / 2.0;
    const ON: bool = true;
    const LIST: [i32; 2] = [2, 2];
    const BIG: i64 = 1 << 3;
    fn f(n: i32) -> (i32, i32, i32, i32) {
        let t: Tile<i32, LIST> = full(n, const_shape![LIST[0], 2]);
        (A, B as i32, ON as i32, reduce_sum(reduce_sum(t, 0), 0).to_scalar() + i32::MAX.min(LIST[1]))
    }";
    assert_eq!(ints(body, 5).unwrap(), [11, -750, 1, 22]);
}

#[test]
fn consts_may_use_others_that_stand_below() {
    let body = "const A: f32 = SCALE * 8.0 / N as f32;
    const SCALE: f32 = 1.0 / 4.0;
    const SHAPE: [i32; 2] = [N, N - 1];
    const N: i32 = 3;
    const MANY: bool = N > 2 && !OFF;
    const OFF: bool = false;
    const WIDE: u64 = u64::MAX;
    fn f(n: i32) -> (i32, i32, i32, i32) {
        let wide = WIDE == 18446744073709551615 && f16::MAX == f16::from_f32(65504.0f32);
        ((A * 3.0) as i32, SHAPE[1], if MANY { n } else { 0 }, wide as i32)
    }";
    assert_eq!(ints(body, 5).unwrap(), [2, 2, 5, 1]);
}

#[test]
fn names_may_be_keywords() {
    let body = "fn r#match(r#type: i32) -> i32 { let r#in = r#type + 1; r#in }
    fn f(r#move: i32) -> (i32, i32, i32, i32) { (r#match(r#move), 0, 0, 0) }";
    assert_eq!(ints(body, 5).unwrap(), [6, 0, 0, 0]);
    let text = ir("#[cutile::entry()]
        fn r#loop<const r#M: i32>(r#in: i32, y: &mut Tensor<i32, {[r#M]}>) { y.store(full(r#in, y.shape())); }");
    assert!(text.contains("entry @loop<const M: i32>(%in: i32"), "{text}");
}

#[test]
fn what_rustc_computes_and_other_modules_hold_is_left_open() {
    insta::assert_snapshot!(ir(r#"
        use super::other::{helper, SIZE};
        use super::more as aliased;
        const WIDE: i32 = SIZE * 2;
        #[cutile::entry()]
        fn k(x: &Tensor<f32, {[-1]}>, y: &mut Tensor<f32, {[8]}>) {
            let t: Tile<f32, {[8]}> = helper(y.load(), 2.0f32);
            let u: Tile<f32, {[SIZE]}> = aliased::make::<{[SIZE]}, true, f32>(WIDE);
            super::other::check(super::other::LIMIT);
            let v: Tile<f32, {[8]}> = super::other::last(u, x);
            y.store(t + v);
        }
    "#));
}

#[test]
fn the_vocabulary_goes_by_any_path() {
    let text = ir("
        use cutile::core as tiles;
        use cutile::core::{maximum as larger, exp};
        #[cutile::entry()]
        fn k(y: &mut Tensor<f32, {[4]}>) {
            y.store(larger(tiles::sqrt(exp(y.load())), cutile::core::zeros(y.shape())));
        }");
    for op in ["unary exp", "unary sqrt", "binary maximum"] {
        assert!(text.contains(op), "{op} in {text}");
    }
    assert!(!text.contains("call"), "{text}");
}

#[test]
fn declared_specialisations_are_lines() {
    let compiled = front_end("
        #[cutile::entry(fast_math, specialize(S = [64, 64], T = f32, F = true), specialize(T = f16, F = false, S = [8, 8]))]
        fn k<T: Number, const S: [i32; 2], const F: bool>(y: &mut Tensor<T, S>) { if F { y.store(zeros(y.shape())) } }");
    assert_eq!(
        compiled.units[0].specialisations,
        "T=f32, S=[64, 64], F=true\nT=f16, S=[8, 8], F=false"
    );
    assert!(compiled.units[0].module.functions[0].fast_math);
    for line in compiled.units[0].specialisations.lines() {
        cutile_ir::Specialisation::parse(line, &compiled.units[0].module.functions[0]).expect(line);
    }
}
