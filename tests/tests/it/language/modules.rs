//! Modules that use each other: helpers, consts, nested functions.

use cutile::prelude::*;

/// Helpers.
#[cutile::module]
mod helpers {
    use super::deeper::triple;
    use cutile::core::*;

    pub(super) const N: i32 = 64;
    pub(super) const WIDTH: i32 = super::LANES * 2;

    pub fn own_n() -> i32 {
        N
    }

    pub fn six_times<T: Number, const S: [i32; 1]>(t: Tile<T, S>) -> Tile<T, S> {
        let tripled: Tile<T, S> = triple(t);
        tripled + tripled
    }

    pub fn add_into<const S: [i32; 1]>(t: Tile<f32, S>, y: &mut Tensor<f32, S>) {
        y.store(y.load() + t);
    }
}

mod deeper {
    #[cutile::module]
    mod hidden {
        use cutile::core::*;

        pub fn triple<T: Number, const S: [i32; 1]>(t: Tile<T, S>) -> Tile<T, S> {
            t + t + t
        }
    }
    pub(crate) use hidden::triple;
}

const LANES: i32 = 4;

#[cutile::module]
mod kernels {
    use super::helpers::{self, WIDTH, six_times};
    use cutile::core::*;

    const N: i32 = 128;

    #[cutile::entry()]
    fn consts(y: &mut Tensor<i32, { [N] }>) {
        let theirs: i32 = helpers::own_n();
        y.store(full(N * 1000 + theirs, const_shape![N]));
    }

    #[cutile::entry()]
    fn imported(y: &mut Tensor<f32, { [WIDTH] }>) {
        let start = y.load();
        helpers::add_into(start, y);
        let all: Tile<f32, { [WIDTH] }> = six_times(y.load());
        y.store(all + (WIDTH + super::helpers::N) as f32);
    }

    #[cutile::entry()]
    fn nested(y: &mut Tensor<i32, { [4] }>) {
        fn times<T: Number, const S: [i32; 1]>(t: Tile<T, S>, k: T) -> Tile<T, S> {
            t * k
        }
        y.store(times(y.load(), 3));
    }
}

#[cutile::module]
mod with_globs {
    use super::helpers::*;
    use cutile::core::*;

    #[cutile::entry()]
    fn all_by_name(y: &mut Tensor<f32, { [WIDTH] }>) {
        let n: i32 = own_n();
        y.store(six_times(y.load()) + n as f32);
    }
}

#[test]
fn all_names_of_another_module_may_be_imported_at_once() {
    let y = api::ones::<f32>([8]).partition([8]);
    let (y,) = with_globs::all_by_name(y).sync().unwrap();
    assert_eq!(y.unpartition().into_host_vec().sync().unwrap(), [6.0 + 64.0; 8]);
}

#[test]
fn consts_of_two_modules_of_one_name_stay_apart() {
    let (y,) = kernels::consts(api::zeros::<i32>([128]).partition([128])).sync().unwrap();
    assert_eq!(y.unpartition().into_host_vec().sync().unwrap(), [128_064; 128]);
}

#[test]
fn helpers_of_helpers_of_other_modules_come_along() {
    let (y,) = kernels::imported(api::ones::<f32>([8]).partition([8])).sync().unwrap();
    assert_eq!(y.unpartition().into_host_vec().sync().unwrap(), [12.0 + 8.0 + 64.0; 8]);
}

#[test]
fn a_generic_helper_may_stand_inside_a_kernel() {
    let (y,) = kernels::nested(api::ones::<i32>([4]).partition([4])).sync().unwrap();
    assert_eq!(y.unpartition().into_host_vec().sync().unwrap(), [3; 4]);
}
