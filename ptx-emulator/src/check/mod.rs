//! What is needed to find races: logical clocks, and for each byte who accessed it last.

pub(crate) mod clock;
pub(crate) mod shadow;
