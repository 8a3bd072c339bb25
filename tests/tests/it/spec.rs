//! The customer's examples (the description of CUDA Async), with the contract's changes and no others: an executor for
//! `async fn main`, no `.into()` in the first `add`, `xf` and `yf` as what the second `add` takes, `DeviceFuture<_>`, `my_op`
//! returning `T`, and one module in the place of `my_kernels` and `my_module`. What each leads to is asserted after it.

use cutile::prelude::*;
use futures_util::future::join;

use cutile_tests::run;

#[cutile::module]
mod my_module {
    use cutile::core::*;
    #[cutile::entry()]
    fn saxpy<const S: [i32; 2]>(a: f32, x: &Tensor<f32, { [-1, -1] }>, y: &mut Tensor<f32, S>) {
        let tile_a: Tile<f32, S> = broadcast_scalar(a, y.shape());
        let tile_x: Tile<f32, S> = load_tile_like_2d(x, y);
        let tile_y: Tile<f32, S> = load_tile_mut(y);
        store_tile(tile_a * tile_x + tile_y, y);
    }
}
use my_module as my_kernels;
use my_module::saxpy;

#[test]
fn device_operations() {
    run(async {
        let a = 2.0;
        let x = api::ones::<f32>([16, 16]).arc(); // impl DeviceOperation
        let y = api::ones::<f32>([16, 16]).partition([4, 4]); // impl DeviceOperation
        let op = api::zip((a, x, y)).apply(my_kernels::saxpy); // impl DeviceOperation
        let (a, x, y) = op.await; // Implicitly converts the impl DeviceOperation into a DeviceFuture, and submits it for execution.

        let (a, x, y): (f32, Arc<Tensor<f32>>, Partition<Tensor<f32>>) = (a, x, y);
        assert_eq!(a, 2.0);
        assert_eq!(x.to_host_vec().await, [1.0; 256]);
        assert_eq!(y.unpartition().to_host_vec().await, [3.0; 256]);
    });
}

#[test]
fn unzip_is_the_inverse_of_zip() {
    run(async {
        let a = 2.0;
        let x = api::ones::<f32>([16, 16]).arc();
        let y = api::ones::<f32>([16, 16]).partition([4, 4]);
        let op = zip!(a, x, y).apply(my_kernels::saxpy);
        let (a, x, y) = op.unzip(); // Unzip args after applying saxpy.
        let y = y.unpartition().arc();
        let y: Arc<Tensor<f32>> = y.await; // await just on y.

        drop((a, x));
        assert_eq!(y.to_host_vec().await, [3.0; 256]);
        let (left, right) =
            join(y.to_host_vec().into_future(), y.to_host_vec().into_future()).await;
        assert_eq!(left, right, "an Arc can be an argument of several operations at once");
    });
}

#[test]
fn an_arc_is_unwrapped_when_it_is_the_only_one() {
    run(async {
        let y: Arc<Tensor<f32>> = api::ones::<f32>([16, 16]).arc().await;
        let other = y.clone();
        let y = Arc::try_unwrap(y).unwrap_err();
        drop(other);
        let y: Tensor<f32> = Arc::try_unwrap(y).unwrap();
        assert_eq!(y.shape(), [16, 16]);
    });
}

#[test]
fn scheduling() {
    async fn my_op<T: Send>(z: impl DeviceOperation<Output = T>) -> T {
        let zf: DeviceFuture<_> = z.schedule(global_policy(0));
        let z: T = zf.await;
        z
    }
    run(async {
        let z = my_op(api::ones::<f32>([4])).await;
        assert_eq!(z.device(), Device::default());
    });
}

#[test]
fn scheduling_on_a_device_that_does_not_exist_fails_when_it_runs() {
    let future = api::ones::<f32>([4]).fallible().schedule(global_policy(99));
    let error = run(future).unwrap_err().to_string();
    assert!(error.contains("99") && error.contains(&Device::count().to_string()), "{error}");
}

#[test]
fn efficient_execution() {
    run(async {
        let x: Tensor<f32> = api::ones::<f32>([16, 16]).await;
        let y: Tensor<f32> = api::ones::<f32>([16, 16]).await;
        let z: Tensor<f32> = api::add(x, y).await;
        assert_eq!(z.to_host_vec().await, [2.0; 256]);
    });
    run(async {
        let xf = api::ones::<f32>([16, 16]);
        let yf = api::ones::<f32>([16, 16]);
        let z: Tensor<f32> = api::add(xf, yf).await;
        assert_eq!(z.to_host_vec().await, [2.0; 256]);
    });
}

#[test]
fn join_of_a_tuple_before_await() {
    run(async {
        let (x, y) = (api::ones::<f32>([4]), api::zeros::<f32>([4])).join().await;
        assert_eq!((x.to_host_vec().await, y.to_host_vec().await), (vec![1.0; 4], vec![0.0; 4]));
    });
}

#[test]
fn kernel_launch() {
    run(async {
        let x = api::ones::<f32>([16, 16]);
        let y = api::ones::<f32>([16, 16]);
        let (a, x, y) = saxpy(2.0, x.arc(), y.partition([4, 4])).await;
        assert_eq!((a, x.len()), (2.0, 256));
        assert_eq!(y.unwrap().to_host_vec().await, [3.0; 256]);
    });
}

#[test]
fn arc_and_partition_can_be_called_on_a_tensor() {
    run(async {
        let (x, y) = (api::ones::<f32>([16, 16]).await, api::ones::<f32>([16, 16]).await);
        let (_, x, y) = saxpy(2.0, x.arc(), y.partition([4, 4])).await;
        let y: Arc<Tensor<f32>> = y.arc();
        let (_, _, x) = saxpy(1.0, y, x.partition([8, 8]).unwrap()).await;
        assert_eq!(x.unpartition().to_host_vec().await, [4.0; 256]);
    });
}
