//! The kernel vocabulary by name: which function or method means which operation. Types are checked in `typing`, the
//! operations are emitted in `lower`; the same names stand as types in `cutile::core`.

use cutile_ir::op::{BinaryOp, CompareOp, ReduceKind, UnaryOp};

/// The names of the module that holds the vocabulary.
pub(crate) const MODULES: [&str; 2] = ["core", "dsl"];

/// What a vocabulary name means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// `full(value, shape)`.
    Full,
    /// `zeros(shape)`, `ones(shape)`.
    Constant(i64),
    /// `iota(shape)`.
    Iota,
    /// `get_tile_block_id()`: three axes, as a tuple.
    Ids,
    /// `get_num_tile_blocks()`: three axes, as a tuple.
    Counts,
    /// `tile_block_id::<N>()`, as an array.
    IdArray,
    /// `program_id(axis)`.
    Id,
    /// `num_programs(axis)`.
    Count,
    /// `load_tile_like(x, y)`; the rank, where the name fixes it.
    LoadLike(Option<usize>),
    /// `y.load()`.
    LoadOwn,
    /// `store_tile(tile, y)`.
    StoreTile,
    /// `y.store(tile)`.
    StoreOwn,
    /// `load_tile(x, shape, index)`.
    LoadTile,
    /// `x.partition(shape)`.
    Partition,
    /// `y.partition_mut(shape)`.
    PartitionMut,
    /// `view.load(index)`.
    ViewLoad,
    /// `view.load_padded(index, value)`.
    ViewLoadPadded,
    /// `view.store(index, tile)`.
    ViewStore,
    /// `view.grid()`.
    Grid,
    /// `num_tiles(view, axis)`.
    TileCount,
    /// `x.shape()`.
    ShapeOf,
    /// One operand.
    Unary(UnaryOp),
    /// Two operands.
    Binary(BinaryOp),
    /// A comparison.
    Compare(CompareOp),
    /// `select(condition, a, b)`.
    Select,
    /// `fma(a, b, c)`.
    Fma,
    /// `convert(x)`.
    Convert,
    /// `bitcast(x)`.
    Bitcast,
    /// `reshape(x, shape)`.
    Reshape,
    /// `broadcast(x, shape)`.
    Broadcast,
    /// `permute(x, order)`.
    Permute,
    /// `transpose(x)`.
    Transpose,
    /// `tile_to_scalar(x)`.
    ToScalar,
    /// `reduce_sum(x, axis)` and its like.
    Reduce(ReduceKind),
    /// `mma(a, b, acc)`.
    Mma,
    /// `x.map(closure)`.
    Map,
}

/// Every function of the vocabulary.
pub const FUNCTIONS: &[(&str, Word)] = {
    use Word::*;
    &[
        ("constant", Full),
        ("full", Full),
        ("broadcast_scalar", Full),
        ("zeros", Constant(0)),
        ("ones", Constant(1)),
        ("iota", Iota),
        ("get_tile_block_id", Ids),
        ("get_num_tile_blocks", Counts),
        ("tile_block_id", IdArray),
        ("program_id", Id),
        ("num_programs", Count),
        ("load_tile_like", LoadLike(None)),
        ("load_tile_like_1d", LoadLike(Some(1))),
        ("load_tile_like_2d", LoadLike(Some(2))),
        ("load_tile_like_3d", LoadLike(Some(3))),
        ("load_tile_like_4d", LoadLike(Some(4))),
        ("load_tile_mut", LoadOwn),
        ("store_tile", StoreTile),
        ("load_tile", LoadTile),
        ("num_tiles", TileCount),
        ("abs", Unary(UnaryOp::Abs)),
        ("exp", Unary(UnaryOp::Exp)),
        ("exp2", Unary(UnaryOp::Exp2)),
        ("log", Unary(UnaryOp::Log)),
        ("log2", Unary(UnaryOp::Log2)),
        ("sqrt", Unary(UnaryOp::Sqrt)),
        ("rsqrt", Unary(UnaryOp::Rsqrt)),
        ("tanh", Unary(UnaryOp::Tanh)),
        ("sin", Unary(UnaryOp::Sin)),
        ("cos", Unary(UnaryOp::Cos)),
        ("erf", Unary(UnaryOp::Erf)),
        ("sigmoid", Unary(UnaryOp::Sigmoid)),
        ("floor", Unary(UnaryOp::Floor)),
        ("ceil", Unary(UnaryOp::Ceil)),
        ("round", Unary(UnaryOp::Round)),
        ("round_even", Unary(UnaryOp::RoundEven)),
        ("trunc", Unary(UnaryOp::Trunc)),
        ("is_nan", Unary(UnaryOp::IsNan)),
        ("is_inf", Unary(UnaryOp::IsInf)),
        ("noti", Unary(UnaryOp::Not)),
        ("min", Binary(BinaryOp::Min)),
        ("max", Binary(BinaryOp::Max)),
        ("min_tile", Binary(BinaryOp::Min)),
        ("max_tile", Binary(BinaryOp::Max)),
        ("minimum", Binary(BinaryOp::Minimum)),
        ("maximum", Binary(BinaryOp::Maximum)),
        ("pow", Binary(BinaryOp::Pow)),
        ("div_floor", Binary(BinaryOp::DivFloor)),
        ("div_ceil", Binary(BinaryOp::DivCeil)),
        ("ceil_div", Binary(BinaryOp::DivCeil)),
        ("rem_euclid", Binary(BinaryOp::RemEuclid)),
        ("true_div", Binary(BinaryOp::Div)),
        ("andi", Binary(BinaryOp::And)),
        ("ori", Binary(BinaryOp::Or)),
        ("xori", Binary(BinaryOp::Xor)),
        ("eq_tile", Compare(CompareOp::Eq)),
        ("ne_tile", Compare(CompareOp::Ne)),
        ("lt_tile", Compare(CompareOp::Lt)),
        ("le_tile", Compare(CompareOp::Le)),
        ("gt_tile", Compare(CompareOp::Gt)),
        ("ge_tile", Compare(CompareOp::Ge)),
        ("select", Select),
        ("fma", Fma),
        ("convert", Convert),
        ("convert_tile", Convert),
        ("convert_scalar", Convert),
        ("bitcast", Bitcast),
        ("reshape", Reshape),
        ("broadcast", Broadcast),
        ("permute", Permute),
        ("transpose", Transpose),
        ("tile_to_scalar", ToScalar),
        ("reduce_sum", Reduce(ReduceKind::Sum)),
        ("reduce_prod", Reduce(ReduceKind::Prod)),
        ("reduce_max", Reduce(ReduceKind::Max)),
        ("reduce_min", Reduce(ReduceKind::Min)),
        ("reduce_maximum", Reduce(ReduceKind::Maximum)),
        ("reduce_minimum", Reduce(ReduceKind::Minimum)),
        ("reduce_argmax", Reduce(ReduceKind::ArgMax)),
        ("reduce_argmin", Reduce(ReduceKind::ArgMin)),
        ("reduce_any", Reduce(ReduceKind::Any)),
        ("reduce_all", Reduce(ReduceKind::All)),
        ("mma", Mma),
    ]
};

/// The function of that name.
pub fn function(name: &str) -> Option<Word> {
    FUNCTIONS.iter().find(|(n, _)| *n == name).map(|(_, w)| *w)
}

/// Takes an axis as its last argument: in the type-check copy a type (`Ax::<1>`).
pub fn takes_axis(name: &str) -> bool {
    matches!(function(name), Some(Word::Reduce(_)))
}

/// How many generic parameters a function that is called with a turbofish has in the type-check copy.
pub fn generic_parameters(name: &str) -> usize {
    match name {
        "zeros" | "ones" | "iota" | "full" | "constant" | "broadcast_scalar" | "convert"
        | "convert_scalar" => 2,
        "convert_tile" | "bitcast" => 3,
        _ => 0,
    }
}

/// A method of tensors.
pub fn tensor_method(name: &str) -> Option<Word> {
    Some(match name {
        "shape" => Word::ShapeOf,
        "load" => Word::LoadOwn,
        "store" => Word::StoreOwn,
        "partition" => Word::Partition,
        "partition_mut" => Word::PartitionMut,
        "load_tile" => Word::LoadTile,
        _ => return None,
    })
}

/// A method of views.
pub fn view_method(name: &str) -> Option<Word> {
    Some(match name {
        "load" => Word::ViewLoad,
        "load_padded" => Word::ViewLoadPadded,
        "store" => Word::ViewStore,
        "grid" => Word::Grid,
        _ => return None,
    })
}

/// A method of tiles.
pub fn tile_method(name: &str) -> Option<Word> {
    Some(match name {
        "shape" => Word::ShapeOf,
        "reshape" => Word::Reshape,
        "broadcast" => Word::Broadcast,
        "permute" => Word::Permute,
        "transpose" => Word::Transpose,
        "convert" => Word::Convert,
        "to_scalar" => Word::ToScalar,
        "map" => Word::Map,
        _ => return None,
    })
}

/// The function that does on tiles what a method of that name does on Rust's own numbers, or would do on tiles.
pub fn function_of_method(name: &str) -> Option<&'static str> {
    let named = |wanted: Word| FUNCTIONS.iter().find(|(_, w)| *w == wanted).map(|(n, _)| *n);
    let same = FUNCTIONS.iter().find(|(n, _)| *n == name).map(|(n, _)| *n);
    same.or_else(|| scalar_method(name).and_then(named))
}

/// A method that Rust's own numbers have; the meaning is Rust's.
pub fn scalar_method(name: &str) -> Option<Word> {
    Some(match name {
        "abs" | "wrapping_abs" => Word::Unary(UnaryOp::Abs),
        "wrapping_neg" => Word::Unary(UnaryOp::Neg),
        "exp" => Word::Unary(UnaryOp::Exp),
        "exp2" => Word::Unary(UnaryOp::Exp2),
        "ln" => Word::Unary(UnaryOp::Log),
        "log2" => Word::Unary(UnaryOp::Log2),
        "sqrt" => Word::Unary(UnaryOp::Sqrt),
        "tanh" => Word::Unary(UnaryOp::Tanh),
        "sin" => Word::Unary(UnaryOp::Sin),
        "cos" => Word::Unary(UnaryOp::Cos),
        "floor" => Word::Unary(UnaryOp::Floor),
        "ceil" => Word::Unary(UnaryOp::Ceil),
        "round" => Word::Unary(UnaryOp::Round),
        "round_ties_even" => Word::Unary(UnaryOp::RoundEven),
        "trunc" => Word::Unary(UnaryOp::Trunc),
        "is_nan" => Word::Unary(UnaryOp::IsNan),
        "is_infinite" => Word::Unary(UnaryOp::IsInf),
        "min" => Word::Binary(BinaryOp::Min),
        "max" => Word::Binary(BinaryOp::Max),
        "powf" => Word::Binary(BinaryOp::Pow),
        "rem_euclid" => Word::Binary(BinaryOp::RemEuclid),
        "div_ceil" => Word::Binary(BinaryOp::DivCeil),
        "wrapping_add" => Word::Binary(BinaryOp::Add),
        "wrapping_sub" => Word::Binary(BinaryOp::Sub),
        "wrapping_mul" => Word::Binary(BinaryOp::Mul),
        "mul_add" => Word::Fma,
        "to_f32" | "to_f64" => Word::Convert,
        _ => return None,
    })
}
