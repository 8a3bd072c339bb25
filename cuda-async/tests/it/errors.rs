//! Wrong use: an error that names what was given, and a device that goes on.

use cuda_async::prelude::*;

use crate::support::{block_on, device, duplicate, increment};

#[test]
fn a_device_that_does_not_exist_is_named_with_the_count() {
    let error = upload(vec![1]).schedule(global_policy(17)).sync().unwrap_err();
    let text = error.to_string();
    assert!(text.contains("host:17") || text.contains("cuda:17"), "{text}");
    assert!(text.contains(&Device::count().to_string()), "{text}");
    assert!(matches!(error.kind(), ErrorKind::NoSuchDevice { .. }));
}

#[test]
fn unwrap_and_main_print_the_text() {
    let error = value(1).schedule(global_policy(17)).sync().unwrap_err();
    assert_eq!(format!("{error:?}"), error.to_string());
    let outer: Result<(), DeviceError> = Err(error.clone());
    assert_eq!(format!("{outer:?}"), format!("Err({error})"));
    assert!(format!("{error:#?}").contains("NoSuchDevice {"), "{error:#?}");
}

#[test]
fn the_failure_comes_when_the_operation_runs() {
    let future = value(1).schedule(global_policy(17));
    assert!(future.sync().is_err());
    let result = block_on(value(1).fallible().schedule(global_policy(17)));
    assert!(matches!(result.unwrap_err().kind(), ErrorKind::NoSuchDevice { .. }));
    let result = block_on(value(1).recover().map(|r| r).schedule(global_policy(17)));
    assert!(result.unwrap_err().to_string().contains("17"));
}

#[test]
fn data_of_another_device_is_refused() {
    let (here, there) = (device(), device());
    let (s, t) = (here.new_stream().unwrap(), there.new_stream().unwrap());
    let x = upload(vec![1, 2]).sync_on(&s).unwrap();
    let error = duplicate(x.clone()).sync_on(&t).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::WrongDevice { .. }), "{error}");
    assert!(error.to_string().contains("copy_to"), "{error}");
    // What the caller still holds stays usable.
    assert_eq!(download(x).sync_on(&s).unwrap(), [1, 2]);
}

#[test]
fn operations_follow_their_data_by_default() {
    let there = device();
    let x = upload(vec![1, 2]).sync_on(&there.new_stream().unwrap()).unwrap();
    // No stream is named: the device of the input decides.
    assert_eq!(download(x.clone()).sync().unwrap(), [1, 2]);
    assert_eq!(zip((x, 1)).apply(|x: Buffer, _n: i32| download(x)).sync().unwrap(), [1, 2]);
}

#[test]
fn ranges_are_checked_without_wrapping() {
    let stream = device().new_stream().unwrap();
    let x = upload(vec![1, 2]).sync_on(&stream).unwrap();
    for (offset, bytes) in [(0, 3), (3, 0), (2, 1), (usize::MAX, 2), (1, usize::MAX)] {
        let x = x.clone();
        let op = with_context(move |ctx| ctx.copy_to_host(&x, offset, bytes).map(|_| ()));
        let error = op.sync_on(&stream).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::OutOfRange { .. }), "{error}");
    }
    let overlapping = {
        let x = x.clone();
        with_context(move |ctx| ctx.copy(&x, 0, &x, 1, 1).and(ctx.copy(&x, 0, &x, 0, 2)))
    };
    assert!(overlapping.sync_on(&stream).is_err());
    let odd = with_context(move |ctx| ctx.fill(&x, 1, 0, 4, 0)).sync_on(&stream);
    assert!(odd.is_err());
}

#[test]
fn awaiting_a_failure_panics_with_its_text() {
    let panic = std::panic::catch_unwind(|| {
        block_on(async { upload(vec![1]).schedule(global_policy(17)).await })
    })
    .unwrap_err();
    let text = panic.downcast_ref::<String>().unwrap();
    assert!(text.contains("17") && text.contains("fallible"), "{text}");
}

#[test]
fn errors_of_layers_above_keep_their_type() {
    #[derive(Debug, thiserror::Error)]
    #[error("shape {0:?} does not fit")]
    struct Shape(Vec<usize>);
    let op = with_context(|_| Err::<(), _>(DeviceError::new(Shape(vec![2, 3]))));
    let error = op.sync().unwrap_err();
    assert_eq!(error.to_string(), "shape [2, 3] does not fit");
    assert_eq!(error.downcast_ref::<Shape>().unwrap().0, [2, 3]);
}

#[test]
fn an_operation_that_fails_leaves_the_stream_usable() {
    let stream = device().new_stream().unwrap();
    let x = upload(vec![1]).sync_on(&stream).unwrap();
    let failing = increment(x.clone()).then(|_| {
        with_context(|_| -> Result<(), DeviceError> { Err(DeviceError::new(std::fmt::Error)) })
    });
    assert!(failing.sync_on(&stream).is_err());
    assert_eq!(increment(x).then(download).sync_on(&stream).unwrap(), [3]);
}
