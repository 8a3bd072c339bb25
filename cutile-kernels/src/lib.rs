//! Kernels and tensor functions of cutile, written in its own language.
