//! The vocabulary, and what numbers mean: the field cases, and each family once.

use cutile_ir::Element;

use super::{
    ir,
    run::{Given, ints, run},
};

fn value(body: &str, n: i32) -> [i32; 4] {
    ints(body, n).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn integers_divide_as_in_rust() {
    let body = "fn f(n: i32) -> (i32, i32, i32, i32) {
        (n / 2, n % 2, -n / -2, div_floor(n, 2) * 1000 + ceil_div(-n, 2) * 10 + n.rem_euclid(2))
    }";
    assert_eq!(value(body, -7), [-3, -1, -3, -4000 + 40 + 1]);
    let body = "fn f(n: i32) -> (i32, i32, i32, i32) {
        let big: u32 = 4_000_000_000;
        ((big / 3) as i32, n / 16, n >> 1, ((n as u32) >> 1) as i32)
    }";
    assert_eq!(value(body, -1), [1_333_333_333, 0, -1, i32::MAX]);
}

#[test]
fn literals_take_the_type_that_is_expected() {
    let body = "fn f(n: i32) -> (i32, i32, i32, i32) {
        let a = 2.5;
        let b: f32 = a * 2.0;
        let mut c = 0;
        let d: i64 = 3_000_000_000;
        c += d;
        let e = 1e300;
        let g = -0.0f32;
        let h = 255;
        let i: u8 = h;
        (b as i32, (c / 3_000_000_000) as i32, (e > 1e299) as i32 + (1.0 / g < -1e30) as i32, i as i32)
    }";
    assert_eq!(value(body, 0), [5, 1, 2, 255]);
}

#[test]
fn casts_saturate_and_wrap_as_in_rust() {
    let source = "
        #[cutile::entry()]
        fn k(x: &Tensor<f32, {[-1]}>, y: &mut Tensor<i32, {[8]}>) {
            y.store(convert(load_tile_like(x, y)));
        }";
    let mut x = [3.9f32, -3.9, 1e10, -1e10, f32::NAN, f32::INFINITY, 0.0, -1.0];
    let mut y = [9; 8];
    run(source, "", &mut [(&mut x).into(), (&mut y).into()], 1).unwrap();
    assert_eq!(y, [3, -3, i32::MAX, i32::MIN, 0, i32::MAX, 0, -1]);
}

#[test]
fn unsigned_tiles_are_unsigned() {
    let source = "
        #[cutile::entry()]
        fn k(x: &Tensor<u8, {[-1]}>, y: &mut Tensor<i32, {[8]}>) {
            let t = x.load_tile(const_shape![1], [0]);
            let u = x.load_tile(const_shape![1], [1]);
            let gt: Tile<i32, {[1]}> = convert(t > u);
            let wide: Tile<i32, {[1]}> = convert(t);
            let real: Tile<f32, {[1]}> = convert(t);
            let i: Tile<i32, {[8]}> = iota(const_shape![8]);
            let q: Tile<i32, {[1]}> = convert(t / u);
            let m: Tile<i32, {[1]}> = convert(max(t, u));
            let s: Tile<i32, {[1]}> = convert(t >> 1);
            let r: i32 = real.to_scalar() as i32;
            let mut out = select(i == 0, gt.to_scalar(), q.to_scalar() + zeros(const_shape![8]));
            out = select(i == 2, m.to_scalar() + zeros(const_shape![8]), out);
            out = select(i == 3, s.to_scalar() + zeros(const_shape![8]), out);
            out = select(i == 4, wide.to_scalar() + zeros(const_shape![8]), out);
            y.store(select(i == 5, r + zeros(const_shape![8]), out));
        }";
    let (mut x, mut y) = ([200u8, 3], [0; 8]);
    run(source, "", &mut [Given::Bytes(&mut x, Element::U8), (&mut y).into()], 1).unwrap();
    assert_eq!(y[..6], [1, 66, 200, 100, 200, 200]);
}

#[test]
fn nan_compares_as_ieee_says() {
    let source = "
        #[cutile::entry()]
        fn k(x: &Tensor<f32, {[-1]}>, y: &mut Tensor<i32, {[5]}>) {
            let t = load_tile_like(x, y);
            let ne: Tile<i32, {[5]}> = convert(t != t);
            let eq: Tile<i32, {[5]}> = convert(t == t);
            let nan: Tile<i32, {[5]}> = convert(is_nan(t) | is_inf(t));
            y.store(ne + eq * 10 + nan * 100);
        }";
    let (mut x, mut y) = ([f32::NAN, 1.0, 0.0, -1.0, f32::INFINITY], [0; 5]);
    run(source, "", &mut [(&mut x).into(), (&mut y).into()], 1).unwrap();
    assert_eq!(y, [101, 10, 10, 10, 110]);
}

#[test]
fn ragged_reductions_see_valid_elements_only() {
    for (reduction, expected) in
        [("reduce_max", -1.0), ("reduce_sum", -15.0), ("reduce_min", -5.0), ("reduce_prod", -120.0)]
    {
        let source = format!(
            "#[cutile::entry()]
            fn k(x: &Tensor<f32, {{[-1]}}>, y: &mut Tensor<f32, {{[1]}}>) {{
                let t = load_tile(x, const_shape![8], [0]);
                y.store({reduction}(t, 0).reshape(const_shape![1]));
            }}"
        );
        let (mut x, mut y) = ([-5.0f32, -4.0, -3.0, -2.0, -1.0], [0.0f32]);
        run(&source, "", &mut [(&mut x).into(), (&mut y).into()], 1).unwrap();
        assert_eq!(y, [expected], "{reduction}");
    }
}

#[test]
fn any_tile_size_is_legal() {
    for size in [3, 24, 100] {
        let source = "
            #[cutile::entry()]
            fn k<const S: [i32; 1]>(a: f32, y: &mut Tensor<f32, S>) { y.store(a * y.load() + 1.0) }";
        let mut y = [2.0f32; 250];
        let programs = 250u32.div_ceil(size);
        run(source, &format!("S=[{size}]"), &mut [3.0.into(), (&mut y).into()], programs).unwrap();
        assert_eq!(y, [7.0; 250]);
    }
}

#[test]
fn sub_tiles_stay_inside_the_sub_tensor() {
    let source = "
        #[cutile::entry()]
        fn k<const S: [i32; 1]>(last: i32, y: &mut Tensor<f32, S>) {
            let mut v = y.partition_mut(const_shape![2]);
            for i in 0..last { v.store([i], v.load([i]) * 2.0 + i as f32); }
        }";
    let mut y = [1.0f32; 8];
    run(source, "S=[4]", &mut [2.into(), (&mut y).into()], 2).unwrap();
    assert_eq!(y, [2.0, 2.0, 3.0, 3.0, 2.0, 2.0, 3.0, 3.0]);
    assert!(
        run(source, "S=[4]", &mut [3.into(), (&mut y).into()], 2).is_err(),
        "tile 2 is another program's"
    );
    assert!(
        run(source, "S=[3]", &mut [1.into(), (&mut y).into()], 2).is_err(),
        "2 does not divide 3"
    );
}

#[test]
fn padded_loads_take_any_index() {
    let source = "
        #[cutile::entry()]
        fn k(x: &Tensor<f32, {[-1]}>, y: &mut Tensor<f32, {[2]}>) {
            let v = x.partition(const_shape![2]);
            assert!(v.grid()[0] == 2 && num_tiles(v, 0) == 2 && x.shape()[0] == 3, \"sizes\");
            y.store(v.load_padded([1], 7.0) + v.load_padded([5], 0.5));
        }";
    let (mut x, mut y) = ([1.0f32, 2.0, 3.0], [0.0f32; 2]);
    run(source, "", &mut [(&mut x).into(), (&mut y).into()], 1).unwrap();
    assert_eq!(y, [3.5, 7.5]);
}

#[test]
fn failed_assertions_say_their_text() {
    let source = "
        #[cutile::entry()]
        fn k(n: i32, y: &mut Tensor<i32, {[1]}>) {
            assert!(n != 3, \"not three\");
            assert!(n + 1 < 10);
            assert!(!(n == 8) && (n >= -1 || n.min(2) != 3));
            y.store(full(n, y.shape()));
        }";
    let mut y = [0];
    run(source, "", &mut [1.into(), (&mut y).into()], 1).unwrap();
    let text = |n: i32, y: &mut [i32; 1]| {
        run(source, "", &mut [n.into(), y.into()], 1).unwrap_err().to_string()
    };
    assert!(text(3, &mut y).contains("not three"));
    assert!(text(9, &mut y).contains("assertion failed: n + 1 < 10"));
    assert!(text(8, &mut y).contains("assertion failed: !(n == 8) && (n >= -1 || n.min(2) != 3)"));
}

#[test]
fn closures_see_one_element_at_a_time() {
    let source = "
        #[cutile::entry()]
        fn k<const S: [i32; 1]>(limit: f32, x: &Tensor<f32, {[-1]}>, y: &mut Tensor<i32, S>) {
            let t = load_tile_like(x, y).map(|v| if v > limit || v < -limit && limit > 0.0 {
                let capped = limit.min(v);
                capped * 2.0
            } else if v == 0.0 {
                100.0
            } else {
                v.abs()
            });
            let odd = t.map(|v| v as i32 % 2 == 1);
            y.store(select(odd, t.map(|v| -(v as i32)), t.convert::<i32>()));
        }";
    let mut x = [0.0f32, 1.0, -2.0, 3.5, -7.0, 5.0];
    let mut y = [0; 6];
    run(source, "S=[4]", &mut [3.0.into(), (&mut x).into(), (&mut y).into()], 2).unwrap();
    let limit = 3.0f32;
    let expected = x.map(|v| {
        let t = if v > limit || v < -limit && limit > 0.0 {
            limit.min(v) * 2.0
        } else if v == 0.0 {
            100.0
        } else {
            v.abs()
        };
        if t as i32 % 2 == 1 { -(t as i32) } else { t as i32 }
    });
    assert_eq!(y, expected);
}

#[test]
fn every_family_has_its_operation() {
    insta::assert_snapshot!(ir(r#"
        #[cutile::entry()]
        fn k<const M: i32, const N: i32>(
            x: &Tensor<f16, {[-1, -1]}>,
            w: &Tensor<f16, {[N, 16]}>,
            y: &mut Tensor<f32, {[M, N]}>,
        ) {
            let t = load_tile_like_2d(x, y);
            let whole = w.load();
            let wide: Tile<f32, {[M, N]}> = convert_tile(t);
            let bits: Tile<i16, {[M, N]}> = bitcast(t);
            let masked = (bits & 0x7fff) ^ (bits << 1) | !bits;
            let sum: Tile<f32, {[M, 16]}> = mma(t, whole, zeros(const_shape![M, 16]));
            let best = reduce_argmax(sum, 1);
            let some = reduce_any(masked == 0, 0);
            let math = fma(exp(wide), 2.0, sqrt(abs(wide))) + pow(wide, 2.0) - minimum(wide, 0.0) * sigmoid(-wide);
            let turned = transpose(math).permute(const_array![1, 0]);
            let count: Tile<i32, {[M]}> = ones(const_shape![M]);
            let picked = select(reshape(gt_tile(count, best), const_shape![M, 1]).broadcast(y.shape()), turned, 0.0);
            let flags = convert::<f32, Tile<bool, {[N]}>>(some).reshape(const_shape![1, N]).broadcast(y.shape());
            let ids = tile_block_id::<4>();
            store_tile(picked + flags + (ids[3] + num_programs(1)) as f32, y);
        }
    "#));
}
