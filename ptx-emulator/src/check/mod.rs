//! What checks need beyond the state of a run: logical clocks, for each byte who accessed it last, and the paths that no
//! thread took.

pub(crate) mod clock;
pub(crate) mod dependency;
pub(crate) mod shadow;
