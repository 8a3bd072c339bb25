//! The generic address space: windows for shared, local and parameter memory, functions; the rest is global.

use crate::decode::op::Space;

/// First address of shared memory; what is below belongs to nobody, so that null is caught.
pub(crate) const SHARED_START: u32 = 1024;
/// Shared addresses of a block are below this; a cluster's blocks follow one another at this distance.
pub(crate) const SHARED_LIMIT: u32 = 1 << 24;
/// First global address.
pub(crate) const GLOBAL_START: u64 = 0x7000_0000_0000;

const WINDOW: u64 = 1 << 32;
const SHARED_WINDOW: u64 = 0x0000_0100_0000_0000;
const LOCAL_WINDOW: u64 = 0x0000_0200_0000_0000;
const PARAM_WINDOW: u64 = 0x0000_0300_0000_0000;
const FUNCTION_WINDOW: u64 = 0x0000_0400_0000_0000;

/// Address of a function, for indirect calls.
pub(crate) fn function(index: u32) -> u64 {
    FUNCTION_WINDOW + u64::from(index) * 16
}

/// The function at an address.
pub(crate) fn function_index(address: u64) -> Option<u32> {
    let offset = address.checked_sub(FUNCTION_WINDOW)?;
    (offset < WINDOW && offset % 16 == 0).then_some((offset / 16) as u32)
}

/// The state space of a generic address, and the address in it.
#[inline(always)]
pub(crate) fn split(generic: u64) -> (Space, u64) {
    match generic & !(WINDOW - 1) {
        SHARED_WINDOW => (Space::Shared, generic - SHARED_WINDOW),
        LOCAL_WINDOW => (Space::Local, generic - LOCAL_WINDOW),
        PARAM_WINDOW => (Space::Param, generic - PARAM_WINDOW),
        _ => (Space::Global, generic),
    }
}

/// The generic form of an address of `space`.
pub(crate) fn to_generic(space: Space, address: u64) -> u64 {
    match space {
        Space::Shared => SHARED_WINDOW.wrapping_add(address & (WINDOW - 1)),
        Space::Local => LOCAL_WINDOW.wrapping_add(address & (WINDOW - 1)),
        Space::Param => PARAM_WINDOW.wrapping_add(address & (WINDOW - 1)),
        _ => address,
    }
}

/// The form in `space` of a generic address.
pub(crate) fn from_generic(space: Space, generic: u64) -> u64 {
    match space {
        Space::Shared | Space::Local | Space::Param => generic & (WINDOW - 1),
        _ => generic,
    }
}

/// The block of the cluster that a shared address names (none: the executing one), and the offset in its memory.
pub(crate) fn shared_owner(address: u32) -> (Option<u32>, u32) {
    let rank = address / SHARED_LIMIT;
    (rank.checked_sub(1), address % SHARED_LIMIT)
}

/// The address in the cluster's window of an offset in block `rank`.
pub(crate) fn shared_of(rank: u32, address: u32) -> u32 {
    (rank.wrapping_add(1)).wrapping_mul(SHARED_LIMIT) | (address % SHARED_LIMIT)
}
