//! Runs cutile's tile IR on the CPU: the definition of every operation, and the backend of machines
//! without a GPU.
//!
//! A [`Program`] is a specialised kernel, prepared once: elementwise operations are put together in
//! groups that run chunk by chunk in the first-level cache, tiles share memory, loads are read from
//! the tensor in place. [`Program::run`] then runs it for every position of a grid, over all cores.
//!
//! ```
//! use cutile_cpu::{Arg, Program, TensorArg};
//! use cutile_ir::{Element, Module, Specialisation, specialise};
//!
//! let module = Module::parse(
//!     "entry @double(%x: partitioned f32[?] by [4]) {
//!         %v = partition %x : view f32[4]
//!         %i = program_id 0 : i32
//!         %t = load %v [%i] clip : f32[4]
//!         %d = binary add %t %t : f32[4]
//!         store %d %v [%i]
//!         yield
//!     }",
//! )?;
//! let kernel = specialise(&module, &Specialisation::default()).map_err(|e| e[0].to_string())?;
//! let program = Program::new(&kernel)?;
//! let mut x = [1.0f32, 2.0, 3.0, 4.0, 5.0];
//! let args = [Arg::from(TensorArg::contiguous(x.as_mut_ptr().cast(), Element::F32, &[5]))];
//! // SAFETY: `x` is the tensor's memory, and nothing else uses it meanwhile.
//! unsafe { program.run(&args, &[2], 1)? };
//! assert_eq!(x, [2.0, 4.0, 6.0, 8.0, 10.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Nothing here knows devices, streams or allocations; the caller brings addresses.

mod args;
mod exec;
mod fault;
mod kernels;
mod launch;
mod plan;

pub use args::{Arg, ArgumentError, Axes64, Scalar, TensorArg};
pub use fault::{Fault, FaultKind, PrepareError, RunError, SourceLocation};
pub use launch::{Program, max_threads};
