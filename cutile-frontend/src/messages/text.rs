//! How messages write types and source.

use cutile_ir::{Dim, ElementType};
use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

use crate::resolve::FunctionNames;
use crate::typing::types::{El, Ty};

pub(super) fn list(names: &[String]) -> String {
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
        let extents: Vec<String> =
            s.map(|d| d.map_or_else(|| "-1".into(), |d| dim_text(d, names))).collect();
        format!("{{ [{}] }}", extents.join(", "))
    };
    match ty {
        Ty::Never => "!".into(),
        Ty::Error | Ty::Var(_) => "_".into(),
        Ty::Scalar(e) => el(e),
        Ty::Tile(e, s) => format!("Tile<{}, {}>", el(e), shape(&mut s.iter().map(Some))),
        Ty::Tensor { mutable, element, extents } => {
            format!(
                "&{}Tensor<{}, {}>",
                if *mutable { "mut " } else { "" },
                el(element),
                shape(&mut extents.iter().map(Option::as_ref))
            )
        }
        Ty::View { mutable, element, shape: s } => {
            format!(
                "PartitionView{}<{}, {}>",
                if *mutable { "Mut" } else { "" },
                el(element),
                shape(&mut s.iter().map(Some))
            )
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
        Dim::Expr(op, a, b) => {
            format!("{} {} {}", dim_text(a, names), op.symbol(), dim_text(b, names))
        }
    }
}

/// An expression as short text.
pub(crate) fn source_text(e: &impl quote::ToTokens) -> String {
    let mut text = String::new();
    append(&mut text, e.to_token_stream());
    text
}

fn append(text: &mut String, tokens: TokenStream) {
    let (mut joins_next, mut goes_on) = (true, false);
    for token in tokens {
        let after_operand = text.ends_with(|c| is_word(c) || matches!(c, ')' | ']'));
        let space = !joins_next && !text.is_empty();
        let continues = std::mem::take(&mut goes_on);
        match token {
            TokenTree::Group(g) => {
                if space && !after_operand {
                    text.push(' ');
                }
                let (open, close) = match g.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::Brace => ("{ ", " }"),
                    Delimiter::None => ("", ""),
                };
                text.push_str(open);
                append(text, g.stream());
                text.push_str(close);
                joins_next = false;
            }
            TokenTree::Punct(p) => {
                let sign = p.as_char();
                let joins = matches!(sign, '.' | ',' | ':' | ';');
                if space && !joins {
                    text.push(' ');
                }
                text.push(sign);
                // A sign of several characters is several tokens; one before an operand belongs to it.
                goes_on = p.spacing() == Spacing::Joint;
                let is_prefix = matches!(sign, '!' | '-') && !after_operand && !continues;
                joins_next = goes_on || is_prefix || matches!(sign, '.' | ':');
            }
            word => {
                if space {
                    text.push(' ');
                }
                text.push_str(&word.to_string());
                joins_next = false;
            }
        }
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
