//! Aligned memory of the system, zeroed without being touched.
//!
//! The system gives large zeroed pieces as pages that cost nothing until they are used, but only
//! where no more than its own alignment is asked for. So pieces are made a little larger and their
//! start is moved; the distance stands in the eight bytes before it.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

/// Alignment of everything allocated on a host device, as on CUDA.
pub(super) const ALIGNMENT: usize = 256;

/// What the system aligns to by itself; no less than the distance's size.
const NATURAL: usize = 16;

fn layout(bytes: usize) -> Option<Layout> {
    Layout::from_size_align(bytes.checked_add(ALIGNMENT)?, NATURAL).ok()
}

/// Zeroed memory aligned to 256; `None` if there is none.
pub(super) fn allocate(bytes: usize) -> Option<NonNull<u8>> {
    // SAFETY: the size is not 0.
    let start = NonNull::new(unsafe { alloc_zeroed(layout(bytes)?) })?;
    let distance = ALIGNMENT - start.addr().get() % ALIGNMENT;
    // SAFETY: the distance is a multiple of 16 from 16 to 256, so the piece, of `bytes`, and the
    // eight aligned bytes before it lie in what was allocated.
    unsafe {
        let piece = start.add(distance);
        piece.cast::<usize>().sub(1).write(distance);
        Some(piece)
    }
}

/// Gives back what `allocate` gave.
///
/// # Safety
/// `piece` came from `allocate(bytes)` and nothing uses it any more.
pub(super) unsafe fn release(piece: NonNull<u8>, bytes: usize) {
    if let Some(layout) = layout(bytes) {
        // SAFETY: the distance to the start stands before the piece; allocated with this layout.
        unsafe {
            let distance = piece.cast::<usize>().sub(1).read();
            dealloc(piece.sub(distance).as_ptr(), layout);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_aligned_zeroed_and_apart() {
        let sizes = [1, 255, 256, 4096, 1 << 20];
        let pieces: Vec<_> = sizes.iter().map(|bytes| allocate(*bytes).unwrap()).collect();
        for (piece, bytes) in pieces.iter().zip(sizes) {
            assert_eq!(piece.addr().get() % ALIGNMENT, 0);
            // SAFETY: the piece has that many bytes.
            let slice = unsafe { std::slice::from_raw_parts_mut(piece.as_ptr(), bytes) };
            assert!(slice.iter().all(|byte| *byte == 0));
            slice.fill(0xff);
        }
        for (piece, bytes) in pieces.into_iter().zip(sizes) {
            // SAFETY: allocated with this size, not used any more.
            unsafe { release(piece, bytes) };
        }
        assert!(allocate(usize::MAX - 8).is_none());
    }
}
