//! The catalogue of messages: what was given, what is expected, what to write instead. No spans and no decisions here.

use std::fmt::Write;

use cutile_ir::{
    Dim, Element, ElementType,
    op::{BinaryOp, UnaryOp},
};
use syn::Ident;

use crate::{
    resolve::FunctionNames,
    typing::types::{El, Ty},
};

// Items and functions.

pub(crate) fn module_without_body(name: &Ident) -> String {
    format!("`#[cutile::module]` goes on a module with its body in place: `mod {name} {{ .. }}`")
}

pub(crate) fn unsupported_item(what: &str) -> String {
    format!("a kernel module can't hold a {what}: it holds `use`, `const` and `fn`; move it outside the module")
}

pub(crate) fn function_modifier(what: &str) -> String {
    format!("a kernel function can't be `{what}`: write a plain `fn`")
}

pub(crate) fn const_parameter_kind(name: &Ident) -> String {
    format!("const parameter `{name}` must be `i32`, `bool` or `[i32; N]` with N a literal up to 6")
}

pub(crate) fn self_parameter() -> String {
    "kernel functions have no `self`: write a free function and name the parameter".into()
}

pub(crate) fn parameter_pattern() -> String {
    "a parameter is a single name: take a tuple by name and use `.0`, `.1`".into()
}

pub(crate) fn entry_with_result(name: &Ident) -> String {
    format!("entry `{name}` returns nothing: results go out through `&mut Tensor` parameters")
}

pub(crate) fn entry_parameter(name: &Ident) -> String {
    format!("entry parameter `{name}` must be a scalar, a `&Tensor<..>` or a `&mut Tensor<..>`")
}

pub(crate) fn entry_without_parameters(name: &Ident) -> String {
    format!("entry `{name}` has no parameters, so a launch of it could do nothing: give it a `&mut Tensor`")
}

pub(crate) fn entry_parameter_count(name: &Ident, most: usize, given: usize) -> String {
    format!("entry `{name}` has {given} parameters: a launch takes at most {most}")
}

pub(crate) fn free_array(name: &Ident) -> String {
    format!(
        "no tensor parameter has the shape `{name}`, so a launch can't bind it, and Rust has no array arguments: use an `i32` parameter for each extent"
    )
}

pub(crate) fn nested_entry() -> String {
    "an entry stands at the top of its module: move it out of the function".into()
}

pub(crate) fn nested_function() -> String {
    "a helper function stands at the top of a function or of the module: move it there".into()
}

pub(crate) fn item_in_function() -> String {
    "a kernel function holds statements and helper functions: move this item to the module".into()
}

pub(crate) fn unknown_attribute(path: &syn::Path) -> String {
    format!("unknown attribute `{}`: an entry is marked `#[cutile::entry(..)]`, a helper needs no mark", crate::resolve::path_text(path))
}

pub(crate) fn entry_name_value() -> String {
    "options of an entry stand in parentheses: `#[cutile::entry(fast_math)]`".into()
}

pub(crate) fn entry_syntax(e: &syn::Error) -> String {
    format!("{e}; options of an entry are `fast_math` and `specialize(S = [64, 64], T = f32)`, separated by commas")
}

pub(crate) fn option_form(name: &str, form: &str) -> String {
    format!("`{name}` is written `{form}`")
}

pub(crate) fn unknown_option(path: &syn::Path) -> String {
    format!("unknown option `{}` of an entry: the options are `fast_math` and `specialize(..)`", crate::resolve::path_text(path))
}

pub(crate) fn specialize_syntax(e: &syn::Error) -> String {
    format!("{e}; a specialisation is written `specialize(S = [64, 64], T = f32)`")
}

pub(crate) fn specialize_value(name: &Ident) -> String {
    format!("the value of `{name}` must be an integer, a bool, an array of integers or an element type")
}

pub(crate) fn specialize_unknown(name: &Ident, entry: &Ident, known: &[String]) -> String {
    if known.is_empty() {
        return format!("entry `{entry}` has no generic parameters to specialise, so no `{name}`");
    }
    format!("entry `{entry}` has no generic parameter `{name}`: it has {}", list(known))
}

pub(crate) fn specialize_missing(entry: &Ident, missing: &[String]) -> String {
    format!("a specialisation of `{entry}` gives every generic parameter: {} missing", list(missing))
}

pub(crate) fn specialize_kind(name: &Ident, expected: &str) -> String {
    format!("`{name}` takes {expected}")
}

pub(crate) fn specialize_twice(name: &Ident) -> String {
    format!("`{name}` is given twice")
}

pub(crate) fn const_type(name: &Ident) -> String {
    format!("const `{name}` must have an element type, or be an array `[i32; N]`")
}

pub(crate) fn const_float_value(name: &Ident) -> String {
    format!("the value of `{name}` must be visible here: a number, or arithmetic on numbers and other consts of the module")
}

// Types and shapes.

pub(crate) fn unsupported_type() -> String {
    "this type has no meaning in a kernel: use element types, `Tile`, `Tensor` references, views, shapes, tuples and arrays".into()
}

pub(crate) fn generic_arguments(name: &str) -> String {
    match name {
        "Shape" => "`Shape` takes a shape".into(),
        _ => format!("`{name}` takes an element type and a shape: `{name}<f32, {{ [BM, 64] }}>`"),
    }
}

pub(crate) fn unknown_somewhere(name: &Ident) -> String {
    format!("the types in `{name}` are not all known: annotate the variables")
}

pub(crate) fn reference_type() -> String {
    "only tensors are taken by reference: take scalars and tiles by value".into()
}

pub(crate) fn reference_to_tile() -> String {
    "a tile is a value: take `Tile<..>` without `&`, and return the new tile".into()
}

pub(crate) fn reference_to_value() -> String {
    "only tensors are passed by reference: pass scalars and tiles by value".into()
}

pub(crate) fn tensor_by_value() -> String {
    "a tensor is taken as `&Tensor<..>` to read or as `&mut Tensor<..>` to write".into()
}

pub(crate) fn shape_syntax() -> String {
    "a shape is `{ [BM, 64] }`, with -1 for an extent known at launch, or an array parameter such as `S`".into()
}

pub(crate) fn unsupported_generic_argument() -> String {
    "a generic argument is a name, a number in braces, a shape in braces, or an element type".into()
}

pub(crate) fn unknown_type(name: &Ident) -> String {
    format!("`{name}` is not a type of the kernel language")
}

pub(crate) fn array_length() -> String {
    "the length of an array must be a literal or a const".into()
}

pub(crate) fn dynamic_sub_tensor() -> String {
    "the shape of a `&mut Tensor` is the shape of the sub-tensor that one program writes, so it can't be -1: use a const \
     parameter, which the launch binds from the partition"
        .into()
}

pub(crate) fn dynamic_tile() -> String {
    "the shape of a tile must be known before the launch, so it can't have an extent of -1: use a const parameter or a literal".into()
}

pub(crate) fn load_of_dynamic() -> String {
    "this tensor has an extent known only at launch, so it is not one tile: cut it with `.partition(const_shape![..])` and load by \
     index, or use `load_tile_like`"
        .into()
}

pub(crate) fn not_a_shape(name: &Ident) -> String {
    format!("`{name}` is not a shape: a shape is `{{ [BM, 64] }}` or a const parameter `const {name}: [i32; 2]`")
}

pub(crate) fn rank_too_high(rank: usize) -> String {
    format!("a shape of rank {rank}: the highest rank is {}", cutile_ir::MAX_RANK)
}

pub(crate) fn extent_value(n: i64) -> String {
    format!("{n} is not an extent: extents are at least 1, or -1 where known only at launch")
}

pub(crate) fn extent() -> String {
    "an extent must be known before the launch: literals, const parameters, integer consts, and + - * / % on them".into()
}

// Statements and expressions.

pub(crate) fn let_else() -> String {
    "`let .. else` is not supported: kernels have no patterns that can fail".into()
}

pub(crate) fn pattern() -> String {
    "a pattern is a name, `_`, or a tuple of patterns".into()
}

pub(crate) fn literal() -> String {
    "a literal must be an integer, a float or a bool, with an element type as its suffix if it has one".into()
}

pub(crate) fn dereference() -> String {
    "kernels have no pointers to dereference: use the value itself".into()
}

pub(crate) fn unsupported_expression(what: &str, instead: &str) -> String {
    format!("{what} is not supported in a kernel: {instead}")
}

pub(crate) fn callee() -> String {
    "call a function by its name".into()
}

pub(crate) fn named_field(name: &Ident) -> String {
    format!("kernels have no structs, so no field `{name}`: fields of tuples are `.0`, `.1`")
}

pub(crate) fn inclusive_range() -> String {
    "`..=` is not supported: write `lower..upper + 1`".into()
}

pub(crate) fn for_over() -> String {
    "`for` runs over a range of integers: `lower..upper`, with `.step_by(n)` or `.rev()`".into()
}

pub(crate) fn unsupported_macro(name: &str) -> String {
    format!("`{name}!` is not supported in a kernel: the macros are `const_shape!`, `const_array!` and `assert!`")
}

pub(crate) fn macro_arguments(name: &str, e: &syn::Error) -> String {
    format!("{e}; `{name}!` takes expressions separated by commas")
}

pub(crate) fn assert_arguments() -> String {
    "`assert!` takes a scalar condition and, if wanted, a plain text: `assert!(n > 0, \"n must be positive\")`".into()
}

pub(crate) fn shadows_parameter(name: &Ident) -> String {
    format!("`{name}` is a generic parameter of this function: give the variable another name")
}

pub(crate) fn array_parameter_as_value(name: &Ident) -> String {
    format!("`{name}` is an array: use an element, `{name}[0]`, or the shape of a tensor or tile, `x.shape()`")
}

pub(crate) fn constant_index() -> String {
    "the index must be a literal or a const".into()
}

pub(crate) fn index_out_of_range(index: i64, len: usize) -> String {
    format!("index {index} is out of range: there are {len}")
}

pub(crate) fn tile_index() -> String {
    "tiles can't be indexed: a tile is computed with as a whole; use `extract`, a reduction, or a smaller tile".into()
}

pub(crate) fn assign_view() -> String {
    "a variable that is a tensor, a view or a shape can't be assigned to: bind another name with `let`".into()
}

pub(crate) fn chosen_view() -> String {
    "which tensor, view or shape it is must be known before the launch: choose between loaded tiles instead".into()
}

pub(crate) fn assign_place() -> String {
    "only variables and their tuple fields can be assigned to".into()
}

pub(crate) fn cast_of_tile() -> String {
    "`as` converts scalars: convert a tile with `convert`, as in `let y: Tile<f16, S> = convert(x);`".into()
}

pub(crate) fn closure() -> String {
    "closures are not supported here: write a helper `fn`".into()
}

pub(crate) fn exit_in_operand(what: &str) -> String {
    format!("`{what}` inside an operand is not supported: bind the `if` that holds it with `let` first")
}

pub(crate) fn axis_order(rank: usize) -> String {
    format!("an order of {rank} axes names each of 0 to {} once", rank.saturating_sub(1))
}

pub(crate) fn assignment_in_condition() -> String {
    "the condition of `while` can't assign, return, break or continue: write `loop` with an `if .. { break; }`".into()
}

pub(crate) fn step() -> &'static str {
    "the step of a range must be positive"
}

pub(crate) fn sub_index(axis: usize) -> String {
    format!("tile index out of the program's sub-tensor, or tiles that don't divide it, on axis {axis}")
}

pub(crate) fn recursion(name: &Ident) -> String {
    format!("`{name}` calls itself, which kernels can't: write a loop")
}

pub(crate) fn own_fault(what: &str) -> String {
    format!("this can't be compiled, by a fault of cutile's; please report it: {what}")
}

// Calls.

pub(crate) fn unknown_name(name: &Ident) -> String {
    format!("`{name}` is not defined here")
}

pub(crate) fn unknown_function(name: &Ident) -> String {
    format!("`{name}` is neither a function of this module nor of the vocabulary")
}

pub(crate) fn unknown_scalar_function(name: &Ident) -> String {
    format!("scalars in kernels have no method `{name}`: see the vocabulary for the functions that there are")
}

pub(crate) fn no_method(ty: &str, name: &Ident) -> String {
    format!("`{ty}` has no method `{name}`")
}

pub(crate) fn argument_count(name: &Ident, wanted: usize, given: usize) -> String {
    format!("`{name}` takes {wanted} argument{}, not {given}", if wanted == 1 { "" } else { "s" })
}

pub(crate) fn call_of_entry(name: &Ident) -> String {
    format!("`{name}` is an entry, which only a launch can call: move what both need to a helper `fn`")
}

pub(crate) fn helper_parameters(name: &Ident) -> String {
    format!("the arguments don't determine the const parameters of `{name}`: write `{name}::<..>(..)`")
}

pub(crate) fn sub_tensor_as_shared(name: &Ident) -> String {
    format!(
        "`{name}` takes `&Tensor`, a whole tensor, and this is the sub-tensor of a `&mut Tensor`: let `{name}` take `&mut Tensor`, or \
         pass a loaded tile"
    )
}

pub(crate) fn import_result(path: &str) -> String {
    format!("the type of `{path}(..)` is not known here, since its declaration is in another module: annotate it, as in `let y: Tile<f32, S> = {path}(..);`")
}

pub(crate) fn literal_for_import(_helper: &str) -> String {
    "the type of this number is not known here, since the helper's declaration is in another module: write it with its type, as in `2.0f32`".into()
}

pub(crate) fn id_rank() -> String {
    "write the number of grid axes: `tile_block_id::<4>()`, from 1 to 6".into()
}

pub(crate) fn axis_not_constant() -> String {
    "an axis must be a literal or a const".into()
}

pub(crate) fn axis_out_of_range(axis: i64, rank: usize) -> String {
    format!("there is no axis {axis}: a tile of rank {rank} has axes 0 to {}", rank.saturating_sub(1))
}

pub(crate) fn to_scalar_shape() -> String {
    "only a tile of one element is a scalar: reduce it first, as in `reduce_sum(t, 0)`".into()
}

pub(crate) fn transpose_rank(rank: usize) -> String {
    format!("`transpose` takes a tile of rank 2, not {rank}: use `permute`")
}

pub(crate) fn reshape_size(from: i64, to: i64) -> String {
    format!("a tile of {from} elements can't be reshaped to one of {to}")
}

pub(crate) fn broadcast_rank(from: usize, to: usize) -> String {
    format!("a tile of rank {from} can't be broadcast to rank {to}: reshape it first")
}

pub(crate) fn broadcast_extent(axis: usize, from: i64, to: i64) -> String {
    format!("axis {axis} has extent {from} and can't be broadcast to {to}: only an extent of 1 grows")
}

pub(crate) fn permute_rank(rank: usize, order: usize) -> String {
    format!("a tile of rank {rank} takes an order of {rank} axes, not {order}")
}

pub(crate) fn mma_shapes() -> String {
    "`mma` takes tiles of shapes [M, K], [K, N] and [M, N]".into()
}

pub(crate) fn mma_elements(a: Element, acc: Element) -> String {
    format!(
        "`mma` of `{a}` can't accumulate in `{acc}`: f16 goes into f16 or f32; bf16, tf32, f32 and fp8 into f32; f64 into f64; i8 and u8 into i32"
    )
}

pub(crate) fn like_of_shared() -> String {
    "the tensor to be like must be the program's own, a `&mut Tensor`: for another shape use `load_tile(x, const_shape![..], index)`".into()
}

pub(crate) fn like_rank(given: usize, wanted: usize) -> String {
    format!("the tensor has rank {given}, the one to be like has rank {wanted}")
}

pub(crate) fn partition_of_mutable(method: &str) -> String {
    format!("`{method}` reads whole tensors, and this is the sub-tensor of a `&mut Tensor`: use `.load()`, or `.partition_mut(const_shape![..])`")
}

pub(crate) fn sub_partition(axis: usize, whole: i64, part: i64) -> String {
    format!("axis {axis}: tiles of {part} don't divide the sub-tensor's {whole}")
}

pub(crate) fn tile_rank(tensor: usize, tile: usize) -> String {
    format!("the tensor has rank {tensor}, the tile has rank {tile}")
}

// Types of operands.

pub(crate) fn mismatch(expected: &str, got: &str) -> String {
    format!("expected `{expected}`, found `{got}`")
}

pub(crate) fn operand(got: &str) -> String {
    format!("expected a scalar or a tile, found `{got}`")
}

pub(crate) fn operands(left: &str, right: &str) -> String {
    format!("`{left}` doesn't go with `{right}`")
}

pub(crate) fn tuple_pattern(len: usize, got: &str) -> String {
    format!("a tuple of {len} is expected, this is `{got}`")
}

pub(crate) fn unknown_element(name: &str) -> String {
    format!("the element type of `{name}` is not determined: annotate it, as in `let {name}: Tile<f32, S> = ..;`")
}

pub(crate) fn unary_element(op: UnaryOp, element: Element) -> String {
    match op {
        UnaryOp::Neg => no_arithmetic("-", element, "negation takes floats and signed integers"),
        UnaryOp::Not => no_arithmetic("!", element, "it takes bool and integers"),
        UnaryOp::Abs => no_arithmetic("abs", element, "it takes floats and signed integers"),
        _ => no_arithmetic(crate::unary_name(op), element, "it takes floats: convert it first, with `convert`"),
    }
}

pub(crate) fn binary_element(op: BinaryOp, element: Element) -> String {
    let takes = match op {
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => "it takes bool and integers",
        BinaryOp::Shl | BinaryOp::Shr | BinaryOp::DivFloor | BinaryOp::DivCeil | BinaryOp::RemEuclid => "it takes integers",
        BinaryOp::Pow | BinaryOp::Minimum | BinaryOp::Maximum => "it takes floats",
        _ if element == Element::Bool => "convert it first, or use `&`, `|`, `^`",
        _ => "convert it to a type with arithmetic first, with `convert`",
    };
    no_arithmetic(crate::binary_name(op), element, takes)
}

fn no_arithmetic(op: &str, element: Element, takes: &str) -> String {
    format!("`{op}` has no meaning for `{element}`: {takes}")
}

pub(crate) fn takes(name: &str, what: &str, element: Element) -> String {
    format!("`{name}` takes {what}, not `{element}`")
}

// Pieces.

fn list(names: &[String]) -> String {
    names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")
}

/// A type as its author would write it.
pub(crate) fn type_text(ty: &Ty, names: &FunctionNames<'_, '_>) -> String {
    let el = |e: &El| match e {
        El::Is(ElementType::Known(e)) => e.name().to_string(),
        El::Is(ElementType::Param(p)) => names
            .function
            .generics
            .iter()
            .filter(|g| g.kind == crate::ast::GenericKind::Element)
            .nth(p.0 as usize)
            .map_or_else(|| "_".into(), |g| g.name.to_string()),
        El::Var(_) => "_".into(),
    };
    let shape = |s: &mut dyn Iterator<Item = Option<&Dim>>| {
        let extents: Vec<String> = s.map(|d| d.map_or_else(|| "-1".into(), |d| dim_text(d, names))).collect();
        format!("{{ [{}] }}", extents.join(", "))
    };
    match ty {
        Ty::Never => "!".into(),
        Ty::Error | Ty::Var(_) => "_".into(),
        Ty::Scalar(e) => el(e),
        Ty::Tile(e, s) => format!("Tile<{}, {}>", el(e), shape(&mut s.iter().map(Some))),
        Ty::Tensor { mutable, element, extents } => {
            format!("&{}Tensor<{}, {}>", if *mutable { "mut " } else { "" }, el(element), shape(&mut extents.iter().map(Option::as_ref)))
        }
        Ty::View { mutable, element, shape: s } => {
            format!("PartitionView{}<{}, {}>", if *mutable { "Mut" } else { "" }, el(element), shape(&mut s.iter().map(Some)))
        }
        Ty::Shape(s) => format!("Shape<{}>", shape(&mut s.iter().map(Option::as_ref))),
        Ty::Order(_) => "Array<_>".into(),
        Ty::Tuple(types) => {
            let inner: Vec<String> = types.iter().map(|t| type_text(t, names)).collect();
            format!("({})", inner.join(", "))
        }
        Ty::Array(t, n) => format!("[{}; {n}]", type_text(t, names)),
    }
}

fn dim_text(d: &Dim, names: &FunctionNames<'_, '_>) -> String {
    match d {
        Dim::Const(n) => n.to_string(),
        Dim::Param { param, axis } => {
            let name = names
                .function
                .generics
                .iter()
                .filter(|g| g.kind != crate::ast::GenericKind::Element)
                .nth(param.0 as usize)
                .map_or_else(|| "_".into(), |g| g.name.to_string());
            axis.map_or_else(|| name.clone(), |a| format!("{name}[{a}]"))
        }
        Dim::Extern(e) => names.externs.get(e.0 as usize).cloned().unwrap_or_else(|| "_".into()),
        Dim::Expr(op, a, b) => format!("{} {} {}", dim_text(a, names), op.symbol(), dim_text(b, names)),
    }
}

/// An expression as short text.
pub(crate) fn source_text(e: &impl quote::ToTokens) -> String {
    let mut text = String::new();
    let mut previous_joins = true;
    for token in e.to_token_stream() {
        let token = token.to_string();
        let joins = matches!(token.as_str(), "." | "," | "(" | ")" | "[" | "]" | "::" | ":");
        if !(previous_joins || joins) {
            text.push(' ');
        }
        let _ = write!(text, "{token}");
        previous_joins = joins && token != ",";
    }
    text
}

