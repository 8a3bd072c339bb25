//! Matrix instructions of one warp. Every lane takes part.

pub use super::intrinsics::{load_matrix, load_matrix_transposed, mma_bf16, mma_f16, mma_tf32};
