//! Everything that Rust has no word for: PTX instructions, and LLVM intrinsics for what must stay convergent.
//!
//! `pure` stands only on what concerns one lane and no memory that another may write.

use core::arch::asm;

// Barriers and shuffles are LLVM intrinsics, never `asm!`: only so are they convergent for LLVM.
unsafe extern "C" {
    #[link_name = "llvm.nvvm.barrier.cta.sync.aligned.all"]
    fn nvvm_barrier_all(id: u32);
    #[link_name = "llvm.nvvm.bar.warp.sync"]
    fn nvvm_warp_sync(mask: u32);
    #[link_name = "llvm.nvvm.shfl.sync.bfly.i32"]
    fn nvvm_shuffle_xor(mask: u32, value: u32, lane: u32, clamp: u32) -> u32;
}

// Not `asm!` either: LLVM folds constants and signs into them.
unsafe extern "C" {
    #[link_name = "llvm.fma.f32"]
    fn llvm_fma_f32(a: f32, b: f32, c: f32) -> f32;
    #[link_name = "llvm.fma.f64"]
    fn llvm_fma_f64(a: f64, b: f64, c: f64) -> f64;
}

/// Waits for every thread of the block; what they wrote before is seen after.
///
/// # Safety
/// Every thread of the block arrives.
#[inline(always)]
pub unsafe fn barrier() {
    // SAFETY: the caller's promise.
    unsafe { nvvm_barrier_all(0) }
}

/// Brings the lanes of a warp together.
///
/// # Safety
/// Every lane of the warp arrives.
#[inline(always)]
pub unsafe fn warp_sync() {
    // SAFETY: the caller's promise.
    unsafe { nvvm_warp_sync(!0) }
}

/// The value of the lane whose number differs by `mask`.
///
/// # Safety
/// Every lane of the warp arrives.
#[inline(always)]
pub unsafe fn shuffle_xor(value: u32, mask: u32) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { nvvm_shuffle_xor(!0, value, mask, 31) }
}

/// Ends the whole launch with an error. Not `noreturn`: LLVM would drop the check that leads here.
#[inline(always)]
pub fn trap() {
    // SAFETY: does not return to the program in any way that it could observe.
    unsafe { asm!("trap;", options(nostack)) }
}

/// Waits for the launch before this one in a chain of dependent launches.
#[inline(always)]
pub fn wait_for_dependencies() {
    // SAFETY: a wait.
    unsafe { asm!("griddepcontrol.wait;", options(nostack)) }
}

/// Lets the launch after this one in a chain of dependent launches begin.
#[inline(always)]
pub fn launch_dependents() {
    // SAFETY: a hint to the scheduler of launches.
    unsafe { asm!("griddepcontrol.launch_dependents;", options(nostack)) }
}

/// An instruction from one type's register to another's.
macro_rules! one_operand {
    ($($(#[$doc:meta])* $name:ident($in:ident $from:ident) -> $out:ident $to:ident = $text:literal;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name(x: $from) -> $to {
            let y;
            // SAFETY: arithmetic on registers.
            unsafe {
                asm!(concat!($text, " {0}, {1};"), lateout($out) y, in($in) x,
                    options(pure, nomem, nostack));
            }
            y
        }
    )*};
}
one_operand! {
    /// 2^x, to 2 ulp.
    exp2_approx_f32(reg32 f32) -> reg32 f32 = "ex2.approx.f32";
    /// 1 / sqrt(x), to 2 ulp.
    rsqrt_approx_f32(reg32 f32) -> reg32 f32 = "rsqrt.approx.f32";
    /// 1 / x, to 1 ulp.
    rcp_approx_f32(reg32 f32) -> reg32 f32 = "rcp.approx.f32";
    /// Correctly rounded square root.
    sqrt_f32(reg32 f32) -> reg32 f32 = "sqrt.rn.f32";
    /// Toward minus infinity.
    floor_f32(reg32 f32) -> reg32 f32 = "cvt.rmi.f32.f32";
    /// Toward plus infinity.
    ceil_f32(reg32 f32) -> reg32 f32 = "cvt.rpi.f32.f32";
    /// Toward zero.
    trunc_f32(reg32 f32) -> reg32 f32 = "cvt.rzi.f32.f32";
    /// To the nearest integer, halves to even.
    round_even_f32(reg32 f32) -> reg32 f32 = "cvt.rni.f32.f32";
    /// Correctly rounded square root.
    sqrt_f64(reg64 f64) -> reg64 f64 = "sqrt.rn.f64";
    /// Toward minus infinity.
    floor_f64(reg64 f64) -> reg64 f64 = "cvt.rmi.f64.f64";
    /// Toward plus infinity.
    ceil_f64(reg64 f64) -> reg64 f64 = "cvt.rpi.f64.f64";
    /// Toward zero.
    trunc_f64(reg64 f64) -> reg64 f64 = "cvt.rzi.f64.f64";
    /// To the nearest integer, halves to even.
    round_even_f64(reg64 f64) -> reg64 f64 = "cvt.rni.f64.f64";
    /// Exact.
    f32_from_f16(reg16 u16) -> reg32 f32 = "cvt.f32.f16";
    /// To nearest, ties to even.
    f16_from_f32(reg32 f32) -> reg16 u16 = "cvt.rn.f16.f32";
    /// To nearest, ties to even.
    bf16_from_f32(reg32 f32) -> reg16 u16 = "cvt.rn.bf16.f32";
}

/// An instruction of two operands of one type.
macro_rules! two_operands {
    ($($(#[$doc:meta])* $name:ident($reg:ident $ty:ident) = $text:literal;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name(a: $ty, b: $ty) -> $ty {
            let y;
            // SAFETY: arithmetic on registers.
            unsafe {
                asm!(concat!($text, " {0}, {1}, {2};"), lateout($reg) y, in($reg) a, in($reg) b,
                    options(pure, nomem, nostack));
            }
            y
        }
    )*};
}
two_operands! {
    /// The number that is one, and +0.0 is larger than -0.0.
    max_f32(reg32 f32) = "max.f32";
    /// The number that is one, and -0.0 is smaller than +0.0.
    min_f32(reg32 f32) = "min.f32";
    /// The number that is one, and +0.0 is larger than -0.0.
    max_f64(reg64 f64) = "max.f64";
    /// The number that is one, and -0.0 is smaller than +0.0.
    min_f64(reg64 f64) = "min.f64";
}

/// Two numbers to a pair of halves, the first in the low one.
macro_rules! pair {
    ($($name:ident = $text:literal;)*) => {$(
        /// Two numbers to nearest, ties to even; the first in the low half.
        #[inline(always)]
        pub fn $name(low: f32, high: f32) -> u32 {
            let y;
            // SAFETY: arithmetic on registers.
            unsafe {
                asm!(concat!($text, " {0}, {1}, {2};"), lateout(reg32) y, in(reg32) high, in(reg32) low,
                    options(pure, nomem, nostack));
            }
            y
        }
    )*};
}
pair! {
    f16_pair_from_f32 = "cvt.rn.f16x2.f32";
    bf16_pair_from_f32 = "cvt.rn.bf16x2.f32";
}

/// a b + c, rounded once.
#[inline(always)]
pub fn fma_f32(a: f32, b: f32, c: f32) -> f32 {
    // SAFETY: arithmetic on registers.
    unsafe { llvm_fma_f32(a, b, c) }
}

/// a b + c, rounded once.
#[inline(always)]
pub fn fma_f64(a: f64, b: f64, c: f64) -> f64 {
    // SAFETY: arithmetic on registers.
    unsafe { llvm_fma_f64(a, b, c) }
}

/// Global memory under a condition, without a branch: lanes never part, and many accesses are in flight at once.
macro_rules! global_if {
    ($($load:ident $store:ident($reg:ident $ty:ident) = $suffix:literal;)*) => {$(
        /// Reads where `present`; `other` elsewhere.
        ///
        /// # Safety
        /// Where `present`, the address is readable and aligned.
        #[inline(always)]
        pub unsafe fn $load(address: u64, present: bool, other: $ty) -> $ty {
            let mut value = other;
            // SAFETY: the caller's promise.
            unsafe {
                asm!(
                    concat!("{{ .reg .pred p; setp.ne.u32 p, {1}, 0; @p ld.global.", $suffix, " {0}, [{2}]; }}"),
                    inout($reg) value, in(reg32) present as u32, in(reg64) address,
                    options(readonly, nostack),
                );
            }
            value
        }

        /// Writes where `present`.
        ///
        /// # Safety
        /// Where `present`, the address is writable and aligned.
        #[inline(always)]
        pub unsafe fn $store(address: u64, present: bool, value: $ty) {
            // SAFETY: the caller's promise.
            unsafe {
                asm!(
                    concat!("{{ .reg .pred p; setp.ne.u32 p, {1}, 0; @p st.global.", $suffix, " [{2}], {0}; }}"),
                    in($reg) value, in(reg32) present as u32, in(reg64) address,
                    options(nostack),
                );
            }
        }
    )*};
}
global_if! {
    load_global_b8_if store_global_b8_if(reg32 u32) = "u8";
    load_global_b16_if store_global_b16_if(reg16 u16) = "b16";
    load_global_b32_if store_global_b32_if(reg32 u32) = "b32";
    load_global_b64_if store_global_b64_if(reg64 u64) = "b64";
}

/// Reads 16 bytes where `present`; `other` elsewhere.
///
/// # Safety
/// Where `present`, the address is readable and aligned.
#[inline(always)]
pub unsafe fn load_global_v4_if(address: u64, present: bool, other: [u32; 4]) -> [u32; 4] {
    let [mut a, mut b, mut c, mut d] = other;
    // SAFETY: the caller's promise.
    unsafe {
        asm!(
            "{{ .reg .pred p; setp.ne.u32 p, {4}, 0; @p ld.global.v4.b32 {{{0}, {1}, {2}, {3}}}, [{5}]; }}",
            inout(reg32) a, inout(reg32) b, inout(reg32) c, inout(reg32) d,
            in(reg32) present as u32, in(reg64) address,
            options(readonly, nostack),
        );
    }
    [a, b, c, d]
}

/// Writes 16 bytes where `present`.
///
/// # Safety
/// Where `present`, the address is writable and aligned.
#[inline(always)]
pub unsafe fn store_global_v4_if(address: u64, present: bool, value: [u32; 4]) {
    let [a, b, c, d] = value;
    // SAFETY: the caller's promise.
    unsafe {
        asm!(
            "{{ .reg .pred p; setp.ne.u32 p, {4}, 0; @p st.global.v4.b32 [{5}], {{{0}, {1}, {2}, {3}}}; }}",
            in(reg32) a, in(reg32) b, in(reg32) c, in(reg32) d,
            in(reg32) present as u32, in(reg64) address,
            options(nostack),
        );
    }
}

/// Shared memory: addresses are 32 bits wide, in the window of the block.
macro_rules! shared {
    ($($load:ident $store:ident($reg:ident $ty:ident) = $suffix:literal;)*) => {$(
        /// Reads shared memory.
        ///
        /// # Safety
        /// The address is inside the block's shared memory and aligned.
        #[inline(always)]
        pub unsafe fn $load(address: u32) -> $ty {
            let value;
            // SAFETY: the caller's promise.
            unsafe {
                asm!(concat!("ld.shared.", $suffix, " {0}, [{1}];"), lateout($reg) value,
                    in(reg32) address, options(readonly, nostack));
            }
            value
        }

        /// Writes shared memory.
        ///
        /// # Safety
        /// The address is inside the block's shared memory and aligned.
        #[inline(always)]
        pub unsafe fn $store(address: u32, value: $ty) {
            // SAFETY: the caller's promise.
            unsafe {
                asm!(concat!("st.shared.", $suffix, " [{1}], {0};"), in($reg) value,
                    in(reg32) address, options(nostack));
            }
        }
    )*};
}
shared! {
    load_shared_b8 store_shared_b8(reg32 u32) = "u8";
    load_shared_b16 store_shared_b16(reg16 u16) = "b16";
    load_shared_b32 store_shared_b32(reg32 u32) = "b32";
    load_shared_b64 store_shared_b64(reg64 u64) = "b64";
}

/// Reads 16 bytes of shared memory.
///
/// # Safety
/// The address is inside the block's shared memory and aligned.
#[inline(always)]
pub unsafe fn load_shared_v4(address: u32) -> [u32; 4] {
    let (a, b, c, d);
    // SAFETY: the caller's promise.
    unsafe {
        asm!(
            "ld.shared.v4.b32 {{{0}, {1}, {2}, {3}}}, [{4}];",
            lateout(reg32) a, lateout(reg32) b, lateout(reg32) c, lateout(reg32) d,
            in(reg32) address,
            options(readonly, nostack),
        );
    }
    [a, b, c, d]
}

/// Writes 16 bytes of shared memory.
///
/// # Safety
/// The address is inside the block's shared memory and aligned.
#[inline(always)]
pub unsafe fn store_shared_v4(address: u32, value: [u32; 4]) {
    let [a, b, c, d] = value;
    // SAFETY: the caller's promise.
    unsafe {
        asm!(
            "st.shared.v4.b32 [{4}], {{{0}, {1}, {2}, {3}}};",
            in(reg32) a, in(reg32) b, in(reg32) c, in(reg32) d, in(reg32) address,
            options(nostack),
        );
    }
}

/// Writes shared memory where `present`.
///
/// # Safety
/// Where `present`, the address is inside the block's shared memory and aligned.
#[inline(always)]
pub unsafe fn store_shared_b32_if(address: u32, present: bool, value: u32) {
    // SAFETY: the caller's promise.
    unsafe {
        asm!(
            "{{ .reg .pred p; setp.ne.u32 p, {1}, 0; @p st.shared.b32 [{2}], {0}; }}",
            in(reg32) value, in(reg32) present as u32, in(reg32) address,
            options(nostack),
        );
    }
}

/// Starts a copy of 16 bytes from global to shared memory, of which the first `bytes` are read and the others are zero.
///
/// # Safety
/// Both addresses are aligned to 16; `bytes` is at most 16 and so many are readable.
#[inline(always)]
pub unsafe fn copy_async_16(to: u32, from: u64, bytes: u32) {
    // SAFETY: the caller's promise.
    unsafe {
        asm!("cp.async.cg.shared.global [{0}], [{1}], 16, {2};", in(reg32) to, in(reg64) from,
            in(reg32) bytes, options(nostack));
    }
}

/// Closes the group of the copies started since the last one.
#[inline(always)]
pub fn copy_commit() {
    // SAFETY: bookkeeping of this thread's copies.
    unsafe { asm!("cp.async.commit_group;", options(nostack)) }
}

/// Waits until at most `PENDING` of this thread's newest groups are unfinished.
#[inline(always)]
pub fn copy_wait<const PENDING: u32>() {
    // SAFETY: a wait.
    unsafe { asm!("cp.async.wait_group {0};", const PENDING, options(nostack)) }
}

/// Reads four matrices of 8 x 8 halves from shared memory: lane i gives the address of row i % 8 of matrix i / 8, and gets
/// two neighbours of row i / 4 of each.
macro_rules! load_matrix {
    ($($(#[$doc:meta])* $name:ident = $suffix:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// Every lane of the warp arrives; addresses are inside shared memory and aligned to 16.
        #[inline(always)]
        pub unsafe fn $name(address: u32) -> [u32; 4] {
            let (a, b, c, d);
            // SAFETY: the caller's promise.
            unsafe {
                asm!(
                    concat!("ldmatrix.sync.aligned.m8n8.x4.", $suffix, " {{{0}, {1}, {2}, {3}}}, [{4}];"),
                    lateout(reg32) a, lateout(reg32) b, lateout(reg32) c, lateout(reg32) d,
                    in(reg32) address,
                    options(readonly, nostack),
                );
            }
            [a, b, c, d]
        }
    )*};
}
load_matrix! {
    /// Four 8 x 8 matrices of halves.
    load_matrix = "shared.b16";
    /// Four 8 x 8 matrices of halves, each transposed.
    load_matrix_transposed = "trans.shared.b16";
}

/// d += a b for a block of 16 x 8 accumulators.
macro_rules! mma {
    ($($(#[$doc:meta])* $name:ident = $shape:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// Every lane of the warp arrives.
        #[inline(always)]
        pub unsafe fn $name(
            d0: &mut f32,
            d1: &mut f32,
            d2: &mut f32,
            d3: &mut f32,
            [a0, a1, a2, a3]: [u32; 4],
            [b0, b1]: [u32; 2],
        ) {
            // SAFETY: the caller's promise.
            unsafe {
                asm!(
                    concat!("mma.sync.aligned.", $shape, " {{{0}, {1}, {2}, {3}}}, {{{4}, {5}, {6}, {7}}}, {{{8}, {9}}}, {{{0}, {1}, {2}, {3}}};"),
                    inout(reg32) *d0, inout(reg32) *d1, inout(reg32) *d2, inout(reg32) *d3,
                    in(reg32) a0, in(reg32) a1, in(reg32) a2, in(reg32) a3,
                    in(reg32) b0, in(reg32) b1,
                    options(nomem, nostack),
                );
            }
        }
    )*};
}
mma! {
    /// 16 x 16 by 16 x 8 bf16 into f32.
    mma_bf16 = "m16n8k16.row.col.f32.bf16.bf16.f32";
    /// 16 x 16 by 16 x 8 f16 into f32.
    mma_f16 = "m16n8k16.row.col.f32.f16.f16.f32";
    /// 16 x 8 by 8 x 8 tf32 into f32.
    mma_tf32 = "m16n8k8.row.col.f32.tf32.tf32.f32";
}
