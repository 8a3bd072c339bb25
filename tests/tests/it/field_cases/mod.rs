//! Failures that users of other systems have reported, tried here: right values through the whole stack. The name of a test
//! begins with the number of its case. Cases that another test covers:
//!
//! | case | what | where |
//! | --- | --- | --- |
//! | 8, 19 | logic on bools; true becomes 1 | `language/numbers.rs`: `bools_are_logical` |
//! | 11 | consts of one name in two modules | `language/modules.rs`: `consts_of_two_modules_of_one_name_stay_apart` |
//! | 14 | a generic function inside a kernel | `language/modules.rs`: `a_generic_helper_may_stand_inside_a_kernel` |
//! | 28 | f32 products stay f32 | `language/numbers.rs`: `f32_products_stay_f32` |
//! | 29 | one program a row, 100 times | `language/shapes.rs`: `one_program_a_row_gives_the_same_every_time` |
//! | 30 | reductions of an axis of 1 | `language/shapes.rs`: `reductions_of_an_axis_of_one_element` |
//! | 41 | creation of empty tensors | `tensors.rs`: `empty_tensors_are_tensors` |
//! | 44 | another element type than the kernel's | `tests/ui/launch_types.rs`: it does not compile |
//! | 47 | positions in a grid of three axes | `language/shapes.rs`: `every_program_knows_its_position` |
//! | 50 | a thousand aborted tasks | `cuda-async/tests/it/drop_in_flight.rs`: `aborting_a_thousand_tasks_corrupts_and_leaks_nothing` |
//! | 51 | a trap resolves all who wait | `cuda-async/tests/it/reactor.rs`, `cuda-async/tests/gpu/fault.rs` |
//! | 53 | blocking, and panics, inside closures | `cuda-async/tests/it/threads.rs`: `blocking_inside_a_closure_works` |
//! | 55 | threads that come and go | `cuda-async/tests/it/threads.rs`: `many_threads_make_streams_and_await_for_many_rounds` |
//! | 56 | a policy of one's own is kept | `cuda-async/tests/it/schedule.rs`: `a_custom_global_policy_is_kept` |
//! | 63 | writing needs the only handle | also `tensors.rs`: `an_arc_is_writable_only_while_it_is_the_only_one` |
//! | 64 | to another device and back | `devices.rs`: `a_tensor_goes_to_another_device_and_back` |
//! | 65 | a launch on the second device alone | `devices.rs`: `a_kernel_runs_where_its_arguments_are` |
//!
//! Cases about what is not built yet: 34 and 35 (atomics), 58, 60 and 61 (graphs), 66 to 69 (tuning).

use cutile::HostElement;
use cutile::prelude::*;

mod control;
mod numbers;
mod runtime;
mod shapes;

/// What a partition's tensor holds.
fn host<T: HostElement>(y: Partition<Tensor<T>>) -> Vec<T> {
    y.unpartition().into_host_vec().sync().expect("what a launch that succeeded has written")
}

/// The text of a fault in a kernel. On a host device: there the device survives it.
fn fault<T: Send>(launch: impl DeviceOperation<Output = T>) -> String {
    let stream = Device::host(0).new_stream().expect("there is always a host device");
    match launch.sync_on(&stream) {
        Ok(_) => panic!("the kernel should have failed"),
        Err(error) => error.to_string(),
    }
}
