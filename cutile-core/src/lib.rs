//! Tensors, launches and the kernel vocabulary of cutile.
