//! Built cutile kernels: what the builder writes and the program finds again.
//!
//! - [`target`]: GPU architectures and PTX versions.
//! - [`abi`]: how a kernel is called.
//!
//! Must not be here: compiling (cutile-compiler), loading or launching (cutile-core), any driver.

pub mod abi;
pub mod target;
