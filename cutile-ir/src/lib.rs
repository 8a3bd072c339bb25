//! The tile IR: what a kernel is between its source and its machine code.
//!
//! A [`Module`] holds [`Function`]s over *tiles*. A tile program runs once for each position of a
//! grid; it loads tiles of tensors, computes on whole tiles, and stores tiles. Extents are symbolic
//! ([`Dim`]) until [`specialise`](crate::specialise()) makes them numbers and puts helper functions in place.
//!
//! # Semantics
//!
//! - **Values** are defined once. A scalar is the same for the whole program; a tile has an extent
//!   and, for each axis, a *valid length* of at most that extent. A load clips valid lengths at the
//!   tensor's edge; elementwise operations take the minimum over their tile operands; reductions
//!   use valid lanes only; stores write lanes that are valid and inside the tensor. Each operation's
//!   documentation says its rule. Invalid lanes never fault and hold no defined value.
//! - **Order.** Loads, stores and checks happen in program order. Programs of one grid are not
//!   ordered among each other.
//! - **Faults** end the launch: a tile index outside the view, an integer division by zero, a failed
//!   assertion. A block that is not entered faults nothing.
//! - **Integers** wrap; **floats** are IEEE-754 with no reassociation unless the function says
//!   `fast_math`. Reductions and `mma` choose an order, fixed for one compiled kernel.
//!
//! `cutile-cpu` is the executable definition. This crate knows no source language and no target.

pub mod blob;
mod build;
pub mod dim;
pub mod element;
pub mod infer;
mod link;
pub mod module;
pub mod op;
pub mod parse;
pub mod print;
mod specialise;
pub mod types;
pub mod verify;
mod visit;

pub use build::FunctionBuilder;
pub use dim::{ConstParam, Dim, DimOp, ExternConst, Shape};
pub use element::{Element, ElementClass, ElementType, TypeParam};
pub use link::{LinkError, link};
pub use module::{
    Block, ConstKind, ConstParamDecl, Function, FunctionKind, ImportId, Loc, Module, Op, Param,
    ParamRole, Value, ValueInfo,
};
pub use op::OpKind;
pub use parse::ParseError;
pub use specialise::{ArgumentError, ConstValue, Kernel, Specialisation, specialise};
pub use types::{MAX_RANK, TensorType, TileType, Type, ViewType};
pub use verify::{Diagnostic, verify};
