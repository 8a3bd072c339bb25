//! Compiled to `rust.ptx` by `rustc --edition=2024 --crate-type cdylib -O -C panic=abort -C codegen-units=1 --emit=asm
//! --target nvptx64-nvidia-cuda -C target-cpu=sm_80 -C debuginfo=line-directives-only -Zmir-enable-passes=-JumpThreading`,
//! with a core library for the target.

#![no_std]
#![feature(abi_ptx, stdarch_nvptx)]
#![allow(internal_features)]

use core::arch::nvptx::{_block_dim_x, _block_idx_x, _thread_idx_x};

mod rust_programs;
use rust_programs::*;

#[panic_handler]
fn on_panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}

macro_rules! entries {
    ($($entry:ident $program:ident),*) => { $(
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $entry(out: *mut u64) {
            unsafe {
                let t = (_block_idx_x() as u32).wrapping_mul(_block_dim_x() as u32).wrapping_add(_thread_idx_x() as u32);
                *out.add(t as usize) = $program(t);
            }
        }
    )* };
}

entries!(k_shapes shapes, k_sorting sorting, k_recursion recursion, k_pointers pointers, k_wide wide, k_bits bits, k_floats floats, k_bytes bytes);
