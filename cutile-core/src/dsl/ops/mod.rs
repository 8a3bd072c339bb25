//! Functions of the vocabulary, by family. Each is a name and a type; what it computes is said in its documentation and
//! defined by the tile IR.

pub mod arith;
pub mod compare;
pub mod create;
pub mod memory;
pub mod program;
pub mod reduce;
pub mod shape;

pub use arith::*;
pub use compare::*;
pub use create::*;
pub use memory::*;
pub use program::*;
pub use reduce::*;
pub use shape::*;

/// Declares vocabulary functions: `fn name [generics] (arguments) -> result where [bounds];`
macro_rules! vocabulary {
    ($(
        $(#[$meta:meta])*
        fn $name:ident [$($generics:tt)*] ($($arg:ident : $ty:ty),* $(,)?) $(-> $result:ty)? $(where [$($bounds:tt)*])?;
    )*) => { $(
        $(#[$meta])*
        pub fn $name<$($generics)*>($($arg: $ty),*) $(-> $result)? $(where $($bounds)*)? {
            $(let _ = $arg;)*
            crate::dsl::kernel_only()
        }
    )* };
}
pub(crate) use vocabulary;
