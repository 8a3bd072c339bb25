//! Messages about types and shapes.

use syn::Ident;

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
    format!(
        "`{name}` is not a type of the kernel language: write an element type, such as `f32`, or a type parameter"
    )
}

pub(crate) fn array_length() -> String {
    "the length of an array must be a literal or a const, at most 1024".into()
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
    format!(
        "`{name}` is not a shape: a shape is `{{ [BM, 64] }}` or a const parameter `const {name}: [i32; 2]`"
    )
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
