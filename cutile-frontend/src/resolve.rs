//! What names of a module mean: consts, functions, imports, and extents written with them. Values of consts are `consts`',
//! local variables are typing's.

use std::collections::HashMap;

use cutile_ir::{ConstParam, Dim, DimOp, Element, ElementType, ExternConst, TypeParam};
use proc_macro2::Span;
use syn::{Ident, ext::IdentExt};

use crate::{
    ast::{Expr, ExprKind, Function, GenericKind, Module, Operator},
    consts::{self, ConstInfo, ConstValue},
    report::Report,
};

/// The names of a module.
pub struct Names<'m> {
    /// Consts by name.
    pub consts: HashMap<String, ConstInfo>,
    /// Functions by IR name.
    pub functions: HashMap<&'m str, &'m Function>,
    /// Imported paths by name.
    pub imports: HashMap<String, &'m syn::Path>,
    /// Names that nothing here explains may come from a `use path::*`.
    pub open: bool,
}

/// Looks at all items of a module.
pub fn names<'m>(module: &'m Module, report: &mut Report) -> Names<'m> {
    let mut names = Names {
        consts: HashMap::new(),
        functions: module.functions.iter().map(|f| (f.path.as_str(), f)).collect(),
        imports: module.imports.iter().map(|i| (i.name.to_string(), &i.path)).collect(),
        open: module.open,
    };
    names.consts = consts::evaluate(&module.consts, report);
    names
}

/// The element type of that name; `usize` and `isize` are 64 bits wide.
pub fn element_name(name: &Ident) -> Option<Element> {
    match name.to_string().as_str() {
        "usize" => Some(Element::U64),
        "isize" => Some(Element::I64),
        other => Element::from_name(other),
    }
}

/// The arithmetic of extents that an operator means.
pub fn dim_op(op: cutile_ir::op::BinaryOp) -> Option<DimOp> {
    use cutile_ir::op::BinaryOp;
    match op {
        BinaryOp::Add => Some(DimOp::Add),
        BinaryOp::Sub => Some(DimOp::Sub),
        BinaryOp::Mul => Some(DimOp::Mul),
        BinaryOp::Div => Some(DimOp::Div),
        BinaryOp::Rem => Some(DimOp::Rem),
        _ => None,
    }
}

/// A generic parameter in scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GenericRef {
    /// An element type.
    Element(TypeParam),
    /// A const parameter.
    Const(ConstParam, GenericKind),
}

/// The names that one function sees.
pub struct FunctionNames<'n, 'm> {
    /// The module's.
    pub names: &'n Names<'m>,
    /// The function.
    pub function: &'m Function,
    generics: HashMap<String, GenericRef>,
    /// Consts that rustc computes, in the order of their first use: the module's `externs`.
    pub externs: Vec<String>,
    /// Functions of other modules, in the order of their first use: the module's `imports`.
    pub imports: Vec<String>,
    /// Where each of both is first used.
    pub uses: HashMap<String, Span>,
}

impl<'n, 'm> FunctionNames<'n, 'm> {
    /// The names that `function` sees; `externs` and `imports` are those of the IR module so far.
    pub fn new(
        names: &'n Names<'m>,
        function: &'m Function,
        externs: Vec<String>,
        imports: Vec<String>,
    ) -> Self {
        let (mut types, mut consts) = (0, 0);
        let mut generics = HashMap::new();
        for g in &function.generics {
            let counter = if g.kind == GenericKind::Element { &mut types } else { &mut consts };
            let position = *counter;
            *counter += 1;
            let reference = match g.kind {
                GenericKind::Element => GenericRef::Element(TypeParam(position)),
                kind => GenericRef::Const(ConstParam(position), kind),
            };
            generics.insert(g.name.to_string(), reference);
        }
        FunctionNames { names, function, generics, externs, imports, uses: HashMap::new() }
    }

    /// A generic parameter by name.
    pub fn generic(&self, name: &Ident) -> Option<GenericRef> {
        self.generics.get(&name.to_string()).copied()
    }

    /// The element type of that name.
    pub fn element(&self, name: &Ident) -> Option<ElementType> {
        match self.generic(name) {
            Some(GenericRef::Element(p)) => Some(ElementType::Param(p)),
            Some(GenericRef::Const(..)) => None,
            None => element_name(name).map(ElementType::Known),
        }
    }

    /// A helper that a name means here: a nested function, one of an enclosing function, or one of the module.
    pub fn helper(&self, name: &Ident) -> Option<&'m Function> {
        let (mut scope, name) = (self.function.path.as_str(), name.unraw().to_string());
        loop {
            if let Some(f) = self.names.functions.get(format!("{scope}.{name}").as_str()) {
                return Some(f);
            }
            match scope.rfind('.') {
                Some(dot) => scope = &scope[..dot],
                None => return self.names.functions.get(name.as_str()).copied(),
            }
        }
    }

    /// The number of a const that rustc computes.
    pub fn extern_const(&mut self, path: String, span: Span) -> ExternConst {
        self.uses.entry(path.clone()).or_insert(span);
        let position = self.externs.iter().position(|e| *e == path).unwrap_or_else(|| {
            self.externs.push(path);
            self.externs.len() - 1
        });
        ExternConst(position as u32)
    }

    /// The number of a function of another module.
    pub fn import(&mut self, path: String, span: Span) -> cutile_ir::ImportId {
        self.uses.entry(path.clone()).or_insert(span);
        let position = self.imports.iter().position(|e| *e == path).unwrap_or_else(|| {
            self.imports.push(path);
            self.imports.len() - 1
        });
        cutile_ir::ImportId(position as u32)
    }

    /// An expression as an extent: integers, const parameters, integer consts, and arithmetic on them.
    pub fn dim(&mut self, e: &Expr) -> Option<Dim> {
        match &e.kind {
            ExprKind::Int(n, _) => i64::try_from(*n).ok().map(Dim::Const),
            ExprKind::Neg(x) => match self.dim(x)? {
                Dim::Const(n) => n.checked_neg().map(Dim::Const),
                _ => None,
            },
            ExprKind::Path(p) => match p.single() {
                Some(name) => self.named_dim(name),
                None => Some(Dim::Extern(self.extern_const(path_text(&p.path), e.span))),
            },
            ExprKind::Index(base, index) => {
                let (ExprKind::Path(p), Dim::Const(axis)) = (&base.kind, self.dim(index)?) else {
                    return None;
                };
                self.array_element(p.single()?, usize::try_from(axis).ok()?)
            }
            ExprKind::Binary(Operator::Binary(op), a, b) => {
                Some(Dim::combine(dim_op(*op)?, self.dim(a)?, self.dim(b)?))
            }
            ExprKind::Block(block) if block.statements.is_empty() => {
                self.dim(block.value.as_ref()?)
            }
            _ => None,
        }
    }

    fn named_dim(&mut self, name: &Ident) -> Option<Dim> {
        match self.generic(name) {
            Some(GenericRef::Const(param, GenericKind::Int | GenericKind::Bool)) => {
                return Some(Dim::Param { param, axis: None });
            }
            Some(_) => return None,
            None => {}
        }
        if let Some(c) = self.names.consts.get(&name.to_string()) {
            return match c.value {
                ConstValue::Int(n) => i64::try_from(n).ok().map(Dim::Const),
                ConstValue::Unknown if c.element.is_integer() => {
                    Some(Dim::Extern(self.extern_const(name.to_string(), name.span())))
                }
                _ => None,
            };
        }
        self.may_be_foreign(name)
            .then(|| Dim::Extern(self.extern_const(name.to_string(), name.span())))
    }

    /// Whether a name that is not the module's own may be a const of another module: it is imported, or it is in capitals
    /// and all of a module is imported.
    pub fn may_be_foreign(&self, name: &Ident) -> bool {
        let text = name.to_string();
        self.names.imports.contains_key(&text)
            || (self.names.open && !text.contains(char::is_lowercase))
    }

    fn array_element(&mut self, name: &Ident, axis: usize) -> Option<Dim> {
        self.array(name)?.get(axis).cloned()
    }

    /// The elements of an array parameter or of an array const.
    pub fn array(&self, name: &Ident) -> Option<Vec<Dim>> {
        match self.generic(name) {
            Some(GenericRef::Const(param, GenericKind::Array(rank))) => {
                Some((0..rank).map(|axis| Dim::Param { param, axis: Some(axis) }).collect())
            }
            Some(_) => None,
            None => match &self.names.consts.get(&name.to_string())?.value {
                ConstValue::Array(list) => Some(list.iter().copied().map(Dim::Const).collect()),
                _ => None,
            },
        }
    }
}

/// A path as source text.
pub fn path_text(path: &syn::Path) -> String {
    let names: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
    format!("{}{}", if path.leading_colon.is_some() { "::" } else { "" }, names.join("::"))
}
