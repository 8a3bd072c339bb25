//! From syn's tree to the accepted subset. What is outside the subset is reported here, at its token, with the
//! alternative; nothing is resolved or typed.

mod expr;
mod function;
mod options;
mod stmt;
mod ty;

use self::options::is_condition;
pub use self::options::{is_entry, is_harmless};

use proc_macro2::Span;
use syn::{Item, ItemMod, UseTree};

use crate::{
    ast::{Const, Expr, ExprId, Function, Import, Module},
    messages,
    report::Report,
    vocabulary,
};

/// What of `use`s is of interest, flattened.
type UsePrefix = Vec<syn::Ident>;

/// State of parsing one module.
pub(crate) struct Parser<'r> {
    /// Where errors go.
    pub(crate) report: &'r mut Report,
    next_id: u32,
    functions: Vec<Function>,
}

/// Parses a `#[cutile::module]`. What can't be parsed is reported and left out.
pub fn module(item: &ItemMod, report: &mut Report) -> Module {
    let mut parser = Parser { report, next_id: 0, functions: Vec::new() };
    let mut consts = Vec::new();
    let mut imports = Vec::new();
    let mut open = false;
    match &item.content {
        None => parser.report.error(item.ident.span(), messages::module_without_body(&item.ident)),
        Some((_, items)) => {
            open = items.iter().any(|i| matches!(i, Item::Use(u) if opens(&u.tree, None)));
            parser.variants(items);
            for item in items {
                parser.item(item, &mut consts, &mut imports);
            }
        }
    }
    Module { consts, functions: parser.functions, imports, open, expr_count: parser.next_id }
}

impl Parser<'_> {
    fn item(&mut self, item: &Item, consts: &mut Vec<Const>, imports: &mut Vec<Import>) {
        match item {
            Item::Fn(f) => self.function(f, None),
            Item::Const(c) if !matches!(&*c.ty, syn::Type::Path(_) | syn::Type::Array(_)) => {
                self.report.error(c.ident.span(), messages::const_type(&c.ident));
            }
            Item::Const(c) => {
                let ty = self.ty(&c.ty);
                let value = self.const_value(&c.expr);
                let conditional = c.attrs.iter().any(is_condition);
                consts.push(Const { name: c.ident.clone(), ty, value, conditional });
            }
            Item::Use(u) => collect_imports(&u.tree, &mut Vec::new(), imports),
            other => {
                let (what, span) = item_kind(other);
                self.report.error(span, messages::unsupported_item(what));
            }
        }
    }

    /// The value of a const: what the kernel language has no word for is rustc's to compute.
    fn const_value(&mut self, value: &syn::Expr) -> Expr {
        let mut unheard = Report::default();
        let mut parser =
            Parser { report: &mut unheard, next_id: self.next_id, functions: Vec::new() };
        let value = parser.expr(value);
        self.next_id = parser.next_id;
        value
    }

    /// Several functions of a name are several variants behind `cfg`; without it they are an error that rustc reports.
    fn variants(&mut self, items: &[Item]) {
        let mut seen = Vec::new();
        for item in items {
            let Item::Fn(f) = item else { continue };
            let name = &f.sig.ident;
            if seen.contains(&name) && f.attrs.iter().any(is_condition) {
                self.report.error(name.span(), messages::function_conditional(name));
            }
            seen.push(name);
        }
    }

    /// The number of the next expression or binding.
    pub(crate) fn fresh(&mut self) -> ExprId {
        let id = ExprId(self.next_id);
        self.next_id += 1;
        id
    }
}

fn collect_imports(tree: &UseTree, prefix: &mut UsePrefix, imports: &mut Vec<Import>) {
    let mut import = |prefix: &UsePrefix, last: Option<&syn::Ident>, name: &syn::Ident| {
        let path = syn::Path {
            leading_colon: None,
            segments: prefix.iter().chain(last).cloned().map(syn::PathSegment::from).collect(),
        };
        imports.push(Import { name: name.clone(), path });
    };
    match tree {
        UseTree::Path(p) => {
            prefix.push(p.ident.clone());
            collect_imports(&p.tree, prefix, imports);
            prefix.pop();
        }
        UseTree::Name(n) if n.ident == "self" => {
            if let Some(name) = prefix.last().cloned() {
                import(prefix, None, &name);
            }
        }
        UseTree::Name(n) => import(prefix, Some(&n.ident), &n.ident),
        UseTree::Rename(r) => import(prefix, Some(&r.ident), &r.rename),
        UseTree::Group(g) => g.items.iter().for_each(|t| collect_imports(t, prefix, imports)),
        _ => {}
    }
}

/// Whether a `use` brings in all names of a module other than the vocabulary; `last` is the name before.
fn opens(tree: &UseTree, last: Option<&syn::Ident>) -> bool {
    match tree {
        UseTree::Path(p) => opens(&p.tree, Some(&p.ident)),
        UseTree::Group(g) => g.items.iter().any(|t| opens(t, last)),
        UseTree::Glob(_) => !last.is_some_and(|name| vocabulary::MODULES.iter().any(|m| name == m)),
        _ => false,
    }
}

fn item_kind(item: &Item) -> (&'static str, Span) {
    use syn::spanned::Spanned;
    let what = match item {
        Item::Struct(i) => return ("struct", i.struct_token.span),
        Item::Enum(i) => return ("enum", i.enum_token.span),
        Item::Impl(i) => return ("impl block", i.impl_token.span),
        Item::Trait(i) => return ("trait", i.trait_token.span),
        Item::Static(i) => return ("static", i.static_token.span),
        Item::Mod(i) => return ("nested module", i.mod_token.span),
        Item::Type(i) => return ("type alias", i.type_token.span),
        Item::Macro(_) => "macro",
        _ => "item of this kind",
    };
    (what, item.span())
}
