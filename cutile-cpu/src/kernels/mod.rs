//! What each operation does to elements: the definition that the whole backend shares. Scalars use
//! the same kernels as tiles, one element at a time.

pub(crate) mod arith;
mod block;
mod float;
pub(crate) mod lane;
pub(crate) mod map;
pub(crate) mod mma;
pub(crate) mod reduce;
pub(crate) mod rows;
