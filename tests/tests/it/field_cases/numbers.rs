//! Integers and floats: cases 15 to 35.

use cutile::core::{f8e4m3, f8e5m2};
use cutile::prelude::*;
use cutile::{HostElement, HostNumber};

use super::host;

#[cutile::module]
mod kernels {
    use cutile::core::*;

    #[cutile::entry()]
    fn case_15_tiles(
        a: &Tensor<i32, { [-1] }>,
        b: &Tensor<i32, { [-1] }>,
        y: &mut Tensor<i32, { [3, 5] }>,
    ) {
        let row = const_shape![1, 5];
        let (a, b) = (a.load_tile(const_shape![5], [0]), b.load_tile(const_shape![5], [0]));
        let mut rows = y.partition_mut(const_shape![1, 5]);
        rows.store([0, 0], (a / b).reshape(row));
        rows.store([1, 0], (a % b).reshape(row));
        rows.store([2, 0], ceil_div(a, b).reshape(row));
    }

    #[cutile::entry()]
    fn case_15_scalars(
        a: i32,
        b: i32,
        big: u32,
        tiny: i32,
        x: &Tensor<i32, { [-1] }>,
        y: &mut Tensor<i32, { [1] }>,
    ) {
        assert!(a / b == -3 && a % b == -1, "-7 by 2");
        assert!(-a / -b == -3 && -a % -b == 1, "7 by -2");
        assert!(ceil_div(-a, b) == 4, "7 by 2, up");
        assert!(big / 3 == 1_333_333_333, "unsigned");
        y.store(x.partition(const_shape![1]).load([tiny / 16]));
    }

    #[cutile::entry()]
    fn case_17<T: Integer>(
        x: &Tensor<T, { [2] }>,
        whole: &mut Tensor<T, { [3, 1] }>,
        y: &mut Tensor<f32, { [3, 1] }>,
    ) {
        let pair = x.partition(const_shape![1]);
        let (a, b) = (
            pair.load([0]).reshape(const_shape![1, 1]),
            pair.load([1]).reshape(const_shape![1, 1]),
        );
        let mut whole = whole.partition_mut(const_shape![1, 1]);
        whole.store([0, 0], a / b);
        whole.store([1, 0], max(a, b));
        whole.store([2, 0], a >> b / b);
        let mut y = y.partition_mut(const_shape![1, 1]);
        y.store([0, 0], convert(a > b));
        let wide: Tile<i32, { [1, 1] }> = convert(a);
        y.store([1, 0], convert(wide));
        y.store([2, 0], convert(a));
    }

    #[cutile::entry()]
    fn case_19(x: &Tensor<bool, { [-1] }>, y: &mut Tensor<i32, { [2] }>) {
        y.store(convert(load_tile_like(x, y)));
    }

    #[cutile::entry()]
    fn case_20(
        x: &Tensor<f32, { [-1] }>,
        differs: &mut Tensor<i32, { [5] }>,
        same: &mut Tensor<i32, { [5] }>,
    ) {
        let t = load_tile_like(x, differs);
        differs.store(convert(t != t));
        same.store(convert(t == t));
    }

    #[cutile::entry()]
    fn case_23(x: &Tensor<f32, { [-1] }>, y: &mut Tensor<i32, { [6] }>) {
        y.store(convert(load_tile_like(x, y)));
    }

    /// One element: the largest, ignoring NaN and not, of all, and of NaN and 1.
    #[cutile::entry()]
    fn case_24(x: &Tensor<f32, { [4] }>, y: &mut Tensor<f32, { [4] }>) {
        let t = x.load();
        let i: Tile<i32, { [4] }> = iota(const_shape![4]);
        let ignoring = reduce_max(t, 0).to_scalar();
        let propagating = reduce_maximum(t, 0).to_scalar();
        let nan = reduce_maximum(t, 0).reshape(const_shape![1]);
        let larger = max(nan, 1.0).to_scalar();
        let spreads = maximum(nan, 1.0).to_scalar();
        let first = select(i == 0, full(ignoring, y.shape()), full(propagating, y.shape()));
        let second = select(i == 2, full(larger, y.shape()), full(spreads, y.shape()));
        y.store(select(i < 2, first, second));
    }

    #[cutile::entry()]
    fn case_26(
        x: &Tensor<f32, { [4] }>,
        largest: &mut Tensor<f32, { [1] }>,
        at: &mut Tensor<i32, { [1] }>,
    ) {
        largest.store(reduce_max(x.load(), 0).reshape(const_shape![1]));
        at.store(reduce_argmax(x.load(), 0).reshape(const_shape![1]));
    }

    #[cutile::entry()]
    fn case_32<F: Element>(
        x: &Tensor<f32, { [-1] }>,
        small: &mut Tensor<F, { [4] }>,
        y: &mut Tensor<f32, { [4] }>,
    ) {
        let narrow: Tile<F, { [4] }> = convert(load_tile_like(x, y));
        small.store(narrow);
        y.store(convert(narrow));
    }
}

#[test]
fn case_15_integers_divide_as_in_rust_in_tiles() {
    let (a, b) = ([-7, -7, 7, 7, -1], [2, -2, -2, 2, 16]);
    let y = api::zeros::<i32>([3, 5]).partition([3, 5]);
    let (_, _, y) = kernels::case_15_tiles(api::from_slice(&a, [5]), api::from_slice(&b, [5]), y)
        .sync()
        .unwrap();
    assert_eq!(host(y), [-3, 3, -3, 3, 0, -1, -1, 1, 1, -1, -3, 4, -3, 4, 0]);
}

#[test]
fn case_15_integers_divide_as_in_rust_in_scalars_and_indices() {
    let y = api::zeros::<i32>([1]).partition([1]);
    let (.., y) = kernels::case_15_scalars(-7, 2, 4_000_000_000, -1, api::arange::<i32>(4), y)
        .sync()
        .unwrap();
    assert_eq!(host(y), [0], "-1 / 16 is index 0");
}

#[test]
fn case_17_unsigned_numbers_are_unsigned_everywhere() {
    fn check<T: HostNumber + cutile::core::Integer>(x: [T; 2], whole: [T; 3], as_float: f32) {
        let out = api::zeros::<T>([3, 1]).partition([3, 1]);
        let y = api::zeros::<f32>([3, 1]).partition([3, 1]);
        let (_, out, y) = kernels::case_17(api::from_slice(&x, [2]), out, y).sync().unwrap();
        assert_eq!(host(out), whole);
        assert_eq!(host(y), [1.0, as_float, as_float]);
    }
    check([200u8, 3], [66, 200, 100], 200.0);
    check([60_000u16, 3], [20_000, 60_000, 30_000], 60_000.0);
    check([2_000_000_000u32, 3], [666_666_666, 2_000_000_000, 1_000_000_000], 2e9);
}

#[test]
fn case_19_true_is_one() {
    let y = api::zeros::<i32>([2]).partition([2]);
    let (_, y) = kernels::case_19(api::from_slice(&[true, false], [2]), y).sync().unwrap();
    assert_eq!(host(y), [1, 0]);
}

#[test]
fn case_20_nan_differs_from_itself() {
    let x = [f32::NAN, 1.0, 0.0, -1.0, f32::INFINITY];
    let out = || api::zeros::<i32>([5]).partition([5]);
    let (_, differs, same) =
        kernels::case_20(api::from_slice(&x, [5]), out(), out()).sync().unwrap();
    assert_eq!(host(differs), [1, 0, 0, 0, 0]);
    assert_eq!(host(same), [0, 1, 1, 1, 1]);
}

#[test]
fn case_23_floats_become_integers_as_in_rust() {
    let x = [3.9f32, -3.9, 1e10, -1e10, f32::NAN, f32::INFINITY];
    let y = api::zeros::<i32>([6]).partition([6]);
    let (_, y) = kernels::case_23(api::from_slice(&x, [6]), y).sync().unwrap();
    assert_eq!(host(y), x.map(|v| v as i32));
    assert_eq!(x.map(|v| v as i32), [3, -3, i32::MAX, i32::MIN, 0, i32::MAX]);
}

#[test]
fn case_24_max_ignores_nan_and_maximum_does_not() {
    let x = [f32::NEG_INFINITY, f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
    let y = api::zeros::<f32>([4]).partition([4]);
    let (_, y) = kernels::case_24(api::from_slice(&x, [4]), y).sync().unwrap();
    let y = host(y);
    assert_eq!((y[0], y[2]), (f32::INFINITY, 1.0), "{y:?}");
    assert!(y[1].is_nan() && y[3].is_nan(), "{y:?}");
}

#[test]
fn case_26_the_largest_of_nothing_but_nan() {
    let (largest, at) =
        (api::zeros::<f32>([1]).partition([1]), api::ones::<i32>([1]).partition([1]));
    let (_, largest, at) = kernels::case_26(api::full(f32::NAN, [4]), largest, at).sync().unwrap();
    assert!(host(largest)[0].is_nan());
    assert_eq!(host(at), [0]);
}

#[test]
fn case_32_eight_bit_floats_saturate() {
    fn check<F: HostElement>(bits_of_largest: u64, largest: f32) {
        let x = [largest, 500.0, 60_000.0, -60_000.0];
        let small = api::zeros::<F>([4]).partition([4]);
        let y = api::zeros::<f32>([4]).partition([4]);
        let (_, small, y) = kernels::case_32(api::from_slice(&x, [4]), small, y).sync().unwrap();
        // 500 lies between e5m2's 448 and 512, and is nearer to 512.
        let rounded = if largest < 500.0 { largest } else { 512.0 };
        assert_eq!(host(y), [largest, rounded, largest, -largest], "{}", F::DTYPE);
        assert_eq!(host(small)[0].bits(), bits_of_largest);
    }
    check::<f8e4m3>(0x7e, 448.0);
    check::<f8e5m2>(0x7b, 57_344.0);
}
