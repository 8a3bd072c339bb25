//! The text form, out. `parse` reads what stands here; printing what it read gives the same text.
//!
//! ```text
//! files ["src/kernels.rs"]
//! entry @scale<const S: [i32; 1]>(%k: f32, %y: partitioned f32[?] by [S.0]) {
//!     %0 = partition %y : view f32[S.0]
//!     %1 = program_id 0 : i32
//!     %t = load %0 [%1] clip : f32[S.0] loc 0:7:13
//!     ...
//!     yield
//! }
//! ```

use crate::dim::Dim;
use crate::element::ElementType;
use crate::module::*;
use crate::op::Literal;
use crate::types::{TensorType, Type};
use std::collections::HashMap;
use std::fmt::{self, Write};

/// Writes the text form of a function's parts.
pub struct Printer<'a> {
    out: String,
    indent: usize,
    function: &'a Function,
    names: Vec<String>,
}

impl fmt::Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (word, list) in
            [("files", &self.files), ("imports", &self.imports), ("externs", &self.externs)]
        {
            if !list.is_empty() {
                writeln!(f, "{word} {list:?}")?;
            }
        }
        for function in &self.functions {
            write!(f, "{function}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut p = Printer::new(self);
        p.signature();
        p.text(" ");
        p.braces(&self.body);
        p.newline();
        f.write_str(&p.out)
    }
}

/// A type as the text form writes it, with the names of a function's parameters.
pub fn type_text(ty: &Type, function: &Function) -> String {
    let mut p = Printer::new(function);
    p.ty(ty);
    p.out
}

/// An extent as the text form writes it, with the names of a function's parameters.
pub fn dim_text(dim: &Dim, function: &Function) -> String {
    let mut p = Printer::new(function);
    p.dim(dim);
    p.out
}

/// An operation as the text form writes it.
pub fn op_text(op: &Op, function: &Function) -> String {
    let mut p = Printer::new(function);
    p.op(op);
    p.out
}

impl<'a> Printer<'a> {
    fn new(function: &'a Function) -> Self {
        let mut seen = HashMap::new();
        for name in function.values.iter().filter_map(|v| v.name.as_deref()) {
            *seen.entry(name).or_insert(0u32) += 1;
        }
        let names = function
            .values
            .iter()
            .enumerate()
            .map(|(i, v)| match v.name.as_deref() {
                Some(n) if seen[n] == 1 => n.to_string(),
                Some(n) => format!("{n}.{i}"),
                None => i.to_string(),
            })
            .collect();
        Printer { out: String::new(), indent: 0, function, names }
    }

    /// Writes text as it is.
    pub fn text(&mut self, s: &str) {
        self.out.push_str(s);
    }

    /// Writes a space.
    pub fn space(&mut self) {
        self.out.push(' ');
    }

    /// Writes a quoted string.
    pub fn string(&mut self, s: &str) {
        let _ = write!(self.out, "{s:?}");
    }

    fn newline(&mut self) {
        self.out.push('\n');
        for _ in 0..self.indent {
            self.out.push_str("    ");
        }
    }

    /// Writes a use of a value.
    pub fn value(&mut self, v: Value) {
        self.out.push('%');
        self.out.push_str(&self.names[v.0 as usize]);
    }

    /// Writes a list in brackets.
    pub fn list<T>(&mut self, items: &[T], mut each: impl FnMut(&mut Self, &T)) {
        self.out.push('[');
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                self.out.push_str(", ");
            }
            each(self, item);
        }
        self.out.push(']');
    }

    /// Writes an extent.
    pub fn dim(&mut self, d: &Dim) {
        match d {
            Dim::Const(n) => {
                let _ = write!(self.out, "{n}");
            }
            Dim::Param { param, axis } => {
                self.out.push_str(&self.function.const_params[param.0 as usize].name);
                if let Some(axis) = axis {
                    let _ = write!(self.out, ".{axis}");
                }
            }
            Dim::Extern(e) => {
                let _ = write!(self.out, "extern.{}", e.0);
            }
            Dim::Expr(op, a, b) => {
                self.out.push('(');
                self.dim(a);
                let _ = write!(self.out, " {} ", op.symbol());
                self.dim(b);
                self.out.push(')');
            }
        }
    }

    /// Writes an element type.
    pub fn element(&mut self, e: ElementType) {
        match e {
            ElementType::Known(e) => self.text(e.name()),
            ElementType::Param(p) => {
                let name = &self.function.type_params[p.0 as usize];
                self.out.push_str(name);
            }
        }
    }

    /// Writes a literal: `true`, `-3`, `1.5`, `inf`, `nan:7ff8000000000000`.
    pub fn literal(&mut self, l: Literal) {
        let _ = match l {
            Literal::Bool(b) => write!(self.out, "{b}"),
            Literal::Int(n) => write!(self.out, "{n}"),
            Literal::Float(bits) => {
                let v = f64::from_bits(bits);
                if v.is_nan() {
                    write!(self.out, "nan:{bits:016x}")
                } else {
                    write!(self.out, "{v:?}")
                }
            }
        };
    }

    fn tensor(&mut self, t: &TensorType) {
        self.element(t.element);
        self.list(&t.extents, |p, e| match e {
            Some(d) => p.dim(d),
            None => p.text("?"),
        });
    }

    /// Writes a type.
    pub fn ty(&mut self, ty: &Type) {
        match ty {
            Type::Scalar(e) => self.element(*e),
            Type::Tile(t) => {
                self.element(t.element);
                self.list(&t.shape, |p, d| p.dim(d));
            }
            Type::View(t) => {
                self.text("view ");
                self.element(t.element);
                self.list(&t.shape, |p, d| p.dim(d));
            }
            Type::Tensor(t) => {
                self.text("tensor ");
                self.tensor(t);
            }
        }
    }

    fn signature(&mut self) {
        let f = self.function;
        self.text(match f.kind {
            FunctionKind::Entry => "entry @",
            FunctionKind::Helper => "helper @",
        });
        self.text(&f.name);
        let generics: Vec<String> = f
            .type_params
            .iter()
            .cloned()
            .chain(f.const_params.iter().map(|c| {
                let kind = match c.kind {
                    ConstKind::I32 => "i32".to_string(),
                    ConstKind::Bool => "bool".to_string(),
                    ConstKind::Array(n) => format!("[i32; {n}]"),
                };
                format!("const {}: {kind}", c.name)
            }))
            .collect();
        if !generics.is_empty() {
            self.text(&format!("<{}>", generics.join(", ")));
        }
        self.text("(");
        for (i, param) in f.params.iter().enumerate() {
            if i > 0 {
                self.text(", ");
            }
            self.value(param.value);
            self.text(": ");
            match (&param.role, f.ty(param.value)) {
                (ParamRole::Partitioned { tile }, Type::Tensor(t)) => {
                    self.text("partitioned ");
                    self.tensor(t);
                    self.text(" by ");
                    self.list(tile, |p, d| p.dim(d));
                }
                (_, ty) => self.ty(ty),
            }
        }
        self.text(")");
        if f.fast_math {
            self.text(" fast_math");
        }
    }

    /// Writes a nested block: its parameters in parentheses, its operations in braces.
    pub fn block(&mut self, b: &Block) {
        self.text("(");
        for (i, v) in b.params.iter().enumerate() {
            if i > 0 {
                self.text(", ");
            }
            self.value(*v);
            self.text(": ");
            self.ty(self.function.ty(*v));
        }
        self.text(") ");
        self.braces(b);
    }

    fn braces(&mut self, b: &Block) {
        self.text("{");
        self.indent += 1;
        for op in &b.ops {
            self.newline();
            self.op(op);
        }
        self.newline();
        self.text("yield");
        for (i, v) in b.yields.iter().enumerate() {
            self.text(if i > 0 { ", " } else { " " });
            self.value(*v);
        }
        self.indent -= 1;
        self.newline();
        self.text("}");
    }

    fn op(&mut self, op: &Op) {
        for (i, v) in op.results.iter().enumerate() {
            if i > 0 {
                self.text(", ");
            }
            self.value(*v);
        }
        if !op.results.is_empty() {
            self.text(" = ");
        }
        self.text(op.kind.name());
        op.kind.print_fields(self);
        if !op.results.is_empty() {
            self.text(" : ");
            for (i, v) in op.results.iter().enumerate() {
                if i > 0 {
                    self.text(", ");
                }
                self.ty(self.function.ty(*v));
            }
        }
        if let Some(l) = op.loc {
            self.text(&format!(" loc {}:{}:{}", l.file, l.line, l.column));
        }
    }
}
