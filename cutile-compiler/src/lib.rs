//! Tile IR to PTX through rustc, for cutile.
