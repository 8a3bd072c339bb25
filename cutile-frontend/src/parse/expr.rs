//! Expressions.

use cutile_ir::{
    Element,
    op::{BinaryOp, CompareOp},
};
use proc_macro2::Span;
use syn::{BinOp, Lit, Token, UnOp, parse::Parser as _, punctuated::Punctuated, spanned::Spanned};

use super::Parser;
use crate::{
    ast::{Expr, ExprKind, Float, GenericArg, Loop, LoopKind, Operator, PathExpr, Pattern, Range},
    messages,
};

impl Parser<'_> {
    /// Parses an expression.
    pub(crate) fn expr(&mut self, e: &syn::Expr) -> Expr {
        let (kind, span) = self.expr_kind(e);
        Expr { kind, id: self.fresh(), span }
    }

    fn boxed(&mut self, e: &syn::Expr) -> Box<Expr> {
        Box::new(self.expr(e))
    }

    fn expr_kind(&mut self, e: &syn::Expr) -> (ExprKind, Span) {
        let span = e.span();
        let kind = match e {
            syn::Expr::Paren(p) => return self.expr_kind(&p.expr),
            syn::Expr::Group(g) => return self.expr_kind(&g.expr),
            syn::Expr::Lit(l) => self.literal(&l.lit),
            syn::Expr::Path(p) if p.qself.is_none() => ExprKind::Path(self.path(&p.path)),
            syn::Expr::Unary(u) => return self.unary(u),
            syn::Expr::Binary(b) => return self.binary(b),
            syn::Expr::Assign(a) => {
                let place = Box::new(self.place(&a.left));
                return (ExprKind::Assign(place, self.boxed(&a.right)), a.eq_token.span);
            }
            syn::Expr::Call(c) => return self.call(c),
            syn::Expr::MethodCall(m) => return self.method(m),
            syn::Expr::Field(f) => self.field(f),
            syn::Expr::Index(i) => ExprKind::Index(self.boxed(&i.expr), self.boxed(&i.index)),
            syn::Expr::Cast(c) => {
                return (ExprKind::Cast(self.boxed(&c.expr), self.ty(&c.ty)), c.as_token.span);
            }
            syn::Expr::Tuple(t) => ExprKind::Tuple(self.exprs(&t.elems)),
            syn::Expr::Array(a) => ExprKind::Array(self.exprs(&a.elems)),
            syn::Expr::Repeat(r) => ExprKind::Repeat(self.boxed(&r.expr), self.boxed(&r.len)),
            syn::Expr::If(i) => return self.if_else(i),
            syn::Expr::Block(b) if b.label.is_none() => ExprKind::Block(self.inner_block(&b.block)),
            syn::Expr::ForLoop(f) => return self.for_loop(f),
            syn::Expr::While(w) => return self.while_loop(w),
            syn::Expr::Loop(l) => {
                let body = self.inner_block(&l.body);
                let label = l.label.as_ref().map(|l| l.name.ident.clone());
                return (
                    ExprKind::Loop(Box::new(Loop { label, kind: LoopKind::Forever, body })),
                    l.loop_token.span,
                );
            }
            syn::Expr::Break(b) => ExprKind::Break(
                b.label.as_ref().map(|l| l.ident.clone()),
                b.expr.as_ref().map(|e| self.boxed(e)),
            ),
            syn::Expr::Continue(c) => ExprKind::Continue(c.label.as_ref().map(|l| l.ident.clone())),
            syn::Expr::Return(r) => {
                return (
                    ExprKind::Return(r.expr.as_ref().map(|e| self.boxed(e))),
                    r.return_token.span,
                );
            }
            syn::Expr::Reference(r) => ExprKind::Ref(r.mutability.is_some(), self.boxed(&r.expr)),
            syn::Expr::Closure(c) => {
                let params: Vec<Pattern> = c.inputs.iter().map(|p| self.pattern(p)).collect();
                ExprKind::Closure(params, self.boxed(&c.body))
            }
            syn::Expr::Macro(m) => {
                let e = self.macro_call(&m.mac);
                return (e.kind, e.span);
            }
            other => {
                let (what, span, instead) = unsupported(other);
                self.report.error(span, messages::unsupported_expression(what, instead));
                return (ExprKind::Error, span);
            }
        };
        (kind, span)
    }

    /// What stands left of `=`.
    fn place(&mut self, e: &syn::Expr) -> Expr {
        let kind = match e {
            syn::Expr::Paren(p) => return self.place(&p.expr),
            syn::Expr::Group(g) => return self.place(&g.expr),
            syn::Expr::Tuple(t) => ExprKind::Tuple(t.elems.iter().map(|e| self.place(e)).collect()),
            syn::Expr::Array(a) => ExprKind::Array(a.elems.iter().map(|e| self.place(e)).collect()),
            syn::Expr::Infer(_) => ExprKind::Wild,
            other => return self.expr(other),
        };
        Expr { kind, id: self.fresh(), span: e.span() }
    }

    fn literal(&mut self, lit: &Lit) -> ExprKind {
        let suffix = |s: &str| match s {
            "" => Ok(None),
            "usize" => Ok(Some(Element::U64)),
            "isize" => Ok(Some(Element::I64)),
            other => Element::from_name(other).map(Some).ok_or(()),
        };
        match lit {
            Lit::Bool(b) => ExprKind::Bool(b.value),
            Lit::Int(n) => match (n.base10_parse::<u128>(), suffix(n.suffix())) {
                (Ok(value), Ok(Some(element))) if element.is_float() => ExprKind::Float(
                    Float { single: value as f32, double: value as f64 },
                    Some(element),
                ),
                (Ok(value), Ok(element)) => ExprKind::Int(value, element),
                _ => self.bad_literal(lit),
            },
            Lit::Float(x) => match (x.base10_parse(), x.base10_parse(), suffix(x.suffix())) {
                (Ok(single), Ok(double), Ok(element)) => {
                    ExprKind::Float(Float { single, double }, element)
                }
                _ => self.bad_literal(lit),
            },
            _ => self.bad_literal(lit),
        }
    }

    fn bad_literal(&mut self, lit: &Lit) -> ExprKind {
        self.report.error(lit.span(), messages::literal());
        ExprKind::Error
    }

    pub(super) fn path(&mut self, path: &syn::Path) -> PathExpr {
        let mut plain = path.clone();
        let generics = match plain.segments.last_mut() {
            None => Vec::new(),
            Some(last) => match std::mem::take(&mut last.arguments) {
                syn::PathArguments::AngleBracketed(args) => self.generic_args(&args),
                _ => Vec::new(),
            },
        };
        PathExpr { path: plain, generics }
    }

    fn unary(&mut self, u: &syn::ExprUnary) -> (ExprKind, Span) {
        match &u.op {
            UnOp::Neg(token) => (ExprKind::Neg(self.boxed(&u.expr)), token.span),
            UnOp::Not(token) => (ExprKind::Not(self.boxed(&u.expr)), token.span),
            other => {
                self.report.error(other.span(), messages::dereference());
                (ExprKind::Error, other.span())
            }
        }
    }

    fn binary(&mut self, b: &syn::ExprBinary) -> (ExprKind, Span) {
        let (left, right) = (self.boxed(&b.left), self.boxed(&b.right));
        let span = b.op.span();
        let kind = match &b.op {
            BinOp::And(_) => ExprKind::And(left, right),
            BinOp::Or(_) => ExprKind::Or(left, right),
            op => match (operator(op), assign_operator(op)) {
                (Some(op), _) => ExprKind::Binary(op, left, right),
                (None, Some(op)) => ExprKind::AssignOp(op, left, right),
                (None, None) => {
                    self.report.error(
                        span,
                        messages::unsupported_expression("operator", "use the operators of Rust"),
                    );
                    ExprKind::Error
                }
            },
        };
        (kind, span)
    }

    fn call(&mut self, c: &syn::ExprCall) -> (ExprKind, Span) {
        let args = self.exprs(&c.args);
        match &*c.func {
            syn::Expr::Path(p) if p.qself.is_none() => {
                let span = p.path.segments.last().map_or(p.path.span(), |s| s.ident.span());
                (ExprKind::Call(self.path(&p.path), args), span)
            }
            other => {
                self.report.error(other.span(), messages::callee());
                (ExprKind::Error, other.span())
            }
        }
    }

    fn method(&mut self, m: &syn::ExprMethodCall) -> (ExprKind, Span) {
        let receiver = self.boxed(&m.receiver);
        let generics =
            m.turbofish.as_ref().map_or_else(Vec::<GenericArg>::new, |t| self.generic_args(t));
        let args = self.exprs(&m.args);
        (ExprKind::Method { receiver, name: m.method.clone(), generics, args }, m.method.span())
    }

    fn field(&mut self, f: &syn::ExprField) -> ExprKind {
        match &f.member {
            syn::Member::Unnamed(index) => ExprKind::Field(self.boxed(&f.base), index.index),
            syn::Member::Named(name) => {
                self.report.error(name.span(), messages::named_field(name));
                ExprKind::Error
            }
        }
    }

    fn if_else(&mut self, i: &syn::ExprIf) -> (ExprKind, Span) {
        let cond = self.boxed(&i.cond);
        let on_true = self.inner_block(&i.then_branch);
        let on_false = i.else_branch.as_ref().map(|(_, e)| self.boxed(e));
        (ExprKind::If(cond, on_true, on_false), i.if_token.span)
    }

    fn while_loop(&mut self, w: &syn::ExprWhile) -> (ExprKind, Span) {
        let cond = self.expr(&w.cond);
        let body = self.inner_block(&w.body);
        let label = w.label.as_ref().map(|l| l.name.ident.clone());
        (
            ExprKind::Loop(Box::new(Loop { label, kind: LoopKind::While(cond), body })),
            w.while_token.span,
        )
    }

    fn for_loop(&mut self, f: &syn::ExprForLoop) -> (ExprKind, Span) {
        let pattern = self.pattern(&f.pat);
        let (mut range, mut step, mut reversed) = (&*f.expr, None, false);
        loop {
            range = match range {
                syn::Expr::Paren(p) => &p.expr,
                syn::Expr::Group(g) => &g.expr,
                syn::Expr::MethodCall(m)
                    if m.method == "step_by"
                        && m.args.len() == 1
                        && step.is_none()
                        && !reversed =>
                {
                    step = Some(self.expr(&m.args[0]));
                    &m.receiver
                }
                syn::Expr::MethodCall(m)
                    if m.method == "rev" && m.args.is_empty() && step.is_none() && !reversed =>
                {
                    reversed = true;
                    &m.receiver
                }
                _ => break,
            };
        }
        let body = self.inner_block(&f.body);
        let label = f.label.as_ref().map(|l| l.name.ident.clone());
        let (lower, upper) = match range {
            syn::Expr::Range(syn::ExprRange {
                start: Some(lower),
                limits,
                end: Some(upper),
                ..
            }) => {
                if let syn::RangeLimits::Closed(token) = limits {
                    self.report.error(token.span(), messages::inclusive_range());
                }
                (self.expr(lower), self.expr(upper))
            }
            other => {
                self.report.error(other.span(), messages::for_over());
                (self.error_expr(other.span()), self.error_expr(other.span()))
            }
        };
        let kind = LoopKind::For(Box::new(Range { pattern, lower, upper, step, reversed }));
        (ExprKind::Loop(Box::new(Loop { label, kind, body })), f.for_token.span)
    }

    /// Parses the macros that the language has.
    pub(super) fn macro_call(&mut self, mac: &syn::Macro) -> Expr {
        let name = mac.path.segments.last().map(|s| s.ident.to_string()).unwrap_or_default();
        let span = mac.path.span();
        let args = Punctuated::<syn::Expr, Token![,]>::parse_terminated.parse2(mac.tokens.clone());
        let args: Vec<syn::Expr> = match (name.as_str(), args) {
            ("const_shape" | "const_array" | "assert", Ok(args)) => args.into_iter().collect(),
            ("const_shape" | "const_array" | "assert", Err(e)) => {
                self.report.error(e.span(), messages::macro_arguments(&name, &e));
                return self.error_expr(span);
            }
            _ => {
                self.report.error(span, messages::unsupported_macro(&name));
                return self.error_expr(span);
            }
        };
        let kind = match name.as_str() {
            "const_shape" => ExprKind::ConstShape(self.exprs(&args)),
            "const_array" => ExprKind::ConstArray(self.exprs(&args)),
            _ => self.assert(&args, span),
        };
        Expr { kind, id: self.fresh(), span }
    }

    fn assert(&mut self, args: &[syn::Expr], span: Span) -> ExprKind {
        let (cond, text) = match args {
            [cond] => (cond, None),
            [cond, syn::Expr::Lit(syn::ExprLit { lit: Lit::Str(text), .. })] => (cond, Some(text)),
            [_, _, third, ..] => {
                self.report.error(third.span(), messages::assert_arguments());
                return ExprKind::Error;
            }
            [_, second] => {
                self.report.error(second.span(), messages::assert_arguments());
                return ExprKind::Error;
            }
            [] => {
                self.report.error(span, messages::assert_arguments());
                return ExprKind::Error;
            }
        };
        let message = match text {
            Some(text) => {
                let value = text.value();
                if value.contains('{') {
                    self.report.error(text.span(), messages::assert_arguments());
                }
                value
            }
            None => format!("assertion failed: {}", messages::source_text(cond)),
        };
        ExprKind::Assert(self.boxed(cond), message)
    }
}

/// The operator of the IR.
pub(super) fn operator(op: &BinOp) -> Option<Operator> {
    Some(match op {
        BinOp::Add(_) => Operator::Binary(BinaryOp::Add),
        BinOp::Sub(_) => Operator::Binary(BinaryOp::Sub),
        BinOp::Mul(_) => Operator::Binary(BinaryOp::Mul),
        BinOp::Div(_) => Operator::Binary(BinaryOp::Div),
        BinOp::Rem(_) => Operator::Binary(BinaryOp::Rem),
        BinOp::BitAnd(_) => Operator::Binary(BinaryOp::And),
        BinOp::BitOr(_) => Operator::Binary(BinaryOp::Or),
        BinOp::BitXor(_) => Operator::Binary(BinaryOp::Xor),
        BinOp::Shl(_) => Operator::Binary(BinaryOp::Shl),
        BinOp::Shr(_) => Operator::Binary(BinaryOp::Shr),
        BinOp::Eq(_) => Operator::Compare(CompareOp::Eq),
        BinOp::Ne(_) => Operator::Compare(CompareOp::Ne),
        BinOp::Lt(_) => Operator::Compare(CompareOp::Lt),
        BinOp::Le(_) => Operator::Compare(CompareOp::Le),
        BinOp::Gt(_) => Operator::Compare(CompareOp::Gt),
        BinOp::Ge(_) => Operator::Compare(CompareOp::Ge),
        _ => return None,
    })
}

fn assign_operator(op: &BinOp) -> Option<BinaryOp> {
    Some(match op {
        BinOp::AddAssign(_) => BinaryOp::Add,
        BinOp::SubAssign(_) => BinaryOp::Sub,
        BinOp::MulAssign(_) => BinaryOp::Mul,
        BinOp::DivAssign(_) => BinaryOp::Div,
        BinOp::RemAssign(_) => BinaryOp::Rem,
        BinOp::BitAndAssign(_) => BinaryOp::And,
        BinOp::BitOrAssign(_) => BinaryOp::Or,
        BinOp::BitXorAssign(_) => BinaryOp::Xor,
        BinOp::ShlAssign(_) => BinaryOp::Shl,
        BinOp::ShrAssign(_) => BinaryOp::Shr,
        _ => return None,
    })
}

/// What an expression outside the subset is, where to point, and what to write instead.
fn unsupported(e: &syn::Expr) -> (&'static str, Span, &'static str) {
    match e {
        syn::Expr::Match(m) => ("`match`", m.match_token.span, "write `if` and `else if`"),
        syn::Expr::Let(l) => ("`if let`", l.let_token.span, "write `if` over a bool"),
        syn::Expr::Await(a) => (
            "`.await`",
            a.await_token.span,
            "kernels are not asynchronous: compose launches on the host",
        ),
        syn::Expr::Async(a) => (
            "`async`",
            a.async_token.span,
            "kernels are not asynchronous: compose launches on the host",
        ),
        syn::Expr::Try(t) => {
            ("`?`", t.question_token.span, "kernels have no `Result`: use `assert!`")
        }
        syn::Expr::Struct(s) => ("a struct", s.path.span(), "use a tuple"),
        syn::Expr::Unsafe(u) => {
            ("`unsafe`", u.unsafe_token.span, "tile kernels are safe: remove it")
        }
        syn::Expr::Range(r) => {
            ("a range", r.span(), "ranges stand in `for i in lower..upper` only")
        }
        syn::Expr::Block(b) => ("a labelled block", b.span(), "label a loop instead"),
        syn::Expr::Infer(i) => ("`_`", i.span(), "write the value"),
        other => (
            "this expression",
            other.span(),
            "see the language reference for the accepted subset of Rust",
        ),
    }
}
