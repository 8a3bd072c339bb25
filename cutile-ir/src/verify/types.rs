//! Rules 3 to 5: operand and result types of each operation.

use super::{Checker, dims_agree, types_agree};
use crate::dim::Dim;
use crate::element::{Element, ElementClass, ElementType};
use crate::infer::result_type;
use crate::module::{Op, ParamRole, Value};
use crate::op::*;
use crate::print::type_text;
use crate::types::{MAX_RANK, TensorType, TileType, Type, ViewType};

pub(super) fn check(c: &mut Checker<'_>, op: &Op) {
    let before = c.errors.len();
    match &op.kind {
        OpKind::Create(k) => create(c, op, k),
        OpKind::Arith(k) => arith(c, op, k),
        OpKind::Shape(k) => shape(c, op, k),
        OpKind::Memory(k) => memory(c, op, k),
        OpKind::Reduce(ReduceOp::Reduce { kind, axis, x }) => reduce(c, op, *kind, *axis, *x),
        OpKind::Matrix(MatrixOp::Mma { a, b, acc }) => mma(c, op, [*a, *b, *acc]),
        OpKind::Program(ProgramOp::Assert { cond, .. }) => {
            scalar_of(c, op, "the condition", *cond, |e| e == Element::Bool, "bool");
        }
        OpKind::Program(_) | OpKind::Control(_) => {}
    }
    results(c, op, before);
}

/// Result count, stated type against inferred type, rank and extents.
fn results(c: &mut Checker<'_>, op: &Op, before: usize) {
    let expected = match &op.kind {
        OpKind::Memory(MemoryOp::Store { .. }) | OpKind::Program(ProgramOp::Assert { .. }) => 0,
        OpKind::Control(_) => op.results.len(),
        _ => 1,
    };
    if op.results.len() != expected {
        let n = op.results.len();
        c.fail(op, format!("{n} results where {expected} are expected"));
        return;
    }
    if c.errors.len() == before
        && let [v] = op.results[..]
        && let Some(inferred) = result_type(&op.kind, c.function)
        && !types_agree(c.function.ty(v), &inferred)
    {
        let (found, text) = (text(c, c.function.ty(v)), text(c, &inferred));
        c.fail(op, format!("the result is {text}, not {found}"));
    }
    for v in &op.results {
        let ty = c.function.ty(*v);
        if ty.rank() > MAX_RANK {
            let rank = ty.rank();
            c.fail(op, format!("rank {rank}; the highest is {MAX_RANK}"));
        }
        let shape = match ty {
            Type::Tile(t) => &t.shape[..],
            Type::View(t) => &t.shape[..],
            _ => &[],
        };
        for d in shape.iter().filter_map(Dim::known).filter(|d| *d < 1) {
            c.fail(op, format!("an extent of {d}; a tile's extents are at least 1"));
        }
    }
}

fn text(c: &Checker<'_>, ty: &Type) -> String {
    type_text(ty, c.function)
}

/// The element type once it is known; a parameter suits every rule until `specialise`.
fn element_ok(e: ElementType, ok: impl Fn(Element) -> bool) -> bool {
    e.known().is_none_or(ok)
}

fn scalar_of(
    c: &mut Checker<'_>,
    op: &Op,
    what: &str,
    v: Value,
    ok: impl Fn(Element) -> bool,
    expected: &str,
) {
    let suits = matches!(c.function.ty(v), Type::Scalar(e) if element_ok(*e, ok));
    if !suits {
        let found = text(c, c.function.ty(v));
        c.fail(op, format!("{what}: expected a scalar {expected}, found {found}"));
    }
}

fn tile<'a>(c: &mut Checker<'a>, op: &Op, what: &str, v: Value) -> Option<&'a TileType> {
    let t = c.function.ty(v).as_tile();
    if t.is_none() {
        let found = text(c, c.function.ty(v));
        c.fail(op, format!("{what}: expected a tile, found {found}"));
    }
    t
}

fn tensor<'a>(c: &mut Checker<'a>, op: &Op, v: Value) -> Option<&'a TensorType> {
    let t = c.function.ty(v).as_tensor();
    if t.is_none() {
        let found = text(c, c.function.ty(v));
        c.fail(op, format!("expected a tensor, found {found}"));
    }
    t
}

fn view<'a>(c: &mut Checker<'a>, op: &Op, v: Value) -> Option<&'a ViewType> {
    let t = c.function.ty(v).as_view();
    if t.is_none() {
        let found = text(c, c.function.ty(v));
        c.fail(op, format!("expected a partition view, found {found}"));
    }
    t
}

/// A scalar or a tile.
fn numeric(c: &mut Checker<'_>, op: &Op, v: Value) -> bool {
    let ok = matches!(c.function.ty(v), Type::Scalar(_) | Type::Tile(_));
    if !ok {
        let found = text(c, c.function.ty(v));
        c.fail(op, format!("expected a scalar or a tile, found {found}"));
    }
    ok
}

fn agree(c: &mut Checker<'_>, op: &Op, a: Value, b: Value) {
    let (x, y) = (c.function.ty(a), c.function.ty(b));
    if !types_agree(x, y) {
        let (x, y) = (text(c, x), text(c, y));
        c.fail(op, format!("operands of one type are expected, found {x} and {y}"));
    }
}

fn create(c: &mut Checker<'_>, op: &Op, k: &CreateOp) {
    let Some(ty) = op.results.first().map(|v| c.function.ty(*v).clone()) else { return };
    let e = ty.element();
    match k {
        CreateOp::Constant { value } => {
            let ok = element_ok(e, |e| match value {
                Literal::Bool(_) => e == Element::Bool,
                Literal::Int(n) => e.is_float() || (e.is_integer() && fits(*n, e)),
                Literal::Float(_) => e.is_float(),
            });
            if !ok || !matches!(ty, Type::Scalar(_) | Type::Tile(_)) {
                let t = text(c, &ty);
                c.fail(op, format!("the literal does not suit {t}"));
            }
        }
        CreateOp::Dim { dim } => {
            let ok = element_ok(e, |e| match dim.known() {
                Some(n) => e == Element::Bool || (e.is_integer() && fits(n.into(), e)),
                None => e == Element::Bool || e.is_integer(),
            });
            if !ok || !matches!(ty, Type::Scalar(_)) {
                let t = text(c, &ty);
                c.fail(op, format!("the number does not suit {t}"));
            }
        }
        CreateOp::Iota {} => {
            if ty.rank() != 1 || ty.as_tile().is_none() || !element_ok(e, Element::is_integer) {
                let t = text(c, &ty);
                c.fail(op, format!("iota gives a tile of integers of rank 1, not {t}"));
            }
        }
        CreateOp::Splat { scalar } => {
            let ok = matches!(c.function.ty(*scalar), Type::Scalar(s) if *s == e);
            if !ok || ty.as_tile().is_none() {
                let (s, t) = (text(c, c.function.ty(*scalar)), text(c, &ty));
                c.fail(op, format!("{s} can't be splatted into {t}"));
            }
        }
    }
}

/// Whether an integer literal is in an element type's range.
fn fits(n: i128, e: Element) -> bool {
    let bits = e.bits() as u32;
    match e.class() {
        ElementClass::Signed => n >= -(1 << (bits - 1)) && n < (1 << (bits - 1)),
        ElementClass::Unsigned => n >= 0 && n < (1 << bits),
        ElementClass::Float | ElementClass::Bool => false,
    }
}

fn arith(c: &mut Checker<'_>, op: &Op, k: &ArithOp) {
    let mut operands = Vec::new();
    op.kind.for_each_operand(|v| operands.push(v));
    if !operands.iter().all(|v| numeric(c, op, *v)) {
        return;
    }
    let e = |c: &Checker<'_>, v: Value| c.function.ty(v).element();
    let refuse = |c: &mut Checker<'_>, word: &str, v: Value| {
        let t = text(c, c.function.ty(v));
        c.fail(op, format!("`{word}` does not take {t}"));
    };
    let computes = |e: Element| e.has_arithmetic() || e == Element::Bool;
    match k {
        ArithOp::Unary { op: u, x } => {
            if !element_ok(e(c, *x), |e| computes(e) && u.takes(e.class())) {
                refuse(c, u.word(), *x);
            }
        }
        ArithOp::Binary { op: b, lhs, rhs } => {
            agree(c, op, *lhs, *rhs);
            if !element_ok(e(c, *lhs), |e| computes(e) && b.takes(e.class())) {
                refuse(c, b.word(), *lhs);
            }
        }
        ArithOp::Compare { op: k, lhs, rhs } => {
            agree(c, op, *lhs, *rhs);
            if !element_ok(e(c, *lhs), computes) {
                refuse(c, k.word(), *lhs);
            }
        }
        ArithOp::Select { cond, on_true, on_false } => {
            agree(c, op, *on_true, *on_false);
            let bool = c.function.ty(*on_true).with_element(Element::Bool.into());
            if !types_agree(c.function.ty(*cond), &bool) {
                let (found, bool) = (text(c, c.function.ty(*cond)), text(c, &bool));
                c.fail(op, format!("the condition: expected {bool}, found {found}"));
            }
        }
        ArithOp::Fma { a, b, c: addend } => {
            agree(c, op, *a, *b);
            agree(c, op, *a, *addend);
            if !element_ok(e(c, *a), |e| e.is_float() && e.has_arithmetic()) {
                refuse(c, "fma", *a);
            }
        }
        ArithOp::Convert { x } | ArithOp::Bitcast { x } => convert(c, op, k, *x),
    }
}

fn convert(c: &mut Checker<'_>, op: &Op, k: &ArithOp, x: Value) {
    let Some(to) = op.results.first().map(|v| c.function.ty(*v).clone()) else { return };
    let from = c.function.ty(x).clone();
    let (a, b) = (text(c, &from), text(c, &to));
    if !types_agree(&from.with_element(to.element()), &to) {
        c.fail(op, format!("a conversion keeps the shape; found {a} to {b}"));
    }
    let (Some(from), Some(to)) = (from.element().known(), to.element().known()) else { return };
    match k {
        ArithOp::Bitcast { .. } if from.bits() != to.bits() || to == Element::Bool => {
            c.fail(op, format!("a bitcast keeps the width and gives no bool; found {a} to {b}"));
        }
        ArithOp::Convert { .. } if to == Element::Bool && from != Element::Bool => {
            c.fail(op, format!("{a} does not convert to bool; compare it with 0"));
        }
        _ => {}
    }
}

fn shape(c: &mut Checker<'_>, op: &Op, k: &ShapeOp) {
    let x = match k {
        ShapeOp::Reshape { x }
        | ShapeOp::Broadcast { x }
        | ShapeOp::Permute { x, .. }
        | ShapeOp::ToScalar { x } => *x,
    };
    let Some(from) = tile(c, op, "the operand", x) else { return };
    let count = |t: &TileType| t.shape.iter().map(Dim::known).product::<Option<i64>>();
    if let ShapeOp::ToScalar { .. } = k {
        if count(from).is_some_and(|n| n != 1) {
            let t = text(c, c.function.ty(x));
            c.fail(op, format!("a tile of one element is expected, found {t}"));
        }
        return;
    }
    let Some(to) = op.results.first().and_then(|v| tile(c, op, "the result", *v)) else { return };
    let message = match k {
        ShapeOp::Reshape { .. } => match (count(from), count(to)) {
            (Some(n), Some(m)) if n != m => Some(format!("a reshape of {n} elements to {m}")),
            _ => None,
        },
        ShapeOp::Broadcast { .. } => {
            let repeats = |(a, b): (&Dim, &Dim)| a.known() == Some(1) || dims_agree(a, b);
            let ok =
                from.shape.len() == to.shape.len() && from.shape.iter().zip(&to.shape).all(repeats);
            (!ok).then(|| "a broadcast repeats axes of extent 1 and keeps the rank".to_string())
        }
        ShapeOp::Permute { order, .. } => {
            let mut seen = order.clone();
            seen.sort_unstable();
            let ok = seen.iter().copied().eq(0..from.shape.len() as u32);
            (!ok).then(|| {
                let rank = from.shape.len();
                format!("{order:?} is not an order of the {rank} axes")
            })
        }
        ShapeOp::ToScalar { .. } => None,
    };
    let message = message
        .or_else(|| (from.element != to.element).then(|| "the element type changes".to_string()));
    if let Some(m) = message {
        let (a, b) = (
            text(c, c.function.ty(x)),
            op.results.first().map(|v| text(c, c.function.ty(*v))).unwrap_or_default(),
        );
        c.fail(op, format!("{m}: {a} to {b}"));
    }
}

fn axis_ok(c: &mut Checker<'_>, op: &Op, axis: u32, rank: usize) -> bool {
    let ok = (axis as usize) < rank;
    if !ok {
        c.fail(op, format!("axis {axis} of a rank of {rank}"));
    }
    ok
}

fn memory(c: &mut Checker<'_>, op: &Op, k: &MemoryOp) {
    match k {
        MemoryOp::Extent { tensor: t, axis } => {
            if let Some(t) = tensor(c, op, *t) {
                axis_ok(c, op, *axis, t.extents.len());
            }
        }
        MemoryOp::Partition { tensor: t } => {
            let Some(t) = tensor(c, op, *t) else { return };
            let Some(v) = op.results.first().and_then(|v| view(c, op, *v)) else { return };
            if t.extents.len() != v.shape.len() {
                let (n, m) = (t.extents.len(), v.shape.len());
                c.fail(op, format!("a tensor of rank {n} is cut into tiles of rank {m}"));
            }
            if t.element != v.element {
                c.fail(op, "the view's element type is not the tensor's");
            }
        }
        MemoryOp::TileCount { view: v, axis } => {
            if let Some(v) = view(c, op, *v) {
                axis_ok(c, op, *axis, v.shape.len());
            }
        }
        MemoryOp::Load { view: v, index, padding } => {
            let Some(v) = view(c, op, *v) else { return };
            index_ok(c, op, index, v.shape.len());
            if let Padding::Fill(p) = padding {
                let element = v.element;
                if !matches!(c.function.ty(*p), Type::Scalar(e) if *e == element) {
                    let found = text(c, c.function.ty(*p));
                    let expected = text(c, &Type::Scalar(element));
                    c.fail(op, format!("the padding: expected {expected}, found {found}"));
                }
            }
        }
        MemoryOp::Store { tile: t, view: v, index } => {
            let written = *v;
            let Some(v) = view(c, op, *v) else { return };
            index_ok(c, op, index, v.shape.len());
            let expected = Type::Tile(v.tile());
            if !types_agree(c.function.ty(*t), &expected) {
                let (a, b) = (text(c, c.function.ty(*t)), text(c, &expected));
                c.fail(op, format!("the tile: expected {b}, found {a}"));
            }
            writable(c, op, written);
        }
    }
}

fn index_ok(c: &mut Checker<'_>, op: &Op, index: &[Value], rank: usize) {
    if index.len() != rank {
        let n = index.len();
        c.fail(op, format!("{n} indices for a view of rank {rank}"));
    }
    for v in index {
        scalar_of(c, op, "an index", *v, Element::is_integer, "integer");
    }
}

/// The view is a partition of a parameter that the kernel may write.
fn writable(c: &mut Checker<'_>, op: &Op, view: Value) {
    let f = c.function;
    let mut shared = None;
    f.body.for_each_op(&mut |o| {
        if let OpKind::Memory(MemoryOp::Partition { tensor }) = &o.kind
            && o.results.first() == Some(&view)
        {
            shared = f.params.iter().find(|p| p.value == *tensor && p.role == ParamRole::Shared);
        }
    });
    if let Some(p) = shared {
        c.fail(op, format!("`{}` is `&Tensor`: a store needs `&mut Tensor`", p.name));
    }
}

fn reduce(c: &mut Checker<'_>, op: &Op, kind: ReduceKind, axis: u32, x: Value) {
    let Some(t) = tile(c, op, "the operand", x) else { return };
    if !axis_ok(c, op, axis, t.shape.len()) {
        return;
    }
    let ok = element_ok(t.element, |e| match kind {
        ReduceKind::Any | ReduceKind::All => e == Element::Bool,
        ReduceKind::Maximum | ReduceKind::Minimum => e.is_float() && e.has_arithmetic(),
        _ => e.has_arithmetic(),
    });
    if !ok {
        let t = text(c, c.function.ty(x));
        c.fail(op, format!("`{}` does not reduce {t}", kind.word()));
    }
}

/// Which accumulator the operands' element type takes.
pub(crate) fn accumulates(a: Element, acc: Element) -> bool {
    use Element::*;
    matches!(
        (a, acc),
        (F32 | TF32 | F16 | BF16 | F8E4M3 | F8E5M2, F32) | (F16, F16) | (F64, F64) | (I8 | U8, I32)
    )
}

fn mma(c: &mut Checker<'_>, op: &Op, [a, b, acc]: [Value; 3]) {
    let what = ["the left operand", "the right operand", "the accumulator"];
    let mut tiles = Vec::new();
    for (v, what) in [a, b, acc].into_iter().zip(what) {
        let Some(t) = tile(c, op, what, v) else { return };
        if t.shape.len() != 2 {
            let n = t.shape.len();
            c.fail(op, format!("{what} has rank {n}; `mma` takes matrices"));
            return;
        }
        tiles.push(t.clone());
    }
    for (x, i, y, j, name) in [(0, 0, 2, 0, "M"), (1, 1, 2, 1, "N"), (0, 1, 1, 0, "K")] {
        let (d, e) = (&tiles[x].shape[i], &tiles[y].shape[j]);
        if !dims_agree(d, e) {
            let (d, e) = (d.known().unwrap_or(0), e.known().unwrap_or(0));
            c.fail(op, format!("{name} is {d} in {} and {e} in {}", what[x], what[y]));
        }
    }
    let elements = (tiles[0].element, tiles[1].element, tiles[2].element);
    if elements.0 != elements.1 {
        c.fail(op, "the operands of `mma` have one element type");
    } else if let (Some(x), Some(z)) = (elements.0.known(), elements.2.known())
        && !accumulates(x, z)
    {
        c.fail(op, format!("`mma` of {x} does not accumulate in {z}"));
    }
}
