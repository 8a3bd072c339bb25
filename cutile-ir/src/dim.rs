//! Extents known before a launch: integers, const parameters, and arithmetic on both.

/// A const parameter of a function, by position in [`Function::const_params`](crate::Function).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConstParam(pub u32);

/// A const of the user's module whose value rustc computes, by position in
/// [`Module::externs`](crate::Module).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExternConst(pub u32);

/// Arithmetic on extents. Division and remainder truncate, as Rust's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the operators' own names")]
pub enum DimOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
}

impl DimOp {
    /// Every operator.
    pub const ALL: [DimOp; 5] = [DimOp::Add, DimOp::Sub, DimOp::Mul, DimOp::Div, DimOp::Rem];

    /// The operator as Rust writes it.
    pub const fn symbol(self) -> &'static str {
        match self {
            DimOp::Add => "+",
            DimOp::Sub => "-",
            DimOp::Mul => "*",
            DimOp::Div => "/",
            DimOp::Rem => "%",
        }
    }

    /// The result; `None` for division by zero and on overflow.
    pub fn apply(self, a: i64, b: i64) -> Option<i64> {
        match self {
            DimOp::Add => a.checked_add(b),
            DimOp::Sub => a.checked_sub(b),
            DimOp::Mul => a.checked_mul(b),
            DimOp::Div => a.checked_div(b),
            DimOp::Rem => a.checked_rem(b),
        }
    }
}

/// A number known before a launch: a tile extent, a tensor extent that the author fixed, or a
/// const argument.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Dim {
    /// A number. After `specialise` every `Dim` is one.
    Const(i64),
    /// A const parameter; `axis` picks an element of an array parameter.
    Param {
        /// Which parameter.
        param: ConstParam,
        /// The element of an array parameter (`S[1]`), `None` for `i32` and `bool` ones.
        axis: Option<u32>,
    },
    /// A const of the user's module, known once the program is compiled.
    Extern(ExternConst),
    /// Arithmetic.
    Expr(DimOp, Box<Dim>, Box<Dim>),
}

impl Dim {
    /// The number, once it is one.
    pub fn known(&self) -> Option<i64> {
        match self {
            Dim::Const(n) => Some(*n),
            _ => None,
        }
    }

    /// The number in specialised IR.
    ///
    /// # Panics
    /// On anything else, which `specialise` leaves nowhere.
    pub fn expect(&self) -> i64 {
        self.known().expect("specialised IR has only numbers as extents")
    }

    /// `self op other`, folded where both are numbers.
    pub fn combine(op: DimOp, a: Dim, b: Dim) -> Dim {
        if let (Dim::Const(x), Dim::Const(y)) = (&a, &b)
            && let Some(n) = op.apply(*x, *y)
        {
            return Dim::Const(n);
        }
        Dim::Expr(op, Box::new(a), Box::new(b))
    }
}

impl From<i64> for Dim {
    fn from(n: i64) -> Self {
        Dim::Const(n)
    }
}

/// The extents of a tile, outermost first. Rank 0 to 6.
pub type Shape = smallvec::SmallVec<[Dim; 3]>;
