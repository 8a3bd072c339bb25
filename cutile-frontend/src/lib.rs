//! Kernel source to tile IR, for cutile.
