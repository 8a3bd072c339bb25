//! Runs PTX on the CPU with memory, race and initialisation checks.
