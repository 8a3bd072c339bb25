//! The crate's kernel on ragged shapes, from another crate of the same package.

use cutile::prelude::*;
use outside::kernels::shifted_square;
use outside::spare::halved;

#[test]
fn the_kernel_gives_the_right_values_at_ragged_shapes() {
    for (rows, columns) in [(1, 1), (64, 64), (65, 63), (130, 7)] {
        let data: Vec<f32> = (0..rows * columns).map(|i| i as f32 * 0.25 - 3.0).collect();
        let x = api::from_slice(&data, [rows, columns]).arc();
        let y = api::zeros::<f32>([rows, columns]).partition([64, 64]);
        let (_, _, y) = shifted_square(0.5, x, y).sync().unwrap();
        let found = y.unpartition().to_host_vec().sync().unwrap();
        let expected: Vec<f32> = data.iter().map(|v| v * v + 0.5).collect();
        assert_eq!(found, expected, "{rows} x {columns}");
    }
}

#[test]
fn a_kernel_that_no_program_launches_is_there_for_tests() {
    let y = api::zeros::<f32>([50]).partition([32]);
    let (_, y) = halved(api::ones::<f32>([50]).arc(), y).sync().unwrap();
    assert_eq!(y.unpartition().to_host_vec().sync().unwrap(), [0.5; 50]);
}
