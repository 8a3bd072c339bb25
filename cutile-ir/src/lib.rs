//! The tile IR of cutile: types, operations, text form, verifier.
