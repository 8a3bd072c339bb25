//! Finds a program's cutile kernels and builds them.
