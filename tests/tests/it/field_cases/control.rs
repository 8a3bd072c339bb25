//! Control flow: cases 1 to 14.

use cutile::prelude::*;

use super::{fault, host};

#[cutile::module]
mod kernels {
    use cutile::core::*;

    #[cutile::entry()]
    fn case_01(flag: i32, x: &Tensor<f32, { [-1] }>, y: &mut Tensor<f32, { [2] }>) {
        let tiles = x.partition(const_shape![2]);
        let mut sum = y.load();
        for i in 0..num_tiles(&tiles, 0) {
            let mut j = i;
            if flag > 0 {
                j = 100;
            }
            sum += tiles.load([j]);
        }
        y.store(sum);
    }

    #[cutile::entry()]
    fn case_02(n: i32, x: &Tensor<f32, { [-1] }>, y: &mut Tensor<f32, { [2] }>) {
        let tiles = x.partition(const_shape![2]);
        let mut sum = y.load();
        for i in 0..n {
            sum += tiles.load([i * 2_000_000_000]);
        }
        y.store(sum);
    }

    #[cutile::entry()]
    fn case_03(x: &Tensor<f32, { [-1] }>, y: &mut Tensor<f32, { [2] }>) {
        let tiles = x.partition(const_shape![2]);
        let mut sum = y.load();
        for i in 0..10 {
            if i < 2 {
                sum += tiles.load([i]);
            }
        }
        y.store(sum);
    }

    #[cutile::entry()]
    fn case_04(limit: i32, x: &Tensor<f32, { [-1] }>, y: &mut Tensor<f32, { [2] }>) {
        let tiles = x.partition(const_shape![2]);
        let mut sum = y.load();
        for k in 0..64 {
            if k >= limit {
                continue;
            }
            sum += tiles.load([k]);
        }
        y.store(sum);
    }

    #[cutile::entry()]
    fn case_06(a: &Tensor<i32, { [-1] }>, y: &mut Tensor<bool, { [1] }>) {
        let elements = a.partition(const_shape![1]);
        let idx = program_id(0);
        let here = elements.load([idx]).to_scalar();
        let differs = idx == 0 || elements.load([idx - 1]).to_scalar() != here;
        y.store(full(differs, y.shape()));
    }

    /// Counts a call, and holds.
    fn counted(calls: &mut Tensor<i32, { [1] }>) -> bool {
        calls.store(calls.load() + 1);
        true
    }

    #[cutile::entry()]
    fn case_07(n: i32, calls: &mut Tensor<i32, { [1] }>, y: &mut Tensor<bool, { [4] }>) {
        let idx = 5;
        let divides = n != 0 && idx % n == 0;
        let zero_or_divides = n == 0 || idx % n == 0;
        let and = n == 0 && counted(calls);
        let or = n == 0 || counted(calls) && counted(calls);
        let i: Tile<i32, { [4] }> = iota(const_shape![4]);
        let left = select(i == 0, full(divides, y.shape()), full(zero_or_divides, y.shape()));
        let right = select(i == 2, full(and, y.shape()), full(or, y.shape()));
        y.store(select(i < 2, left, right));
    }

    #[cutile::entry()]
    fn case_10_and_13(n: i32, y: &mut Tensor<i32, { [2] }>) {
        let mut s = 0;
        for k in 0..100 {
            if k == 5 {
                break;
            }
            s += k;
        }
        let mut m = 0;
        for i in 0..n {
            if i % 2 == 0 {
                m += i;
            }
        }
        let i: Tile<i32, { [2] }> = iota(const_shape![2]);
        y.store(select(i == 0, full(s, y.shape()), full(m, y.shape())));
    }
}

fn two() -> impl DeviceOperation<Output = Partition<Tensor<f32>>> {
    api::zeros::<f32>([2]).partition([2])
}

/// 1, 2, 3, ... n.
fn counting(n: usize) -> impl DeviceOperation<Output = Tensor<f32>> {
    api::linspace(1.0f32, n as f32, n)
}

#[test]
fn case_01_a_bounds_proof_does_not_survive_a_reassignment() {
    let (_, _, y) = kernels::case_01(0, counting(8), two()).sync().unwrap();
    assert_eq!(host(y), [16.0, 20.0]);
    let said = fault(kernels::case_01(1, counting(8), two()));
    assert!(said.contains("100") && said.contains('4'), "{said}");
}

#[test]
fn case_02_an_index_is_not_judged_by_its_wrapped_product() {
    let (_, _, y) = kernels::case_02(1, counting(4), two()).sync().unwrap();
    assert_eq!(host(y), [1.0, 2.0]);
    let said = fault(kernels::case_02(3, counting(4), two()));
    assert!(said.contains("2000000000"), "the first index outside, not a wrapped one: {said}");
}

#[test]
fn case_03_an_access_that_is_not_made_is_not_refused() {
    let (_, y) = kernels::case_03(counting(4), two()).sync().unwrap();
    assert_eq!(host(y), [4.0, 6.0]);
}

#[test]
fn case_04_nor_where_continue_steps_over_it() {
    let (_, _, y) = kernels::case_04(4, counting(20), two()).sync().unwrap();
    assert_eq!(host(y), [1.0 + 3.0 + 5.0 + 7.0, 2.0 + 4.0 + 6.0 + 8.0]);
}

#[test]
fn case_06_the_neighbour_before_the_first_is_not_read() {
    let y = api::zeros::<bool>([3]).partition([1]);
    let (_, y) = kernels::case_06(api::from_slice(&[7, 7, 3], [3]), y).sync().unwrap();
    assert_eq!(host(y), [true, false, true]);
}

#[test]
fn case_07_what_is_not_reached_does_not_happen() {
    let run = |n: i32| {
        let calls = api::zeros::<i32>([1]).partition([1]);
        let y = api::zeros::<bool>([4]).partition([4]);
        let (_, calls, y) = kernels::case_07(n, calls, y).sync().unwrap();
        (host(calls)[0], host(y))
    };
    assert_eq!(run(0), (1, vec![false, true, true, true]), "no division, one call");
    assert_eq!(run(5), (2, vec![true, true, false, true]), "5 divides 5, two calls");
    assert_eq!(run(3), (2, vec![false, false, false, true]));
}

#[test]
fn case_10_and_13_loops_with_a_break_and_with_a_condition() {
    let y = api::zeros::<i32>([2]).partition([2]);
    let (_, y) = kernels::case_10_and_13(10, y).sync().unwrap();
    assert_eq!(host(y), [10, 20]);
}
