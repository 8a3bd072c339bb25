//! Types and shapes in types.

use syn::{GenericArgument, PathArguments, spanned::Spanned};

use super::Parser;
use crate::{
    ast::{Expr, GenericArg, ShapeSpec, Type, TypeKind},
    messages,
};

impl Parser<'_> {
    /// Parses a type.
    pub(crate) fn ty(&mut self, ty: &syn::Type) -> Type {
        let kind = self.type_kind(ty);
        Type { kind, span: ty.span() }
    }

    fn type_kind(&mut self, ty: &syn::Type) -> TypeKind {
        match ty {
            syn::Type::Paren(p) => self.type_kind(&p.elem),
            syn::Type::Group(g) => self.type_kind(&g.elem),
            syn::Type::Infer(_) => TypeKind::Infer,
            syn::Type::Tuple(t) => TypeKind::Tuple(t.elems.iter().map(|t| self.ty(t)).collect()),
            syn::Type::Array(a) => {
                let element = self.ty(&a.elem);
                let len = self.expr(&a.len);
                TypeKind::Array(Box::new(element), Box::new(len))
            }
            syn::Type::Reference(r) => self.reference(r),
            syn::Type::Path(p) if p.qself.is_none() => self.named(&p.path, None),
            other => {
                self.report.error(other.span(), messages::unsupported_type());
                TypeKind::Error
            }
        }
    }

    fn reference(&mut self, r: &syn::TypeReference) -> TypeKind {
        let mut inner = &*r.elem;
        while let syn::Type::Paren(syn::TypeParen { elem, .. })
        | syn::Type::Group(syn::TypeGroup { elem, .. }) = inner
        {
            inner = elem;
        }
        match inner {
            syn::Type::Path(p) if p.qself.is_none() => {
                self.named(&p.path, Some(r.mutability.is_some()))
            }
            _ => {
                self.report.error(r.and_token.span, messages::reference_type());
                TypeKind::Error
            }
        }
    }

    /// `reference` is `Some(mutable)` behind `&`.
    fn named(&mut self, path: &syn::Path, reference: Option<bool>) -> TypeKind {
        let Some(last) = path.segments.last() else {
            self.report.rustc_error(path.span(), messages::unsupported_type());
            return TypeKind::Error;
        };
        let name = last.ident.to_string();
        let args: Vec<&GenericArgument> = match &last.arguments {
            PathArguments::AngleBracketed(a) => {
                a.args.iter().filter(|a| !matches!(a, GenericArgument::Lifetime(_))).collect()
            }
            _ => Vec::new(),
        };
        let generic = matches!(
            name.as_str(),
            "Tile"
                | "Tensor"
                | "PartitionView"
                | "PartitionViewMut"
                | "Partition"
                | "PartitionMut"
                | "Shape"
        );
        if !generic {
            if reference.is_some() {
                self.report.error(path.span(), messages::reference_type());
                return TypeKind::Error;
            }
            return match path.get_ident() {
                Some(ident) => TypeKind::Name(ident.clone()),
                None if args.is_empty() => TypeKind::Name(last.ident.clone()),
                None => {
                    self.report.error(path.span(), messages::unsupported_type());
                    TypeKind::Error
                }
            };
        }
        if name == "Shape" {
            return match args.as_slice() {
                [shape] => TypeKind::Shape(self.shape_spec(shape)),
                _ => {
                    self.report.rustc_error(path.span(), messages::generic_arguments(&name));
                    TypeKind::Error
                }
            };
        }
        let [element, shape] = args.as_slice() else {
            self.report.rustc_error(path.span(), messages::generic_arguments(&name));
            return TypeKind::Error;
        };
        let element = match element {
            GenericArgument::Type(t) => Box::new(self.ty(t)),
            other => {
                self.report.rustc_error(other.span(), messages::generic_arguments(&name));
                Box::new(Type { kind: TypeKind::Error, span: other.span() })
            }
        };
        let shape = self.shape_spec(shape);
        match name.as_str() {
            "Tile" if reference.is_some() => {
                self.report.error(path.span(), messages::reference_to_tile());
                TypeKind::Error
            }
            "Tile" => TypeKind::Tile(element, shape),
            "Tensor" => match reference {
                Some(mutable) => TypeKind::Tensor { mutable, element, shape },
                None => {
                    self.report.error(path.span(), messages::tensor_by_value());
                    TypeKind::Error
                }
            },
            other => TypeKind::View { mutable: other.ends_with("Mut"), element, shape },
        }
    }

    fn shape_spec(&mut self, arg: &GenericArgument) -> ShapeSpec {
        match arg {
            GenericArgument::Type(syn::Type::Path(p))
                if p.qself.is_none() && p.path.get_ident().is_some() =>
            {
                ShapeSpec::Name(p.path.segments[0].ident.clone())
            }
            GenericArgument::Const(e) => match braced(e) {
                syn::Expr::Array(a) => ShapeSpec::List(self.exprs(&a.elems), a.span()),
                syn::Expr::Path(p) if p.path.get_ident().is_some() => {
                    ShapeSpec::Name(p.path.segments[0].ident.clone())
                }
                other => self.bad_shape(other.span()),
            },
            other => self.bad_shape(other.span()),
        }
    }

    fn bad_shape(&mut self, span: proc_macro2::Span) -> ShapeSpec {
        self.report.error(span, messages::shape_syntax());
        ShapeSpec::Error
    }

    /// The arguments of a turbofish.
    pub(crate) fn generic_args(
        &mut self,
        args: &syn::AngleBracketedGenericArguments,
    ) -> Vec<GenericArg> {
        args.args.iter().filter_map(|arg| self.generic_arg(arg)).collect()
    }

    fn generic_arg(&mut self, arg: &GenericArgument) -> Option<GenericArg> {
        Some(match arg {
            GenericArgument::Lifetime(_) => return None,
            GenericArgument::Type(syn::Type::Path(p))
                if p.qself.is_none() && p.path.get_ident().is_some() =>
            {
                GenericArg::Name(p.path.segments[0].ident.clone())
            }
            GenericArgument::Type(t) => GenericArg::Type(self.ty(t)),
            GenericArgument::Const(e) => match braced(e) {
                syn::Expr::Array(a) => GenericArg::Array(self.exprs(&a.elems), a.span()),
                other => GenericArg::Value(self.expr(other)),
            },
            other => {
                self.report.error(other.span(), messages::unsupported_generic_argument());
                return None;
            }
        })
    }

    /// Expressions in order.
    pub(crate) fn exprs<'e>(&mut self, list: impl IntoIterator<Item = &'e syn::Expr>) -> Vec<Expr> {
        list.into_iter().map(|e| self.expr(e)).collect()
    }
}

/// The expression inside `{ .. }`, if that is all there is.
pub(super) fn braced(e: &syn::Expr) -> &syn::Expr {
    match e {
        syn::Expr::Block(b) if b.label.is_none() => match b.block.stmts.as_slice() {
            [syn::Stmt::Expr(inner, None)] => inner,
            _ => e,
        },
        _ => e,
    }
}
