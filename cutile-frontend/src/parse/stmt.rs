//! Blocks, statements and patterns.

use syn::{Pat, Stmt as SynStmt, spanned::Spanned};

use super::Parser;
use crate::{
    ast::{Block, Expr, ExprKind, Pattern, Stmt, Type},
    messages,
};

impl Parser<'_> {
    /// Parses a block; functions nested in it become functions of the module, named after `path`.
    pub(crate) fn block(&mut self, block: &syn::Block, path: &str) -> Block {
        for stmt in &block.stmts {
            if let SynStmt::Item(syn::Item::Fn(f)) = stmt {
                self.function(f, Some(path));
            }
        }
        self.block_without_functions(block)
    }

    /// Parses a block of an expression: functions nested so deep are not supported.
    pub(crate) fn inner_block(&mut self, block: &syn::Block) -> Block {
        for stmt in &block.stmts {
            if let SynStmt::Item(syn::Item::Fn(f)) = stmt {
                self.report.error(f.sig.fn_token.span, messages::nested_function());
            }
        }
        self.block_without_functions(block)
    }

    fn block_without_functions(&mut self, block: &syn::Block) -> Block {
        let mut statements = Vec::new();
        let mut value = None;
        for (i, stmt) in block.stmts.iter().enumerate() {
            let last = i + 1 == block.stmts.len();
            match stmt {
                SynStmt::Local(local) => statements.push(self.local(local)),
                SynStmt::Item(syn::Item::Fn(_)) => {}
                SynStmt::Item(item) => {
                    self.report.error(item.span(), messages::item_in_function());
                }
                SynStmt::Expr(e, semi) => {
                    let e = self.expr(e);
                    if last && semi.is_none() {
                        value = Some(Box::new(e));
                    } else {
                        statements.push(Stmt::Expr(e));
                    }
                }
                SynStmt::Macro(m) => {
                    let e = self.macro_call(&m.mac);
                    if last && m.semi_token.is_none() {
                        value = Some(Box::new(e));
                    } else {
                        statements.push(Stmt::Expr(e));
                    }
                }
            }
        }
        Block { statements, value, end: block.brace_token.span.close() }
    }

    fn local(&mut self, local: &syn::Local) -> Stmt {
        let (pattern, ty) = match &local.pat {
            Pat::Type(t) => {
                let ty = self.ty(&t.ty);
                (self.pattern(&t.pat), Some(ty))
            }
            other => (self.pattern(other), None::<Type>),
        };
        let value = local.init.as_ref().map(|init| {
            if let Some((token, _)) = &init.diverge {
                self.report.error(token.span, messages::let_else());
            }
            self.expr(&init.expr)
        });
        Stmt::Let { pattern, ty, value }
    }

    /// Parses what a `let`, a `for` or a closure binds.
    pub(crate) fn pattern(&mut self, pat: &Pat) -> Pattern {
        match pat {
            Pat::Ident(p) if p.by_ref.is_none() && p.subpat.is_none() => Pattern::Name {
                name: p.ident.clone(),
                mutable: p.mutability.is_some(),
                id: self.fresh(),
            },
            Pat::Wild(_) => Pattern::Wild,
            Pat::Paren(p) => self.pattern(&p.pat),
            Pat::Type(t) => self.pattern(&t.pat),
            Pat::Slice(s) => {
                Pattern::Tuple(s.elems.iter().map(|p| self.pattern(p)).collect(), s.span())
            }
            Pat::Tuple(t) => {
                Pattern::Tuple(t.elems.iter().map(|p| self.pattern(p)).collect(), t.span())
            }
            other => {
                self.report.error(other.span(), messages::pattern());
                Pattern::Wild
            }
        }
    }

    /// An expression that is reported already.
    pub(crate) fn error_expr(&mut self, span: proc_macro2::Span) -> Expr {
        Expr { kind: ExprKind::Error, id: self.fresh(), span }
    }
}
