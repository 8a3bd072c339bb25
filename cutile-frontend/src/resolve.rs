//! What names of a module mean: consts (with their values, where a look at the source gives them), functions, imports,
//! and extents written with them. Local variables are typing's.

use std::collections::HashMap;

use cutile_ir::{ConstParam, Dim, DimOp, Element, ElementType, ExternConst, TypeParam};
use proc_macro2::Span;
use syn::Ident;

use crate::{
    ast::{Expr, ExprKind, Function, GenericKind, Module, Operator, Type, TypeKind},
    messages,
    report::Report,
};

/// The value of a const of the module.
#[derive(Clone, Debug, PartialEq)]
pub enum ConstValue {
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// `[i32; N]`.
    Array(Vec<i64>),
    /// rustc computes it.
    Unknown,
}

/// A const of the module.
#[derive(Clone, Debug)]
pub struct ConstInfo {
    /// Its element type; of an array, its elements'.
    pub element: Element,
    /// Its value.
    pub value: ConstValue,
}

/// The names of a module.
pub struct Names<'m> {
    /// Consts by name.
    pub consts: HashMap<String, ConstInfo>,
    /// Functions by IR name.
    pub functions: HashMap<&'m str, &'m Function>,
    /// Imported paths by name.
    pub imports: HashMap<String, &'m syn::Path>,
}

/// Looks at all items of a module.
pub fn names<'m>(module: &'m Module, report: &mut Report) -> Names<'m> {
    let mut names = Names {
        consts: HashMap::new(),
        functions: module.functions.iter().map(|f| (f.path.as_str(), f)).collect(),
        imports: module.imports.iter().map(|i| (i.name.to_string(), &i.path)).collect(),
    };
    for c in &module.consts {
        let Some(element) = const_element(&c.ty) else {
            report.error(c.ty.span, messages::const_type(&c.name));
            continue;
        };
        let value = evaluate(&c.value, element, &names.consts);
        let computed_by_rustc = value == ConstValue::Unknown;
        if computed_by_rustc && !element.is_integer() && element != Element::Bool {
            report.error(c.value.span, messages::const_float_value(&c.name));
        }
        names.consts.insert(c.name.to_string(), ConstInfo { element, value });
    }
    names
}

fn const_element(ty: &Type) -> Option<Element> {
    match &ty.kind {
        TypeKind::Name(name) => element_name(name),
        TypeKind::Array(element, _) => match &element.kind {
            TypeKind::Name(name) => element_name(name).filter(|e| *e == Element::I32),
            _ => None,
        },
        _ => None,
    }
}

/// The element type of that name; `usize` and `isize` are 64 bits wide.
pub fn element_name(name: &Ident) -> Option<Element> {
    match name.to_string().as_str() {
        "usize" => Some(Element::U64),
        "isize" => Some(Element::I64),
        other => Element::from_name(other),
    }
}

fn evaluate(e: &Expr, element: Element, consts: &HashMap<String, ConstInfo>) -> ConstValue {
    use ConstValue::{Array, Bool, Float, Int, Unknown};
    let round = |x: f64| if element == Element::F32 { f64::from(x as f32) } else { x };
    match &e.kind {
        ExprKind::Int(n, _) => i64::try_from(*n).map_or(Unknown, Int),
        ExprKind::Float(x, _) => {
            Float(if element == Element::F32 { f64::from(x.single) } else { x.double })
        }
        ExprKind::Bool(b) => Bool(*b),
        ExprKind::Path(p) => match p.single() {
            Some(name) => consts.get(&name.to_string()).map_or(Unknown, |c| c.value.clone()),
            None => associated_const(&p.path).map_or(Unknown, |(_, value)| value),
        },
        ExprKind::Neg(x) => match evaluate(x, element, consts) {
            Int(n) => n.checked_neg().map_or(Unknown, Int),
            Float(x) => Float(-x),
            _ => Unknown,
        },
        ExprKind::Binary(Operator::Binary(op), a, b) => {
            let (a, b) = (evaluate(a, element, consts), evaluate(b, element, consts));
            match (dim_op(*op), a, b) {
                (Some(op), Int(a), Int(b)) => op.apply(a, b).map_or(Unknown, Int),
                (Some(op), Float(a), Float(b)) => Float(round(match op {
                    DimOp::Add => a + b,
                    DimOp::Sub => a - b,
                    DimOp::Mul => a * b,
                    DimOp::Div => a / b,
                    DimOp::Rem => a % b,
                })),
                _ => Unknown,
            }
        }
        ExprKind::Array(list) => {
            let list: Option<Vec<i64>> = list
                .iter()
                .map(|e| match evaluate(e, element, consts) {
                    Int(n) => Some(n),
                    _ => None,
                })
                .collect();
            list.map_or(Unknown, Array)
        }
        _ => Unknown,
    }
}

/// `f32::INFINITY` and its like.
pub fn associated_const(path: &syn::Path) -> Option<(Element, ConstValue)> {
    let mut segments = path.segments.iter().rev();
    let (name, ty) = (segments.next()?.ident.to_string(), segments.next()?);
    if ty.ident == "consts" {
        let element = element_name(&segments.next()?.ident)?;
        let value = match name.as_str() {
            "PI" => std::f64::consts::PI,
            "E" => std::f64::consts::E,
            "LN_2" => std::f64::consts::LN_2,
            "LOG2_E" => std::f64::consts::LOG2_E,
            "SQRT_2" => std::f64::consts::SQRT_2,
            "FRAC_1_SQRT_2" => std::f64::consts::FRAC_1_SQRT_2,
            "FRAC_2_SQRT_PI" => std::f64::consts::FRAC_2_SQRT_PI,
            _ => return None,
        };
        return Some((
            element,
            ConstValue::Float(if element == Element::F32 {
                f64::from(value as f32)
            } else {
                value
            }),
        ));
    }
    let element = element_name(&ty.ident)?;
    let bits = element.bits() as u32;
    let value = match (element, name.as_str()) {
        (e, "INFINITY") if e.is_float() => ConstValue::Float(f64::INFINITY),
        (e, "NEG_INFINITY") if e.is_float() => ConstValue::Float(f64::NEG_INFINITY),
        (e, "NAN") if e.is_float() => ConstValue::Float(f64::NAN),
        (Element::F32, "MAX") => ConstValue::Float(f64::from(f32::MAX)),
        (Element::F32, "MIN") => ConstValue::Float(f64::from(f32::MIN)),
        (Element::F32, "EPSILON") => ConstValue::Float(f64::from(f32::EPSILON)),
        (Element::F32, "MIN_POSITIVE") => ConstValue::Float(f64::from(f32::MIN_POSITIVE)),
        (Element::F64, "MAX") => ConstValue::Float(f64::MAX),
        (Element::F64, "MIN") => ConstValue::Float(f64::MIN),
        (Element::F64, "EPSILON") => ConstValue::Float(f64::EPSILON),
        (e, "BITS") if e.is_integer() => {
            return Some((Element::U32, ConstValue::Int(i64::from(bits))));
        }
        (e, "MAX") if e.is_integer() => match e.class() {
            cutile_ir::ElementClass::Signed => ConstValue::Int(i64::MAX >> (64 - bits)),
            _ if bits < 64 => ConstValue::Int((1 << bits) - 1),
            _ => return None,
        },
        (e, "MIN") if e.is_integer() => match e.class() {
            cutile_ir::ElementClass::Signed => ConstValue::Int(i64::MIN >> (64 - bits)),
            _ => ConstValue::Int(0),
        },
        _ => return None,
    };
    Some((element, value))
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
        let mut scope = self.function.path.as_str();
        loop {
            if let Some(f) = self.names.functions.get(format!("{scope}.{name}").as_str()) {
                return Some(f);
            }
            match scope.rfind('.') {
                Some(dot) => scope = &scope[..dot],
                None => return self.names.functions.get(name.to_string().as_str()).copied(),
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
                ConstValue::Int(n) => Some(Dim::Const(n)),
                ConstValue::Unknown if c.element.is_integer() => {
                    Some(Dim::Extern(self.extern_const(name.to_string(), name.span())))
                }
                _ => None,
            };
        }
        self.names
            .imports
            .contains_key(&name.to_string())
            .then(|| Dim::Extern(self.extern_const(name.to_string(), name.span())))
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
