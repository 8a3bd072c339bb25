//! Messages about statements and expressions.

use cutile_ir::Element;
use syn::Ident;

pub(crate) fn let_else() -> String {
    "`let .. else` is not supported: kernels have no patterns that can fail".into()
}

pub(crate) fn pattern() -> String {
    "a pattern is a name, `_`, or a tuple or array of patterns".into()
}

pub(crate) fn literal() -> String {
    "a literal must be an integer, a float or a bool, with an element type as its suffix if it has one".into()
}

pub(crate) fn literal_range(element: Element, least: i128, greatest: i128) -> String {
    format!("`{}` doesn't hold this number: it holds {least} to {greatest}", element.name())
}

pub(crate) fn literal_of(element: Element) -> String {
    let name = element.name();
    match element {
        Element::F16 | Element::BF16 => {
            format!("Rust has no literals of `{name}`: write `{name}::from_f32(2.0)`")
        }
        _ => format!("Rust has no literals of `{name}`: write `convert_scalar::<{name}>(2.0f32)`"),
    }
}

pub(crate) fn literal_of_parameter(name: &str, number: &str) -> String {
    format!("a literal has no type `{name}`: write `convert_scalar::<{name}>({number})`")
}

pub(crate) fn cast_of_foreign(to: &str) -> String {
    format!("`as` knows Rust's own numbers only: write `convert_scalar::<{to}>(x)`")
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
    format!(
        "`{name}!` is not supported in a kernel: the macros are `const_shape!`, `const_array!` and `assert!`"
    )
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
    format!(
        "`{name}` is an array: use an element, `{name}[0]`, or the shape of a tensor or tile, `x.shape()`"
    )
}

pub(crate) fn constant_index() -> String {
    "the index must be a literal or a const".into()
}

pub(crate) fn index_out_of_range(index: i64, len: usize) -> String {
    format!("index {index} is out of range: there are {len}")
}

pub(crate) fn tile_index() -> String {
    "tiles can't be indexed: a tile is computed with as a whole; use a reduction, `select`, or load a smaller tile".into()
}

pub(crate) fn assign_view() -> String {
    "a variable that is a tensor, a view or a shape can't be assigned to: bind another name with `let`".into()
}

pub(crate) fn chosen_view() -> String {
    "which tensor, view or shape it is must be known before the launch: choose between loaded tiles instead".into()
}

pub(crate) fn assign_place() -> String {
    "only variables, their tuple fields and tuples of both can be assigned to".into()
}

pub(crate) fn cast_of_tile() -> String {
    "`as` converts scalars: convert a tile with `convert`, as in `let y: Tile<f16, S> = convert(x);`".into()
}

pub(crate) fn closure() -> String {
    "a closure is an argument of `map` only, as in `t.map(|v| v * 2.0)`: elsewhere write a helper `fn`".into()
}

pub(crate) fn closure_content(what: &str) -> String {
    format!(
        "a closure of `map` is evaluated for all elements at once, so {what} are not supported in it: write expressions, `let`, and `if .. else ..`"
    )
}

pub(crate) fn closure_division() -> String {
    "both sides of an `if` in a closure are evaluated, so this division could fault for elements that take the other side: divide outside the closure".into()
}

pub(crate) fn closure_parameters() -> String {
    "`map` takes a closure of one element, as in `t.map(|v| v * 2.0)`".into()
}

pub(crate) fn exit_in_operand(what: &str) -> String {
    format!(
        "`{what}` inside an operand is not supported: bind the `if` that holds it with `let` first"
    )
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
    format!(
        "tile index out of the program's sub-tensor, or tiles that don't divide it, on axis {axis}"
    )
}

pub(crate) fn recursion(name: &Ident) -> String {
    format!("`{name}` calls itself, which kernels can't: write a loop")
}

pub(crate) fn own_fault(what: &str) -> String {
    format!("this can't be compiled, by a fault of cutile's; please report it: {what}")
}
