//! Shapes, ragged ends, indices: cases 37 to 47.

use cutile::cuda_async::DeviceKind;
use cutile::prelude::*;

use super::{fault, host};

#[cutile::module]
mod kernels {
    use cutile::core::*;

    #[cutile::entry()]
    fn case_37(x: &Tensor<f32, { [-1] }>, y: &mut Tensor<f32, { [4] }>) {
        let t = load_tile(x, const_shape![8], [0]);
        let mut parts = y.partition_mut(const_shape![1]);
        parts.store([0], reduce_max(t, 0).reshape(const_shape![1]));
        parts.store([1], reduce_sum(t, 0).reshape(const_shape![1]));
        parts.store([2], reduce_min(t, 0).reshape(const_shape![1]));
        parts.store([3], reduce_prod(t, 0).reshape(const_shape![1]));
    }

    #[cutile::entry()]
    fn case_39<const N: i32>(a: f32, x: &Tensor<f32, { [-1] }>, y: &mut Tensor<f32, { [N] }>) {
        let t = load_tile_like(x, y);
        let sum: Tile<f32, { [N] }> =
            reduce_sum(t, 0).reshape(const_shape![1]).broadcast(const_shape![N]);
        y.store(a * t + sum);
    }

    #[cutile::entry()]
    fn case_42(
        x: &Tensor<u8, { [-1] }>,
        count: &mut Tensor<i32, { [1] }>,
        last: &mut Tensor<u8, { [16] }>,
    ) {
        let tiles = x.partition(const_shape![16]);
        let n = num_tiles(&tiles, 0);
        count.store(full(n, count.shape()));
        last.store(tiles.load([n - 1]));
    }

    #[cutile::entry()]
    fn case_42_rows(x: &Tensor<u8, { [-1, 16] }>, last: &mut Tensor<u8, { [16] }>) {
        let rows = x.partition(const_shape![1, 16]);
        last.store(rows.load([num_tiles(&rows, 0) - 1, 0]).reshape(const_shape![16]));
    }

    #[cutile::entry()]
    fn case_45(
        src: &Tensor<f32, { [-1] }>,
        indices: &Tensor<i32, { [-1] }>,
        y: &mut Tensor<f32, { [1] }>,
    ) {
        let at = indices.partition(const_shape![1]).load([program_id(0)]).to_scalar();
        y.store(src.partition(const_shape![1]).load([at]));
    }
}

#[test]
fn case_37_lanes_outside_take_no_part_in_reductions() {
    let x = api::from_slice(&[-5.0f32, -4.0, -3.0, -2.0, -1.0], [5]);
    let (_, y) = kernels::case_37(x, api::zeros::<f32>([4]).partition([4])).sync().unwrap();
    assert_eq!(host(y), [-1.0, -15.0, -5.0, -120.0]);
}

#[test]
fn case_39_tiles_of_any_size() {
    for n in [1, 3, 24, 100] {
        let x: Vec<f32> = (0..250).map(|i| i as f32).collect();
        let y = api::zeros::<f32>([250]).partition([n]);
        let (_, _, y) = kernels::case_39(2.0, api::from_slice(&x, [250]), y).sync().unwrap();
        let expected: Vec<f32> = x
            .chunks(n)
            .flat_map(|tile| tile.iter().map(|v| 2.0 * v + tile.iter().sum::<f32>()))
            .collect();
        assert_eq!(host(y), expected, "tiles of {n}");
    }
}

#[test]
fn case_41_empty_tensors_add_launch_and_come_back() {
    for shape in [&[0][..], &[4, 0, 3]] {
        let zeros = || api::zeros::<f32>(shape);
        let sum = api::add(zeros(), zeros()).sync().unwrap();
        assert_eq!(sum.shape(), shape);
        assert!(sum.to_host_vec().sync().unwrap().is_empty());
    }
    let empty = || api::zeros::<f32>([0]);
    let (_, _, y) = kernels::case_39(2.0, empty(), empty().partition([8])).sync().unwrap();
    assert!(host(y).is_empty());
}

#[test]
fn case_42_tensors_around_two_to_the_31() {
    // An emulated device keeps a copy of all that it is given, and a mark for every byte.
    if Device::default().kind() == DeviceKind::Emulator {
        return;
    }
    let near = (1usize << 31) - 8;
    let mut data = vec![0u8; near];
    let tail: Vec<u8> = (1..=8).collect();
    data[near - 8..].copy_from_slice(&tail);
    let out = || api::full(9u8, [16]).partition([16]);
    let count = api::zeros::<i32>([1]).partition([1]);
    let (x, count, last) =
        kernels::case_42(api::from_vec(data, [near]), count, out()).sync().unwrap();
    drop(x);
    assert_eq!(host(count), [134_217_728]);
    // The last tile is ragged: 8 of its 16 lanes are inside, and the others are not stored.
    assert_eq!(host(last), [&tail[..], &[9; 8]].concat());

    let beyond = (1usize << 31) + 16;
    let mut data = vec![0u8; beyond];
    data[beyond - 16..].fill(7);
    let x = api::from_vec(data, [beyond / 16, 16]);
    let (x, last) = kernels::case_42_rows(x, out()).sync().unwrap();
    assert_eq!(host(last), [7; 16], "as rows it is possible");
    let flat = x.reshape([beyond]);
    let count = api::zeros::<i32>([1]).partition([1]);
    let error = kernels::case_42(flat, count, out()).sync().unwrap_err().to_string();
    assert!(error.contains("2147483664"), "{error}");
}

#[test]
fn case_45_an_index_outside_is_a_reported_fault() {
    let src = || api::from_slice(&[1.0f32, 2.0, 3.0, 4.0], [4]);
    let y = || api::zeros::<f32>([4]).partition([1]);
    let inside = api::from_slice(&[0, 1, 2, 3], [4]);
    let (.., y_inside) = kernels::case_45(src(), inside, y()).sync().unwrap();
    assert_eq!(host(y_inside), [1.0, 2.0, 3.0, 4.0]);
    let outside = api::from_slice(&[0, 1, 2, 9], [4]);
    let said = fault(kernels::case_45(src(), outside, y()));
    assert!(said.contains("case_45") && said.contains("shapes.rs") && said.contains('9'), "{said}");
}
