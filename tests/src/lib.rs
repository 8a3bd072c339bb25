//! What the tests share.

use std::future::IntoFuture;

#[cfg(doctest)]
pub mod documents;
pub mod registry;

/// Runs a future to its end on an executor that knows nothing of any device.
pub fn run<F: IntoFuture>(future: F) -> F::Output {
    let executor = async_executor::LocalExecutor::new();
    futures_lite::future::block_on(executor.run(future.into_future()))
}
