//! What the front end says, where, and what it leaves to rustc; and that no input makes it panic. The messages as a user sees
//! them, with rustc's own beside them, are the workspace's `tests/ui`.

use std::str::FromStr;

use cutile_frontend::compile;
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use super::complaints;

#[test]
fn all_errors_come_at_once_each_at_its_token() {
    let found = complaints(
        "#[cutile::entry(slow)]
fn k(n: i32, y: &mut Tensor<f32, {[4]}>) {
    for i in 0..=n { match i { _ => {} } }
    y.store(y.load().reshape(const_shape![5]));
}",
    );
    assert_eq!(
        found,
        [
            "1:17: unknown option `slow` of an entry: the options are `fast_math` and `specialize(..)`",
            "3:22: `match` is not supported in a kernel: write `if` and `else if`",
            "3:15: `..=` is not supported: write `lower..upper + 1`",
            "4:22: a tile of 4 elements can't be reshaped to one of 5",
            "rustc: 4:22: expected `Tile<f32, { [4] }>`, found `Tile<f32, { [5] }>`",
        ]
    );
}

#[test]
fn what_rustc_says_is_left_to_it() {
    let found = complaints(
        "#[cutile::entry()]
fn k<const S: [i32; 2]>(n: i32, x: &Tensor<f32, {[-1, -1]}>, y: &mut Tensor<f32, S>) {
    let t: Tile<f32, S> = full(n, y.shape());
    let u = undefined + 1;
    let v = x.partition(const_shape![4, 4]).load([0]);
    let w = reduce_sum(t, 2);
    if t > 0.0 {}
    x.store(t);
}",
    );
    assert!(found.iter().all(|m| m.starts_with("rustc: ")), "{found:#?}");
    assert_eq!(found.len(), 6, "{found:#?}");
}

#[test]
fn conditions_that_rustc_decides_choose_nothing_in_a_kernel() {
    let found = complaints(
        "#[cfg(test)] const N: i32 = 4;
#[cfg(not(test))] const N: i32 = 8;
#[cfg(test)] const F: f32 = 4.0;
#[cfg(test)] fn f() -> i32 { 1 }
#[cfg(not(test))] fn f() -> i32 { 2 }
#[cutile::entry()]
fn k(#[cfg(test)] n: i32, y: &mut Tensor<i32, {[4]}>) {
    #[allow(unused)] let a = N;
    #[cfg(test)] let a = 1;
    if a > #[unroll] f() { #[cfg(test)] y.store(y.load()); }
}",
    );
    let within = "`cfg` can't choose in a kernel function, since rustc decides it after the kernel is compiled: use `if` and `const FLAG: bool = cfg!(..);` of the module";
    assert_eq!(
        found,
        [
            "5:22: there are several functions `f`, and rustc decides `cfg` after the kernel is compiled: put `#[cfg]` on two modules, or choose by a const".to_string(),
            format!("7:8: {within}"),
            format!("9:7: {within}"),
            "10:14: `#[unroll]` means nothing in a kernel function: remove it".into(),
            format!("10:30: {within}"),
            "3:29: `F` depends on `cfg`, which rustc decides after the kernel is compiled: only integers and bools can; or put `#[cfg]` on two modules".into(),
        ]
    );
}

#[test]
fn numbers_that_their_type_does_not_hold() {
    let found = complaints(
        "#[cutile::entry()]
fn k(y: &mut Tensor<i32, {[4]}>) {
    let a = -2147483648 + 2147483648;
    let b: u8 = 256;
    let c = -129i8;
    let d = 340282366920938463463374607431768211455u64;
    y.store(y.load() + 0xffff_ffff);
}",
    );
    assert_eq!(
        found,
        [
            "3:27: `i32` doesn't hold this number: it holds -2147483648 to 2147483647",
            "4:17: `u8` doesn't hold this number: it holds 0 to 255",
            "5:13: `i8` doesn't hold this number: it holds -128 to 127",
            "6:13: `u64` doesn't hold this number: it holds 0 to 18446744073709551615",
            "7:24: `i32` doesn't hold this number: it holds -2147483648 to 2147483647",
        ]
    );
}

#[test]
fn numbers_and_methods_that_rust_does_not_have_are_told_with_what_to_write() {
    let found = complaints(
        "#[cutile::entry()]
fn k<T: Float>(x: &mut Tensor<T, {[4]}>, y: &mut Tensor<f16, {[4]}>, z: &mut Tensor<f32, {[4]}>) {
    x.store(x.load() * 2.0);
    y.store(full(1.5, y.shape()) + y.load() * 0.5 + f16::from_f32(2.0));
    z.store(z.load().exp() + z.load().ln() + z.load().frobnicate());
    let a = 3.clamp(1, 2);
}",
    );
    let ours: Vec<&String> = found.iter().filter(|m| !m.starts_with("rustc: ")).collect();
    assert_eq!(
        ours,
        [
            "3:22: a literal has no type `T`: write `convert_scalar::<T>(2.0f32)`",
            "5:22: what computes on tiles is a function: write `exp(..)`",
            "5:39: what computes on tiles is a function: write `log(..)`",
            "6:15: scalars in kernels have no method `clamp`: write `x.max(least).min(greatest)`",
            "4:18: Rust has no literals of `f16`: write `f16::from_f32(2.0)`",
            "4:47: Rust has no literals of `f16`: write `f16::from_f32(2.0)`",
        ]
    );
}

#[test]
fn what_rustc_would_take_and_kernels_do_not_is_told_here() {
    let found = complaints(
        "use super::Alias;
#[cutile::entry()]
fn k(y: &mut Tensor<i32, {[4]}>) {
    let a: Alias = 1;
    drop(a);
    let b = [1, 2].len();
    y.store(full(program_id(7), y.shape()));
}",
    );
    let ours: Vec<&String> = found.iter().filter(|m| !m.starts_with("rustc: ")).collect();
    assert_eq!(
        ours,
        [
            "4:12: `Alias` is not a type of the kernel language: write an element type, such as `f32`, or a type parameter",
            "5:5: a kernel can't call `drop`: use the vocabulary, methods of numbers, or a helper",
            "6:20: `[i32; 2]` has no method `len`",
            "7:29: there is no axis 7: a grid has axes 0 to 5",
        ]
    );
}

#[test]
fn views_and_tensors_are_chosen_before_the_launch() {
    let found = complaints(
        "#[cutile::entry()]
fn k(n: i32, x: &Tensor<f32, {[-1]}>, y: &mut Tensor<f32, {[4]}>) {
    let a = x.partition(const_shape![4]);
    let b = if n > 0 { a } else { x.partition(const_shape![4]) };
    let mut pair = (1, a);
    pair.1 = a;
    y.store(b.load([0]));
}",
    );
    assert_eq!(
        found,
        [
            "4:18: which tensor, view or shape it is must be known before the launch: choose between loaded tiles instead",
            "6:12: a variable that is a tensor, a view or a shape can't be assigned to: bind another name with `let`",
        ]
    );
}

/// A module with every construct of the language.
const EVERYTHING: &str = r#"mod kernels {
    use cutile::core::*;
    use super::other::{helper, LIMIT as MOST};
    const N: i32 = 4 * 2;
    const LIST: [i32; 2] = [N, 1];

    #[cutile::entry(fast_math, specialize(S = [8], BK = 2, T = f32, UP = true))]
    pub fn k<T: Number, const S: [i32; 1], const BK: i32, const UP: bool>(
        n: i32,
        x: &Tensor<T, { [-1, BK * 2] }>,
        y: &mut Tensor<T, S>,
    ) {
        fn twice(n: i32) -> i32 { n * 2 }
        let v = x.partition(const_shape![1, BK]);
        let (mut acc, pid) = (y.load(), get_tile_block_id());
        'rows: for i in (0..num_tiles(v, 0)).step_by(2) {
            let t = v.load([i, pid.1]).permute(const_array![1, 0]).reshape(const_shape![BK]);
            let total = reduce_sum(t, 0).to_scalar();
            while acc_is_small(n) && i < S[0] || !UP {
                if i == 3 { continue 'rows; } else if i > LIST[0] { break; }
                return;
            }
            let best = loop { if i > MOST { break twice(i) } };
            acc = acc * total + zeros::<T, S>(y.shape());
            acc += total;
            assert!(best >= 0 && -best <= 0, "order");
        }
        let h: Tile<T, S> = helper(acc, 1.5f32, { let z = [n, N]; z[1] } as f64);
        y.store(h);
    }

    pub fn acc_is_small(n: i32) -> bool { (n as f32).abs() < 1e3 }
}"#;

/// Every token stream that differs from this one by one token left out or said twice.
fn mutations(tokens: &TokenStream) -> Vec<TokenStream> {
    let list: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let mut all = Vec::new();
    for i in 0..list.len() {
        let (before, after) = (&list[..i], &list[i + 1..]);
        let rebuilt =
            |middle: &[TokenTree]| before.iter().chain(middle).chain(after).cloned().collect();
        all.push(rebuilt(&[]));
        all.push(rebuilt(&[list[i].clone(), list[i].clone()]));
        if let TokenTree::Group(g) = &list[i] {
            all.push(rebuilt(&[TokenTree::Group(Group::new(Delimiter::Parenthesis, g.stream()))]));
            all.extend(
                mutations(&g.stream())
                    .into_iter()
                    .map(|inner| rebuilt(&[TokenTree::Group(Group::new(g.delimiter(), inner))])),
            );
        }
    }
    all
}

#[test]
fn no_input_makes_it_panic() {
    let tokens = TokenStream::from_str(EVERYTHING).expect("the source is tokens");
    let whole = compile(&syn::parse2(tokens.clone()).expect("the source is Rust"));
    assert!(whole.report.is_clean(), "{:#?}", whole.report);
    let mut tried = 0;
    for mutation in mutations(&tokens) {
        if let Ok(item) = syn::parse2(mutation) {
            let compiled = compile(&item);
            assert!(
                compiled.report.is_clean() != compiled.units.is_empty()
                    || compiled.module.functions.is_empty()
            );
            let own =
                compiled.report.errors().iter().find(|d| d.message.contains("a fault of cutile's"));
            assert!(own.is_none(), "{own:?} of {}", quote::quote!(#item));
            tried += 1;
        }
    }
    assert!(tried > 200, "only {tried} mutations are Rust");
}

#[test]
fn odd_paths_are_no_trouble() {
    let found = complaints(
        "#[cutile::entry()]
fn k(y: &mut Tensor<f32, {[4]}>) {
    let a = ::f(1);
    let b: f32 = <f32>::max(1.0, 2.0);
    let c = self::g::<_, 3>(2u8);
    let d = ::N;
    crate::h();
    let e = full(0, const_shape![SMALLEST, -SMALLEST]).reshape(const_shape![9223372036854775807, 4, 4]);
}
const SMALLEST: i64 = -9223372036854775807 - 1;
const OTHER: i64 = -SMALLEST;",
    );
    assert!(found.len() >= 4, "{found:#?}");
}
