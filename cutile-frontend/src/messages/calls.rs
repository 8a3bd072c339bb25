//! Messages about calls.

use cutile_ir::Element;
use syn::Ident;

pub(crate) fn unknown_name(name: &Ident) -> String {
    format!("`{name}` is not defined here")
}

pub(crate) fn unknown_associated(path: &syn::Path) -> String {
    format!(
        "kernels don't know `{}`: write its value, or declare a const of the module with it",
        crate::resolve::path_text(path)
    )
}

pub(crate) fn unknown_function(name: &Ident) -> String {
    format!("`{name}` is neither a function of this module nor of the vocabulary")
}

pub(crate) fn unknown_scalar_function(name: &Ident) -> String {
    let instead = match name.to_string().as_str() {
        "powi" | "pow" | "checked_pow" | "wrapping_pow" => "multiply, or write `powf` for floats",
        "clamp" => "write `x.max(least).min(greatest)`",
        "from" | "into" | "try_from" | "try_into" => "write `as`",
        "clone" => "use the value itself",
        "recip" => "write `1.0 / x`",
        "signum" => "write `if`",
        "div_euclid" => "write `div_floor(a, b)` if `b` is positive",
        _ => "see the vocabulary for the functions that there are",
    };
    format!("scalars in kernels have no method `{name}`: {instead}")
}

pub(crate) fn std_function(path: &str) -> String {
    format!("a kernel can't call `{path}`: use the vocabulary, methods of numbers, or a helper")
}

pub(crate) fn function_of_tiles(name: &str) -> String {
    format!("what computes on tiles is a function: write `{name}(..)`")
}

pub(crate) fn no_method(ty: &str, name: &Ident) -> String {
    format!("`{ty}` has no method `{name}`")
}

pub(crate) fn argument_count(name: &Ident, wanted: usize, given: usize) -> String {
    format!("`{name}` takes {wanted} argument{}, not {given}", if wanted == 1 { "" } else { "s" })
}

pub(crate) fn call_of_entry(name: &Ident) -> String {
    format!(
        "`{name}` is an entry, which only a launch can call: move what both need to a helper `fn`"
    )
}

pub(crate) fn helper_parameters(name: &Ident) -> String {
    format!(
        "the arguments don't determine the const parameters of `{name}`: write `{name}::<..>(..)`"
    )
}

pub(crate) fn sub_tensor_as_shared(name: &Ident) -> String {
    format!(
        "`{name}` takes `&Tensor`, a whole tensor, and this is the sub-tensor of a `&mut Tensor`: let `{name}` take `&mut Tensor`, or \
         pass a loaded tile"
    )
}

pub(crate) fn import_result(path: &str) -> String {
    format!(
        "the type of `{path}(..)` is not known here, since its declaration is in another module: annotate it, as in `let y: Tile<f32, S> = {path}(..);`"
    )
}

pub(crate) fn foreign_const(expected: &str) -> String {
    format!(
        "`{expected}` is expected here, and consts of other modules are i32: pass the value as a scalar argument, or write the const in this module"
    )
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
    format!(
        "there is no axis {axis}: a tile of rank {rank} has axes 0 to {}",
        rank.saturating_sub(1)
    )
}

pub(crate) fn grid_axis(axis: i64) -> String {
    format!("there is no axis {axis}: a grid has axes 0 to {}", cutile_ir::MAX_RANK - 1)
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
    format!(
        "axis {axis} has extent {from} and can't be broadcast to {to}: only an extent of 1 grows"
    )
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
    format!(
        "`{method}` reads whole tensors, and this is the sub-tensor of a `&mut Tensor`: use `.load()`, or `.partition_mut(const_shape![..])`"
    )
}

pub(crate) fn sub_partition(axis: usize, whole: i64, part: i64) -> String {
    format!("axis {axis}: tiles of {part} don't divide the sub-tensor's {whole}")
}

pub(crate) fn tile_rank(tensor: usize, tile: usize) -> String {
    format!("the tensor has rank {tensor}, the tile has rank {tile}")
}
