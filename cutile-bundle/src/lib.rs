//! Built cutile kernels: keys, manifest, embedding, lookup.
