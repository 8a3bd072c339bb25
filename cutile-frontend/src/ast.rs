//! The accepted subset of Rust, with spans. No names are resolved and no types are known here.

use proc_macro2::Span;
use syn::Ident;

/// Identifies an expression of one module; typing keeps its findings by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExprId(pub u32);

/// A kernel module.
#[derive(Debug)]
pub struct Module {
    /// `const`s.
    pub consts: Vec<Const>,
    /// Entries and helpers, nested ones included.
    pub functions: Vec<Function>,
    /// `use`s of single names: the name in this module, and the path.
    pub imports: Vec<Import>,
    /// There is a `use path::*` of another module than the vocabulary: a name that nothing here explains may come from it.
    pub open: bool,
    /// The number of expressions.
    pub expr_count: u32,
}

/// A name brought in by `use`.
#[derive(Debug)]
pub struct Import {
    /// The name here.
    pub name: Ident,
    /// What it stands for.
    pub path: syn::Path,
}

/// `const NAME: TYPE = VALUE;`
#[derive(Debug)]
pub struct Const {
    /// Its name.
    pub name: Ident,
    /// Its type.
    pub ty: Type,
    /// Its value.
    pub value: Expr,
    /// It stands behind `#[cfg(..)]`, so that rustc decides whether this is the one.
    pub conditional: bool,
}

/// A function of the module.
#[derive(Debug)]
pub struct Function {
    /// Its name.
    pub name: Ident,
    /// Its name in the IR: the name, after the enclosing functions' names if it is nested.
    pub path: String,
    /// The options of an entry; `None` for a helper.
    pub entry: Option<EntryOptions>,
    /// Type and const parameters in order.
    pub generics: Vec<Generic>,
    /// Parameters.
    pub params: Vec<Param>,
    /// The result; `None` for `()`.
    pub result: Option<Type>,
    /// The body.
    pub body: Block,
    /// `pub` in some form.
    pub public: bool,
}

/// What `#[cutile::entry(..)]` says.
#[derive(Clone, Debug, Default)]
pub struct EntryOptions {
    /// `fast_math`.
    pub fast_math: bool,
    /// `specialize(S = [64, 64], T = f32)`, each.
    pub specialize: Vec<Specialization>,
}

/// One declared specialisation.
#[derive(Clone, Debug)]
pub struct Specialization {
    /// `specialize`.
    pub span: Span,
    /// Name and value, in the order given.
    pub bindings: Vec<(Ident, Binding)>,
}

/// A value in a declared specialisation.
#[derive(Clone, Debug)]
pub enum Binding {
    /// For an `i32` parameter.
    Int(i64),
    /// For a `bool` parameter.
    Bool(bool),
    /// For a `[i32; N]` parameter.
    Array(Vec<i64>),
    /// For a type parameter.
    Element(cutile_ir::Element),
}

/// A type or const parameter.
#[derive(Debug)]
pub struct Generic {
    /// Its name.
    pub name: Ident,
    /// What it stands for.
    pub kind: GenericKind,
}

/// What a generic parameter stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GenericKind {
    /// An element type.
    Element,
    /// `i32`.
    Int,
    /// `bool`.
    Bool,
    /// `[i32; N]`.
    Array(u32),
}

/// A parameter of a function.
#[derive(Debug)]
pub struct Param {
    /// Its name.
    pub name: Ident,
    /// `mut`.
    pub mutable: bool,
    /// Its type.
    pub ty: Type,
}

/// A type.
#[derive(Debug)]
pub struct Type {
    /// Which.
    pub kind: TypeKind,
    /// Where.
    pub span: Span,
}

/// Which type.
#[derive(Debug)]
pub enum TypeKind {
    /// `f32`, or a type parameter.
    Name(Ident),
    /// `Tile<T, S>`.
    Tile(Box<Type>, ShapeSpec),
    /// `&Tensor<T, S>` or `&mut Tensor<T, S>`.
    Tensor {
        /// `&mut`.
        mutable: bool,
        /// The element type.
        element: Box<Type>,
        /// The extents.
        shape: ShapeSpec,
    },
    /// `PartitionView<T, S>` or `PartitionViewMut<T, S>`.
    View {
        /// The `Mut` one.
        mutable: bool,
        /// The element type.
        element: Box<Type>,
        /// The tile's shape.
        shape: ShapeSpec,
    },
    /// `Shape<S>`.
    Shape(ShapeSpec),
    /// `(A, B)`; `()` is empty.
    Tuple(Vec<Type>),
    /// `[T; N]`.
    Array(Box<Type>, Box<Expr>),
    /// `_`.
    Infer,
    /// Reported already.
    Error,
}

/// A shape in a type: `S` or `{ [BM, 64] }`.
#[derive(Debug)]
pub enum ShapeSpec {
    /// An array parameter, or a const of the module.
    Name(Ident),
    /// Extents.
    List(Vec<Expr>, Span),
    /// Reported already.
    Error,
}

/// `{ .. }`.
#[derive(Debug)]
pub struct Block {
    /// Statements.
    pub statements: Vec<Stmt>,
    /// The value.
    pub value: Option<Box<Expr>>,
    /// The closing brace.
    pub end: Span,
}

/// A statement.
#[derive(Debug)]
pub enum Stmt {
    /// `let PATTERN: TYPE = VALUE;`
    Let {
        /// What it binds.
        pattern: Pattern,
        /// The annotation.
        ty: Option<Type>,
        /// The value; without one, a later assignment gives it.
        value: Option<Expr>,
    },
    /// An expression whose value is dropped.
    Expr(Expr),
}

/// What a `let`, a `for` or a closure binds.
#[derive(Debug)]
pub enum Pattern {
    /// A name.
    Name {
        /// The name.
        name: Ident,
        /// `mut`.
        mutable: bool,
        /// Identifies the binding, in the numbering of expressions.
        id: ExprId,
    },
    /// `_`.
    Wild,
    /// `(a, b)`, or `[a, b]` of an array.
    Tuple(Vec<Pattern>, Span),
}

/// An expression.
#[derive(Debug)]
pub struct Expr {
    /// Which.
    pub kind: ExprKind,
    /// Identifies it.
    pub id: ExprId,
    /// The token that errors point at: an operator's, a callee's name, or the whole where there is no better one.
    pub span: Span,
}

/// A path in an expression.
#[derive(Debug)]
pub struct PathExpr {
    /// As written, without the arguments of the last segment.
    pub path: syn::Path,
    /// `::<..>` of the last segment.
    pub generics: Vec<GenericArg>,
}

impl PathExpr {
    /// The name, if the path is one.
    pub fn single(&self) -> Option<&Ident> {
        self.path.get_ident()
    }
}

/// A generic argument in a turbofish.
#[derive(Debug)]
pub enum GenericArg {
    /// A name: a parameter, a const or an element type.
    Name(Ident),
    /// An element type, tile type or `_`.
    Type(Type),
    /// A number, `true`, or an expression in braces.
    Value(Expr),
    /// `{ [64, 64] }`.
    Array(Vec<Expr>, Span),
}

/// Comparison, arithmetic and bit operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// One of the IR.
    Binary(cutile_ir::op::BinaryOp),
    /// One of the IR.
    Compare(cutile_ir::op::CompareOp),
}

/// A float literal, rounded to either width.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Float {
    /// As f32.
    pub single: f32,
    /// As f64.
    pub double: f64,
}

/// Which expression.
#[derive(Debug)]
pub enum ExprKind {
    /// `1`, `1i64`; the suffix is an element type.
    Int(u128, Option<cutile_ir::Element>),
    /// `1.0`, `1.0f64`, `1f32`.
    Float(Float, Option<cutile_ir::Element>),
    /// `true`.
    Bool(bool),
    /// A name.
    Path(PathExpr),
    /// `-x`.
    Neg(Box<Expr>),
    /// `!x`.
    Not(Box<Expr>),
    /// `a + b`.
    Binary(Operator, Box<Expr>, Box<Expr>),
    /// `a && b`.
    And(Box<Expr>, Box<Expr>),
    /// `a || b`.
    Or(Box<Expr>, Box<Expr>),
    /// `a = b`; left may stand a tuple or an array of places, as in `(a, b) = (b, a)`.
    Assign(Box<Expr>, Box<Expr>),
    /// `_` left of `=`.
    Wild,
    /// `a += b`.
    AssignOp(cutile_ir::op::BinaryOp, Box<Expr>, Box<Expr>),
    /// `f(..)`.
    Call(PathExpr, Vec<Expr>),
    /// `x.f(..)`.
    Method {
        /// Left of the dot.
        receiver: Box<Expr>,
        /// The method.
        name: Ident,
        /// `::<..>`.
        generics: Vec<GenericArg>,
        /// In parentheses.
        args: Vec<Expr>,
    },
    /// `pid.0`.
    Field(Box<Expr>, u32),
    /// `shape[0]`.
    Index(Box<Expr>, Box<Expr>),
    /// `x as f32`.
    Cast(Box<Expr>, Type),
    /// `(a, b)`; `()` is empty.
    Tuple(Vec<Expr>),
    /// `[a, b]`.
    Array(Vec<Expr>),
    /// `[value; N]`.
    Repeat(Box<Expr>, Box<Expr>),
    /// `if c { .. } else { .. }`.
    If(Box<Expr>, Block, Option<Box<Expr>>),
    /// `{ .. }`.
    Block(Block),
    /// A loop of any kind.
    Loop(Box<Loop>),
    /// `break 'label value`.
    Break(Option<Ident>, Option<Box<Expr>>),
    /// `continue 'label`.
    Continue(Option<Ident>),
    /// `return value`.
    Return(Option<Box<Expr>>),
    /// `&x`, `&mut x`.
    Ref(bool, Box<Expr>),
    /// `|a, b| body`.
    Closure(Vec<Pattern>, Box<Expr>),
    /// `const_shape![BM, 64]`.
    ConstShape(Vec<Expr>),
    /// `const_array![1, 0]`.
    ConstArray(Vec<Expr>),
    /// `assert!(condition, "text")`.
    Assert(Box<Expr>, String),
    /// Reported already.
    Error,
}

/// A loop.
#[derive(Debug)]
pub struct Loop {
    /// `'label:`.
    pub label: Option<Ident>,
    /// Which.
    pub kind: LoopKind,
    /// The body.
    pub body: Block,
}

/// Which loop.
#[derive(Debug)]
pub enum LoopKind {
    /// `loop`.
    Forever,
    /// `while`.
    While(Expr),
    /// `for PATTERN in lower..upper`.
    For(Box<Range>),
}

/// What a `for` runs over.
#[derive(Debug)]
pub struct Range {
    /// What it binds.
    pub pattern: Pattern,
    /// The first value.
    pub lower: Expr,
    /// The first value not reached.
    pub upper: Expr,
    /// `.step_by(..)`.
    pub step: Option<Expr>,
    /// `.rev()`.
    pub reversed: bool,
}

impl Range {
    /// What is evaluated before the loop.
    pub fn bounds(&self) -> impl Iterator<Item = &Expr> {
        [&self.lower, &self.upper].into_iter().chain(&self.step)
    }
}
