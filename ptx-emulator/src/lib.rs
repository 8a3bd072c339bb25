//! Runs PTX on the CPU, checked more strictly than any GPU checks it.
//!
//! No CUDA toolkit, no driver, no GPU. A kernel's memory accesses are checked for bounds, alignment, use after free and
//! initialisation; shared and global memory for races between threads; barriers and warp-wide instructions for
//! divergence. What is wrong is reported with thread, PTX line, and source line where the PTX has `.loc` directives.
//!
//! ```
//! use std::sync::Arc;
//! use ptx_emulator::{Launch, Memory, Module, Options};
//!
//! let module = Module::parse(
//!     ".version 8.0
//!      .target sm_80
//!      .address_size 64
//!      .visible .entry fill(.param .u64 out) {
//!          .reg .b32 %r<2>; .reg .b64 %rd<4>;
//!          mov.u32 %r1, %tid.x;
//!          ld.param.u64 %rd1, [out];
//!          mul.wide.u32 %rd2, %r1, 4;
//!          add.s64 %rd3, %rd1, %rd2;
//!          st.global.u32 [%rd3], %r1;
//!          ret;
//!      }",
//! )?;
//! let memory = Arc::new(Memory::new());
//! let program = module.load(&memory)?;
//! let out = memory.alloc(64 * 4)?;
//! program.launch("fill", &Launch::new([1, 1, 1], [64, 1, 1]), &out.to_le_bytes(), &Options::default())?;
//! let mut bytes = [0; 4];
//! memory.read(out + 17 * 4, &mut bytes)?;
//! assert_eq!(u32::from_le_bytes(bytes), 17);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod check;
mod decode;
mod exec;
mod memory;
mod module;
mod num;
mod parse;
mod report;
mod tensor_map;

pub use exec::{Checks, Launch, Options, Stats};
pub use memory::{Memory, MemoryError};
pub use module::{Entry, Module, Program, Unwaited};
pub use parse::ParseError;
pub use report::{FaultKind, Report, Source, ThreadId};
pub use tensor_map::{ElementType, Swizzle, TensorMap, TensorMapError};
