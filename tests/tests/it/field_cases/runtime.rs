//! The runtime under tensors and kernels: cases 48 to 65. Those about bytes and streams alone stand in `cuda-async`.

use std::future::{Future, IntoFuture};
use std::pin::pin;
use std::task::{Context, Waker};

use cutile::prelude::*;

use super::host;

#[cutile::module]
mod kernels {
    use cutile::core::*;

    /// y += x, `n` times: as slow as one likes.
    #[cutile::entry()]
    fn slow_sum<const S: [i32; 1]>(n: i32, x: &Tensor<f32, { [-1] }>, y: &mut Tensor<f32, S>) {
        let mut sum = y.load();
        for _ in 0..n {
            sum += load_tile_like(x, y);
        }
        y.store(sum);
    }

    #[cutile::entry()]
    fn double<const S: [i32; 1]>(y: &mut Tensor<f32, S>) {
        y.store(y.load() * 2.0);
    }
}

#[test]
fn case_48_memory_of_a_dropped_launch_is_not_given_out_while_it_runs() {
    const N: usize = 4096;
    for _ in 0..20 {
        let x = api::ones::<f32>([N]).sync().unwrap();
        let y = api::zeros::<f32>([N]).sync().unwrap().partition([N]);
        {
            let mut launch = pin!(kernels::slow_sum(200, x, y).into_future());
            let _ = launch.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        }
        let sevens: Vec<_> = (0..4).map(|_| api::full(7.0f32, [N]).sync().unwrap()).collect();
        for fresh in sevens {
            assert_eq!(fresh.into_host_vec().sync().unwrap(), [7.0; N]);
        }
    }
}

#[test]
fn case_63_writing_needs_the_only_handle() {
    let x = api::ones::<f32>([8]).arc().sync().unwrap();
    let other = Arc::clone(&x);
    // Owned, borrowed, and as part of an operation.
    assert!(SharedTensor::partition(Arc::clone(&x), [4]).is_err());
    let mut borrowed = Arc::clone(&x);
    assert!(SharedTensor::partition_mut(&mut borrowed, [4]).is_err());
    let launch = zip!(cutile::cuda_async::value(borrowed).partition([4])).apply(kernels::double);
    let error = launch.sync().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Shared { .. }), "{error}");
    assert_eq!(other.to_host_vec().sync().unwrap(), [1.0; 8], "nobody has written it");
    drop(other);
    let (y,) = kernels::double(SharedTensor::partition(x, [4]).unwrap()).sync().unwrap();
    assert_eq!(host(y), [2.0; 8]);
}
