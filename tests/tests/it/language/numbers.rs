//! What numbers mean, for every element type that a launch can give.

use cutile::core::{bf16, f16};
use cutile::prelude::*;

#[cutile::module]
mod kernels {
    use cutile::core::*;

    #[cutile::entry()]
    fn halves(x: &Tensor<f16, { [-1] }>, y: &mut Tensor<f32, { [4] }>) {
        let t = load_tile_like(x, y);
        let wide: Tile<f32, { [4] }> = convert(t * f16::from_f32(2.0) + t);
        y.store(wide);
    }

    #[cutile::entry()]
    fn brain(x: &Tensor<f32, { [-1] }>, y: &mut Tensor<bf16, { [4] }>) {
        y.store(load_tile_like(x, y).convert::<bf16>());
    }

    #[cutile::entry()]
    fn flags(x: &Tensor<bool, { [-1] }>, z: &Tensor<bool, { [-1] }>, y: &mut Tensor<i32, { [4] }>) {
        let (a, b) = (load_tile_like(x, y), load_tile_like(z, y));
        let either: Tile<i32, { [4] }> = convert(a | b);
        let both: Tile<i32, { [4] }> = convert(a & b);
        let differ: Tile<i32, { [4] }> = convert((a ^ b) == !(a == b));
        y.store(either + both * 10 + differ * 100);
    }

    /// Nothing here says of which type the numbers are.
    #[cutile::entry()]
    fn unannotated(y: &mut Tensor<i32, { [4] }>) {
        let list = [2, 3];
        let mut n = 0;
        while !(n > 9) {
            let even = n % 2 == 0;
            let half = n == 0 || !even && n as f32 * 0.5 < 2.0;
            if !even || half {
                y.store(y.load() + list[ONE as usize]);
            }
            n += 1;
        }
    }

    const ONE: i32 = 1;

    #[cutile::entry()]
    fn hard_sigmoid<const S: [i32; 1]>(slope: f32, y: &mut Tensor<f32, S>) {
        y.store(y.load().map(|v| {
            let line = v * slope + 0.5;
            if line < 0.0 || line.is_nan() {
                0.0
            } else if line > 1.0 {
                1.0
            } else {
                line
            }
        }));
    }

    #[cutile::entry()]
    fn product<const BM: i32, const BN: i32>(
        x: &Tensor<f32, { [-1, 64] }>,
        y: &Tensor<f32, { [64, -1] }>,
        z: &mut Tensor<f32, { [BM, BN] }>,
    ) {
        let rows = load_tile(x, const_shape![BM, 64], [program_id(0), 0]);
        let columns = load_tile(y, const_shape![64, BN], [0, program_id(1)]);
        z.store(mma(rows, columns, zeros(const_shape![BM, BN])));
    }
}

#[test]
fn half_precision_rounds_once_an_operation() {
    let x: Vec<f16> = [1.0, 0.1, 1000.0, -3.0].map(f16::from_f32).to_vec();
    let expected: Vec<f32> =
        x.iter().map(|v| (f16::from_f32(v.to_f32() * 2.0) + v).to_f32()).collect();
    let y = api::zeros::<f32>([4]).partition([4]);
    let (_, y) = kernels::halves(api::from_vec(x, [4]), y).sync().unwrap();
    assert_eq!(y.unpartition().into_host_vec().sync().unwrap(), expected);

    let x = [1.0f32, 0.1, 1e30, f32::NEG_INFINITY];
    let y = api::zeros::<bf16>([4]).partition([4]);
    let (_, y) = kernels::brain(api::from_slice(&x, [4]), y).sync().unwrap();
    assert_eq!(y.unpartition().into_host_vec().sync().unwrap(), x.map(bf16::from_f32));
}

#[test]
fn bools_are_logical() {
    let (t, f) = (true, false);
    let x = api::from_slice(&[t, t, f, f], [4]);
    let z = api::from_slice(&[t, f, t, f], [4]);
    let (_, _, y) = kernels::flags(x, z, api::zeros::<i32>([4]).partition([4])).sync().unwrap();
    assert_eq!(y.unpartition().into_host_vec().sync().unwrap(), [111, 101, 101, 100]);
}

#[test]
fn types_of_numbers_follow_as_in_rust() {
    let (y,) = kernels::unannotated(api::zeros::<i32>([4]).partition([4])).sync().unwrap();
    // 0, and the odd ones.
    assert_eq!(y.unpartition().into_host_vec().sync().unwrap(), [6 * 3; 4]);
}

#[test]
fn closures_map_elements() {
    let y = api::from_slice(&[-10.0f32, 0.0, 1.0, 10.0, f32::NAN], [5]).partition([2]);
    let (_, y) = kernels::hard_sigmoid(0.25, y).sync().unwrap();
    assert_eq!(y.unpartition().into_host_vec().sync().unwrap(), [0.0, 0.5, 0.75, 1.0, 0.0]);
}

#[test]
fn f32_products_stay_f32() {
    let numbers = |seed: u32| -> Vec<f32> {
        (0..64 * 64u32)
            .map(|i| {
                (i.wrapping_mul(2_654_435_761).wrapping_add(seed) >> 8) as f32 / (1 << 23) as f32
                    - 1.0
            })
            .collect()
    };
    let (a, b) = (numbers(1), numbers(77));
    let (x, y) = (api::from_slice(&a, [64, 64]), api::from_slice(&b, [64, 64]));
    let z = api::zeros::<f32>([64, 64]).partition([16, 32]);
    let (_, _, z) = kernels::product(x, y, z).sync().unwrap();
    let z = z.unpartition().into_host_vec().sync().unwrap();
    for i in 0..64 {
        for j in 0..64 {
            let exact: f64 =
                (0..64).map(|k| f64::from(a[i * 64 + k]) * f64::from(b[k * 64 + j])).sum();
            assert!((f64::from(z[i * 64 + j]) - exact).abs() <= 1e-5, "({i}, {j})");
        }
    }
}
