//! The attributes `#[cutile::module]` and `#[cutile::entry]`.
