//! Lazy, composable GPU operations on streams, awaited from any async runtime or blocked on with none.

pub mod driver;
