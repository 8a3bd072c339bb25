//! The kernel language through the whole stack: macro, launcher, host device. What each construct means is tested beside the
//! front end; here is what only the whole can show.

mod launchers;
mod modules;
mod numbers;
mod shapes;
