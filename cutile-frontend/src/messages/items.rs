//! Messages about modules, functions and entries.

use syn::Ident;

use super::text::list;

pub(crate) fn module_without_body(name: &Ident) -> String {
    format!("`#[cutile::module]` goes on a module with its body in place: `mod {name} {{ .. }}`")
}

pub(crate) fn unsupported_item(what: &str) -> String {
    format!(
        "a kernel module can't hold a {what}: it holds `use`, `const` and `fn`; move it outside the module"
    )
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
    format!(
        "entry `{name}` has no parameters, so a launch of it could do nothing: give it a `&mut Tensor`"
    )
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
    format!(
        "unknown attribute `{}`: an entry is marked `#[cutile::entry(..)]`, a helper needs no mark",
        crate::resolve::path_text(path)
    )
}

pub(crate) fn entry_name_value() -> String {
    "options of an entry stand in parentheses: `#[cutile::entry(fast_math)]`".into()
}

pub(crate) fn entry_syntax(e: &syn::Error) -> String {
    format!(
        "{e}; options of an entry are `fast_math` and `specialize(S = [64, 64], T = f32)`, separated by commas"
    )
}

pub(crate) fn option_form(name: &str, form: &str) -> String {
    format!("`{name}` is written `{form}`")
}

pub(crate) fn unknown_option(path: &syn::Path) -> String {
    format!(
        "unknown option `{}` of an entry: the options are `fast_math` and `specialize(..)`",
        crate::resolve::path_text(path)
    )
}

pub(crate) fn specialize_syntax(e: &syn::Error) -> String {
    format!("{e}; a specialisation is written `specialize(S = [64, 64], T = f32)`")
}

pub(crate) fn specialize_value(name: &Ident) -> String {
    format!(
        "the value of `{name}` must be an integer, a bool, an array of integers or an element type"
    )
}

pub(crate) fn specialize_unknown(name: &Ident, entry: &Ident, known: &[String]) -> String {
    if known.is_empty() {
        return format!("entry `{entry}` has no generic parameters to specialise, so no `{name}`");
    }
    format!("entry `{entry}` has no generic parameter `{name}`: it has {}", list(known))
}

pub(crate) fn specialize_missing(entry: &Ident, missing: &[String]) -> String {
    format!(
        "a specialisation of `{entry}` gives every generic parameter: {} missing",
        list(missing)
    )
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

pub(crate) fn const_conditional(name: &Ident) -> String {
    format!(
        "`{name}` depends on `cfg`, which rustc decides after the kernel is compiled: only integers and bools can; or put `#[cfg]` on two modules"
    )
}

pub(crate) fn function_conditional(name: &Ident) -> String {
    format!(
        "there are several functions `{name}`, and rustc decides `cfg` after the kernel is compiled: put `#[cfg]` on two modules, or choose by a const"
    )
}

pub(crate) fn attribute_in_function(path: &syn::Path) -> String {
    format!(
        "`#[{}]` means nothing in a kernel function: remove it",
        crate::resolve::path_text(path)
    )
}

pub(crate) fn condition_in_function() -> String {
    "`cfg` can't choose in a kernel function, since rustc decides it after the kernel is compiled: use `if` and `const FLAG: bool = cfg!(..);` of the module".into()
}

pub(crate) fn const_value(name: &Ident) -> String {
    format!(
        "the value of `{name}` must be visible here: a number, or arithmetic on numbers and other consts of the module"
    )
}
