//! Operations, one file a family. An operation is an enum variant with typed fields; its text
//! form, operands, nested blocks and substitution follow from the declaration (`declare_ops!`), so
//! that adding one is: the variant, its rule in [`infer`](crate::infer), its CPU definition, its
//! lowering, a filetest, a line in the book.

mod arith;
mod control;
mod create;
mod field;
mod memory;
mod program;
mod reduce;
mod shape;

pub use arith::{ArithOp, BinaryOp, CompareOp, UnaryOp};
pub use control::{Callee, ConstArg, ControlOp};
pub use create::{CreateOp, Literal};
pub use field::{Attribute, Axes, Axis, Field, Walk, WalkMut};
pub use memory::{MemoryOp, Padding};
pub use program::{Message, ProgramOp};
pub use reduce::{MatrixOp, ReduceKind, ReduceOp};
pub use shape::ShapeOp;

use crate::parse::{ParseError, Parser};
use crate::print::Printer;

/// Declares a family: the enum, its names, and the walk over each variant's fields.
macro_rules! declare_ops {
    (
        $(#[$meta:meta])*
        $family:ident {
            $(
                $(#[$vmeta:meta])*
                $variant:ident = $name:literal {
                    $( $(#[$fmeta:meta])* $field:ident : $ty:ty ),* $(,)?
                }
            ),* $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub enum $family {
            $( $(#[$vmeta])* $variant { $( $(#[$fmeta])* $field: $ty ),* } ),*
        }

        impl $family {
            /// The names of the family's operations, in declaration order.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// The operation's name in the text form.
            pub fn name(&self) -> &'static str {
                match self { $( $family::$variant { .. } => $name ),* }
            }

            pub(crate) fn print_fields(&self, p: &mut crate::print::Printer<'_>) {
                match self {
                    $( $family::$variant { $($field),* } => {
                        let _ = &p;
                        $( p.space(); crate::op::Field::print($field, p); )*
                    } ),*
                }
            }

            pub(crate) fn walk(&self, w: &mut dyn crate::op::Walk) {
                match self {
                    $( $family::$variant { $($field),* } => {
                        let _ = &w;
                        $( crate::op::Field::walk($field, w); )*
                    } ),*
                }
            }

            pub(crate) fn walk_mut(&mut self, w: &mut dyn crate::op::WalkMut) {
                match self {
                    $( $family::$variant { $($field),* } => {
                        let _ = &w;
                        $( crate::op::Field::walk_mut($field, w); )*
                    } ),*
                }
            }

            pub(crate) fn parse(
                name: &str,
                p: &mut crate::parse::Parser<'_>,
            ) -> Result<Option<Self>, crate::parse::ParseError> {
                let _ = &p;
                Ok(Some(match name {
                    $( $name => $family::$variant {
                        $( $field: <$ty as crate::op::Field>::parse(p)? ),*
                    }, )*
                    _ => return Ok(None),
                }))
            }
        }
    };
}
pub(crate) use declare_ops;

/// An operation of any family.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "each family documents itself")]
pub enum OpKind {
    Create(CreateOp),
    Arith(ArithOp),
    Shape(ShapeOp),
    Memory(MemoryOp),
    Reduce(ReduceOp),
    Matrix(MatrixOp),
    Program(ProgramOp),
    Control(ControlOp),
}

macro_rules! each_family {
    ($self:expr, $op:ident => $e:expr) => {
        match $self {
            OpKind::Create($op) => $e,
            OpKind::Arith($op) => $e,
            OpKind::Shape($op) => $e,
            OpKind::Memory($op) => $e,
            OpKind::Reduce($op) => $e,
            OpKind::Matrix($op) => $e,
            OpKind::Program($op) => $e,
            OpKind::Control($op) => $e,
        }
    };
}

impl OpKind {
    /// The operation's name in the text form.
    pub fn name(&self) -> &'static str {
        each_family!(self, op => op.name())
    }

    /// Reads memory that another operation may write.
    pub fn reads_memory(&self) -> bool {
        matches!(self, OpKind::Memory(MemoryOp::Load { .. }))
    }

    /// Has an effect besides its results: it writes memory, may fault by design, or holds code
    /// that does. Such an operation is neither dropped nor moved across another of its kind.
    pub fn has_effect(&self) -> bool {
        match self {
            OpKind::Memory(MemoryOp::Store { .. })
            | OpKind::Program(ProgramOp::Assert { .. })
            | OpKind::Control(ControlOp::Call { .. }) => true,
            OpKind::Control(ControlOp::While { .. }) => true,
            OpKind::Control(_) => {
                let mut effect = false;
                self.for_each_block(|b| effect |= b.ops.iter().any(|op| op.kind.has_effect()));
                effect
            }
            _ => self.may_fault(),
        }
    }

    /// May end the program with a fault: an index out of range, an integer division.
    pub fn may_fault(&self) -> bool {
        match self {
            OpKind::Memory(MemoryOp::Load { padding, .. }) => matches!(padding, Padding::Clip),
            OpKind::Memory(MemoryOp::Store { .. }) => true,
            OpKind::Arith(ArithOp::Binary { op, .. }) => op.may_fault(),
            OpKind::Program(ProgramOp::Assert { .. }) => true,
            _ => false,
        }
    }

    pub(crate) fn print_fields(&self, p: &mut Printer<'_>) {
        each_family!(self, op => op.print_fields(p))
    }

    pub(crate) fn walk(&self, w: &mut dyn Walk) {
        each_family!(self, op => op.walk(w))
    }

    pub(crate) fn walk_mut(&mut self, w: &mut dyn WalkMut) {
        each_family!(self, op => op.walk_mut(w))
    }

    pub(crate) fn parse(name: &str, p: &mut Parser<'_>) -> Result<Option<OpKind>, ParseError> {
        macro_rules! try_families {
            ($($variant:ident: $family:ident),*) => {$(
                if $family::NAMES.contains(&name) {
                    return Ok($family::parse(name, p)?.map(OpKind::$variant));
                }
            )*};
        }
        try_families!(Create: CreateOp, Arith: ArithOp, Shape: ShapeOp, Memory: MemoryOp,
            Reduce: ReduceOp, Matrix: MatrixOp, Program: ProgramOp, Control: ControlOp);
        Ok(None)
    }
}

macro_rules! into_kind {
    ($($variant:ident: $family:ident),*) => {$(
        impl From<$family> for OpKind {
            fn from(op: $family) -> OpKind { OpKind::$variant(op) }
        }
    )*};
}
into_kind!(Create: CreateOp, Arith: ArithOp, Shape: ShapeOp, Memory: MemoryOp, Reduce: ReduceOp,
    Matrix: MatrixOp, Program: ProgramOp, Control: ControlOp);
