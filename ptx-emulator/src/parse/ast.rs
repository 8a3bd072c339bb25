//! The tree of a PTX module as written. Names are text; nothing is resolved, typed or laid out here.

use std::collections::BTreeMap;

/// A parsed module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    /// `.target` words.
    pub(crate) target: Vec<String>,
    /// `.file` numbers and names.
    pub(crate) files: BTreeMap<u32, String>,
    /// Module-scope variables in order.
    pub(crate) variables: Vec<Variable>,
    /// Functions in order; a declaration and its definition are two.
    pub(crate) functions: Vec<Function>,
}

/// State spaces of variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    Global,
    Const,
    Shared,
    Local,
    Param,
}

/// The scalar types of PTX, as far as storage and arithmetic go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[rustfmt::skip]
pub(crate) enum Type {
    B8, B16, B32, B64, B128,
    U8, U16, U32, U64,
    S8, S16, S32, S64,
    F16, F16x2, Bf16, Bf16x2, F32, F32x2, F64, Tf32,
    E4m3, E5m2,
    Pred,
}

impl Type {
    /// The type a word such as `b32` names.
    #[rustfmt::skip]
    pub(crate) fn from_word(word: &str) -> Option<Type> {
        use Type::*;
        Some(match word {
            "b8" => B8, "b16" => B16, "b32" => B32, "b64" => B64, "b128" => B128,
            "u8" => U8, "u16" => U16, "u32" => U32, "u64" => U64,
            "s8" => S8, "s16" => S16, "s32" => S32, "s64" => S64,
            "f16" => F16, "f16x2" => F16x2, "bf16" => Bf16, "bf16x2" => Bf16x2,
            "f32" => F32, "f32x2" => F32x2, "f64" => F64, "tf32" => Tf32, "e4m3" => E4m3, "e5m2" => E5m2,
            "pred" => Pred,
            _ => return None,
        })
    }

    /// Bytes in memory (a predicate counts as one).
    pub(crate) fn bytes(self) -> u32 {
        use Type::*;
        match self {
            B8 | U8 | S8 | E4m3 | E5m2 | Pred => 1,
            B16 | U16 | S16 | F16 | Bf16 => 2,
            B32 | U32 | S32 | F16x2 | Bf16x2 | F32 | Tf32 => 4,
            B64 | U64 | S64 | F64 | F32x2 => 8,
            B128 => 16,
        }
    }

    /// Bits.
    pub(crate) fn bits(self) -> u32 {
        self.bytes() * 8
    }

    /// A signed integer type.
    pub(crate) fn signed(self) -> bool {
        matches!(self, Type::S8 | Type::S16 | Type::S32 | Type::S64)
    }

    /// A floating-point type.
    pub(crate) fn float(self) -> bool {
        use Type::*;
        matches!(self, F16 | F16x2 | Bf16 | Bf16x2 | F32 | F32x2 | F64 | Tf32 | E4m3 | E5m2)
    }
}

/// A variable of any space, or a parameter.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub(crate) space: Space,
    pub(crate) name: String,
    /// Alignment in bytes, from `.align` or the type.
    pub(crate) align: u32,
    /// Bytes in total; 0 for an unsized array (`x[]`).
    pub(crate) bytes: u64,
    /// Declared `.extern`.
    pub(crate) is_extern: bool,
    /// Initial values, each with its width in bytes and its offset.
    pub(crate) init: Vec<Initial>,
    pub(crate) line: u32,
}

/// One initial value of a variable.
#[derive(Clone, Debug)]
pub(crate) struct Initial {
    pub(crate) offset: u64,
    pub(crate) bytes: u32,
    pub(crate) value: InitialValue,
}

/// What an initial value is.
#[derive(Clone, Debug)]
pub(crate) enum InitialValue {
    Bits(u64),
    /// Address of a symbol plus an offset; `generic` when written `generic(x)`.
    Address {
        symbol: String,
        offset: i64,
        generic: bool,
    },
}

/// An entry or a function.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) entry: bool,
    pub(crate) name: String,
    pub(crate) returns: Vec<Variable>,
    pub(crate) params: Vec<Variable>,
    /// `.reqntid`, if present.
    pub(crate) required_block: Option<[u32; 3]>,
    /// `.maxntid`, if present.
    pub(crate) max_block: Option<[u32; 3]>,
    /// `.reqnctapercluster`, if present.
    pub(crate) cluster: Option<[u32; 3]>,
    /// None for a declaration.
    pub(crate) body: Option<Vec<Statement>>,
    pub(crate) line: u32,
}

/// A statement of a function's body.
#[derive(Clone, Debug)]
pub(crate) enum Statement {
    Label(String),
    Instruction(Instruction),
    Block(Vec<Statement>),
    Registers(Registers),
    Variable(Variable),
    /// `.loc`: file number, line, column.
    Location {
        file: u32,
        line: u32,
        column: u32,
    },
    /// `name: .branchtargets a, b;` or `name: .calltargets a, b;`
    Targets {
        name: String,
        targets: Vec<String>,
    },
    /// `name: .callprototype ...;` What is passed is checked at the call, against the function that runs.
    Prototype {
        name: String,
    },
}

/// `.reg .b32 %r<10>, x;`
#[derive(Clone, Debug)]
pub(crate) struct Registers {
    pub(crate) ty: Type,
    /// Elements of a vector register, 1 for a scalar.
    pub(crate) vector: u32,
    /// Name, and the count of a parameterised name.
    pub(crate) names: Vec<(String, Option<u32>)>,
    pub(crate) line: u32,
}

/// One instruction.
#[derive(Clone, Debug)]
pub(crate) struct Instruction {
    /// Guard predicate and whether it is negated.
    pub(crate) guard: Option<(String, bool)>,
    /// The opcode with all its modifiers, as written.
    pub(crate) opcode: String,
    pub(crate) operands: Vec<Operand>,
    pub(crate) line: u32,
}

/// One operand, as written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand {
    /// A register, special register, variable, label or function.
    Name(String),
    /// `name+offset`, outside brackets.
    Offset(String, i64),
    /// An integer, modulo 2^64.
    Int(u64),
    /// A double-precision literal.
    Float(f64),
    /// A single-precision literal by its bits.
    Single(u32),
    /// `!p`
    Not(String),
    /// `a|b`
    Pair(Box<Operand>, Box<Operand>),
    /// `{a, b, ..}`
    Vector(Vec<Operand>),
    /// `[base + offset, more..]`
    Address { base: Box<Operand>, offset: i64, more: Vec<Operand> },
    /// `(a, b)` of a call
    List(Vec<Operand>),
}
