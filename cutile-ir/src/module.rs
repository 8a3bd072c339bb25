//! Modules, functions, blocks: what holds operations.

use crate::dim::Shape;
use crate::op::OpKind;
use crate::types::Type;
use smallvec::SmallVec;

/// A value of one function: defined once, by a parameter or by an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(pub u32);

/// A helper function of another module, by position in [`Module::imports`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ImportId(pub u32);

/// What one function of a kernel module becomes, with what it needs: the entry or helper itself
/// first, then the helpers of the same module that it calls.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Module {
    /// Source files that locations refer to.
    pub files: Vec<String>,
    /// Helpers of other modules, by the path that the source gives.
    pub imports: Vec<String>,
    /// Consts whose value rustc computes, by name.
    pub externs: Vec<String>,
    /// The functions; the first is what the module is for.
    pub functions: Vec<Function>,
}

/// What a function is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionKind {
    /// Launched over a grid.
    Entry,
    /// Called by entries and helpers.
    Helper,
}

/// The kind of a const parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConstKind {
    /// `const N: i32`.
    I32,
    /// `const FLAG: bool`.
    Bool,
    /// `const S: [i32; N]`.
    Array(u32),
}

/// A const parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConstParamDecl {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: ConstKind,
}

/// How a parameter reaches the kernel.
#[derive(Clone, Debug, PartialEq)]
pub enum ParamRole {
    /// A scalar by value.
    Scalar,
    /// `&Tensor`: read only.
    Shared,
    /// `&mut Tensor<T, tile>`: the whole tensor, partitioned by this tile shape; the program owns the
    /// sub-tensor at its own position in the grid.
    Partitioned {
        /// The sub-tensor's shape.
        tile: Shape,
    },
}

/// A parameter of a function.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// Its name in the source.
    pub name: String,
    /// Its value in the body.
    pub value: Value,
    /// How it reaches the kernel.
    pub role: ParamRole,
}

/// What is known of a value.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueInfo {
    /// Its type.
    pub ty: Type,
    /// The source's name for it, where it has one.
    pub name: Option<String>,
}

/// A function over tiles.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Entry or helper.
    pub kind: FunctionKind,
    /// Multiply-add contraction and approximate functions are allowed.
    pub fast_math: bool,
    /// Names of element type parameters.
    pub type_params: Vec<String>,
    /// Const parameters.
    pub const_params: Vec<ConstParamDecl>,
    /// Parameters.
    pub params: Vec<Param>,
    /// Every value, by number.
    pub values: Vec<ValueInfo>,
    /// The body; its parameters are the function's, its yields the results.
    pub body: Block,
}

impl Function {
    /// The type of a value.
    pub fn ty(&self, v: Value) -> &Type {
        &self.values[v.0 as usize].ty
    }

    /// A new value.
    pub fn new_value(&mut self, ty: Type, name: Option<String>) -> Value {
        self.values.push(ValueInfo { ty, name });
        Value(self.values.len() as u32 - 1)
    }

    /// The types of the results.
    pub fn result_types(&self) -> Vec<Type> {
        self.body.yields.iter().map(|v| self.ty(*v).clone()).collect()
    }
}

/// Operations in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// Values that the block takes.
    pub params: Vec<Value>,
    /// Its operations.
    pub ops: Vec<Op>,
    /// Values that it gives.
    pub yields: Vec<Value>,
}

/// One operation in a block.
#[derive(Clone, Debug, PartialEq)]
pub struct Op {
    /// What it does.
    pub kind: OpKind,
    /// The values that it defines.
    pub results: SmallVec<[Value; 1]>,
    /// Where the source says so.
    pub loc: Option<Loc>,
}

/// A place in the source. Lines and columns count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Loc {
    /// By position in [`Module::files`].
    pub file: u32,
    /// Line.
    pub line: u32,
    /// Column, in characters.
    pub column: u32,
}
