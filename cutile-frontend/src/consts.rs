//! The values of a module's consts, where a look at the source gives them. What only rustc can compute (calls, `if`, a value
//! behind `#[cfg]`) stays unknown: integers and bools then come from rustc, in const evaluation; others are an error.

use std::collections::HashMap;

use cutile_ir::{
    DimOp, Element, ElementClass,
    op::{BinaryOp, CompareOp},
};

use crate::{
    ast::{Const, Expr, ExprKind, Operator, Type, TypeKind},
    messages,
    report::Report,
    resolve::{dim_op, element_name},
};

/// The value of a const of the module.
#[derive(Clone, Debug, PartialEq)]
pub enum ConstValue {
    /// An integer that its type holds.
    Int(i128),
    /// A float, rounded to its type.
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

/// The consts of a module by name, in whatever order they are declared.
pub(crate) fn evaluate(consts: &[Const], report: &mut Report) -> HashMap<String, ConstInfo> {
    let mut declared = HashMap::new();
    for c in consts {
        match const_element(&c.ty) {
            Some(element) => {
                declared.entry(c.name.to_string()).or_insert((c, element));
            }
            None => report.error(c.ty.span, messages::const_type(&c.name)),
        }
    }
    let mut evaluator = Evaluator { declared: &declared, values: HashMap::new() };
    for c in consts {
        let Some((_, element)) = declared.get(&c.name.to_string()) else { continue };
        let rustc_can = !matches!(c.ty.kind, TypeKind::Array(..))
            && (element.is_integer() || *element == Element::Bool);
        if evaluator.of(&c.name.to_string()) == ConstValue::Unknown && !rustc_can {
            let message = match c.conditional {
                true => messages::const_conditional(&c.name),
                false => messages::const_value(&c.name),
            };
            report.error(c.value.span, message);
        }
    }
    let values = evaluator.values;
    declared
        .iter()
        .map(|(name, (_, element))| {
            let value = values.get(name).cloned().unwrap_or(ConstValue::Unknown);
            (name.clone(), ConstInfo { element: *element, value })
        })
        .collect()
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

struct Evaluator<'a> {
    declared: &'a HashMap<String, (&'a Const, Element)>,
    values: HashMap<String, ConstValue>,
}

impl Evaluator<'_> {
    /// The value of a const.
    fn of(&mut self, name: &str) -> ConstValue {
        if let Some(value) = self.values.get(name) {
            return value.clone();
        }
        let Some(&(c, element)) = self.declared.get(name) else { return ConstValue::Unknown };
        // What a const that uses itself finds; rustc reports the cycle.
        self.values.insert(name.into(), ConstValue::Unknown);
        let value = match c.conditional {
            true => ConstValue::Unknown,
            false => self.expr(&c.value, element),
        };
        self.values.insert(name.into(), value.clone());
        value
    }

    /// The value of an expression of that type.
    fn expr(&mut self, e: &Expr, element: Element) -> ConstValue {
        use ConstValue::{Array, Bool, Float, Int, Unknown};
        match &e.kind {
            ExprKind::Int(n, _) => integer(i128::try_from(*n).ok(), element),
            ExprKind::Float(x, _) if element == Element::F32 => Float(f64::from(x.single)),
            ExprKind::Float(x, _) => Float(x.double),
            ExprKind::Bool(b) => Bool(*b),
            ExprKind::Path(p) => match p.single() {
                Some(name) => self.of(&name.to_string()),
                None => associated_const(&p.path).map_or(Unknown, |(_, value)| value),
            },
            ExprKind::Neg(x) => match (&x.kind, self.expr(x, element)) {
                // The least integer's absolute value is no integer of the type.
                (ExprKind::Int(n, _), _) => integer(i128::try_from(*n).ok().map(|n| -n), element),
                (_, Int(n)) => integer(n.checked_neg(), element),
                (_, Float(x)) => Float(-x),
                _ => Unknown,
            },
            ExprKind::Not(x) => match self.expr(x, element) {
                Bool(b) => Bool(!b),
                _ => Unknown,
            },
            ExprKind::And(a, b) => match (self.expr(a, element), self.expr(b, element)) {
                (Bool(a), Bool(b)) => Bool(a && b),
                _ => Unknown,
            },
            ExprKind::Or(a, b) => match (self.expr(a, element), self.expr(b, element)) {
                (Bool(a), Bool(b)) => Bool(a || b),
                _ => Unknown,
            },
            ExprKind::Binary(Operator::Binary(op), a, b) => {
                arithmetic(*op, self.expr(a, element), self.expr(b, element), element)
            }
            ExprKind::Binary(Operator::Compare(op), a, b) => {
                // As i64: a literal that doesn't fit the other side's type is rustc's to report.
                match (self.expr(a, Element::I64), self.expr(b, Element::I64)) {
                    (Int(a), Int(b)) => Bool(compare(*op, a, b)),
                    _ => Unknown,
                }
            }
            ExprKind::Cast(x, _) => self.cast(x, element),
            ExprKind::Array(list) => {
                let list: Option<Vec<i64>> = list
                    .iter()
                    .map(|e| match self.expr(e, element) {
                        Int(n) => i64::try_from(n).ok(),
                        _ => None,
                    })
                    .collect();
                list.map_or(Unknown, Array)
            }
            _ => Unknown,
        }
    }

    /// `x as f32`; other casts are left to rustc.
    fn cast(&mut self, x: &Expr, element: Element) -> ConstValue {
        let from = self.element_of(x);
        let value = self.expr(x, from.unwrap_or(element));
        match (element, value) {
            (Element::F32, ConstValue::Int(n)) => ConstValue::Float(f64::from(n as f32)),
            (Element::F64, ConstValue::Int(n)) => ConstValue::Float(n as f64),
            (Element::F32, ConstValue::Float(x)) => ConstValue::Float(f64::from(x as f32)),
            (Element::F64, ConstValue::Float(x)) => ConstValue::Float(x),
            _ => ConstValue::Unknown,
        }
    }

    /// The type of an expression, if a const or a suffix in it says so; of bare integers, i64, which holds them all.
    fn element_of(&self, e: &Expr) -> Option<Element> {
        match &e.kind {
            ExprKind::Int(_, suffix) => suffix.or(Some(Element::I64)),
            ExprKind::Float(_, suffix) => *suffix,
            ExprKind::Path(p) => match p.single() {
                Some(name) => self.declared.get(&name.to_string()).map(|(_, element)| *element),
                None => associated_const(&p.path).map(|(element, _)| element),
            },
            ExprKind::Neg(x) => self.element_of(x),
            ExprKind::Binary(Operator::Binary(_), a, b) => match (&a.kind, &b.kind) {
                (ExprKind::Int(_, None) | ExprKind::Float(_, None), _) => self.element_of(b),
                _ => self.element_of(a),
            },
            ExprKind::Cast(_, ty) => match &ty.kind {
                TypeKind::Name(name) => element_name(name),
                _ => None,
            },
            _ => None,
        }
    }
}

/// An integer, if it is one of that type; where it is not, rustc says so.
fn integer(n: Option<i128>, element: Element) -> ConstValue {
    n.filter(|n| holds(element, *n)).map_or(ConstValue::Unknown, ConstValue::Int)
}

/// The integers that an integer type has.
pub(crate) fn range(element: Element) -> Option<(i128, i128)> {
    let bits = element.bits() as u32;
    match element.class() {
        ElementClass::Signed => Some((-(1 << (bits - 1)), (1 << (bits - 1)) - 1)),
        ElementClass::Unsigned => Some((0, (1 << bits) - 1)),
        ElementClass::Float | ElementClass::Bool => None,
    }
}

fn holds(element: Element, n: i128) -> bool {
    range(element).is_some_and(|(least, greatest)| (least..=greatest).contains(&n))
}

fn arithmetic(op: BinaryOp, a: ConstValue, b: ConstValue, element: Element) -> ConstValue {
    let round = |x: f64| if element == Element::F32 { f64::from(x as f32) } else { x };
    match (dim_op(op), a, b) {
        (Some(op), ConstValue::Int(a), ConstValue::Int(b)) => {
            let result = match op {
                DimOp::Add => a.checked_add(b),
                DimOp::Sub => a.checked_sub(b),
                DimOp::Mul => a.checked_mul(b),
                DimOp::Div => a.checked_div(b),
                DimOp::Rem => a.checked_rem(b),
            };
            integer(result, element)
        }
        // One operation in f64, then rounded to f32, is the operation in f32.
        (Some(op), ConstValue::Float(a), ConstValue::Float(b)) => {
            ConstValue::Float(round(match op {
                DimOp::Add => a + b,
                DimOp::Sub => a - b,
                DimOp::Mul => a * b,
                DimOp::Div => a / b,
                DimOp::Rem => a % b,
            }))
        }
        _ => ConstValue::Unknown,
    }
}

fn compare(op: CompareOp, a: i128, b: i128) -> bool {
    match op {
        CompareOp::Eq => a == b,
        CompareOp::Ne => a != b,
        CompareOp::Lt => a < b,
        CompareOp::Le => a <= b,
        CompareOp::Gt => a > b,
        CompareOp::Ge => a >= b,
    }
}

/// `f32::INFINITY`, `std::f32::consts::PI` and their like.
pub fn associated_const(path: &syn::Path) -> Option<(Element, ConstValue)> {
    let mut segments = path.segments.iter().rev();
    let (name, ty) = (segments.next()?.ident.to_string(), segments.next()?);
    if ty.ident == "consts" {
        let element = element_name(&segments.next()?.ident)?;
        let value = mathematical(&name)?;
        let value = if element == Element::F32 { f64::from(value as f32) } else { value };
        return Some((element, ConstValue::Float(value)));
    }
    let element = element_name(&ty.ident)?;
    let value = match (range(element), name.as_str()) {
        (Some(_), "BITS") => {
            return Some((Element::U32, ConstValue::Int(element.bits() as i128)));
        }
        (Some((_, greatest)), "MAX") => ConstValue::Int(greatest),
        (Some((least, _)), "MIN") => ConstValue::Int(least),
        _ => ConstValue::Float(float_const(element, &name)?),
    };
    Some((element, value))
}

fn float_const(element: Element, name: &str) -> Option<f64> {
    if !element.is_float() {
        return None;
    }
    // The greatest, the distance from 1 to the next, and the least normal one.
    let (max, epsilon, least) = match element {
        Element::F64 => (f64::MAX, f64::EPSILON, f64::MIN_POSITIVE),
        Element::F32 => {
            (f64::from(f32::MAX), f64::from(f32::EPSILON), f64::from(f32::MIN_POSITIVE))
        }
        Element::F16 => (65504.0, 2f64.powi(-10), 2f64.powi(-14)),
        Element::BF16 => (2f64.powi(127) * (2.0 - 2f64.powi(-7)), 2f64.powi(-7), 2f64.powi(-126)),
        _ => return None,
    };
    let of_half = matches!(element, Element::F16 | Element::BF16);
    Some(match name {
        "INFINITY" => f64::INFINITY,
        "NEG_INFINITY" => f64::NEG_INFINITY,
        "NAN" => f64::NAN,
        "MAX" => max,
        "MIN" => -max,
        "EPSILON" => epsilon,
        "MIN_POSITIVE" => least,
        "ZERO" if of_half => 0.0,
        "ONE" if of_half => 1.0,
        "NEG_ONE" if of_half => -1.0,
        _ => return None,
    })
}

/// What `std::f32::consts` and `std::f64::consts` have.
fn mathematical(name: &str) -> Option<f64> {
    use std::f64::consts;
    Some(match name {
        "PI" => consts::PI,
        "TAU" => consts::TAU,
        "E" => consts::E,
        "SQRT_2" => consts::SQRT_2,
        "LN_2" => consts::LN_2,
        "LN_10" => consts::LN_10,
        "LOG2_E" => consts::LOG2_E,
        "LOG10_E" => consts::LOG10_E,
        "LOG2_10" => consts::LOG2_10,
        "LOG10_2" => consts::LOG10_2,
        "FRAC_1_PI" => consts::FRAC_1_PI,
        "FRAC_2_PI" => consts::FRAC_2_PI,
        "FRAC_1_SQRT_2" => consts::FRAC_1_SQRT_2,
        "FRAC_2_SQRT_PI" => consts::FRAC_2_SQRT_PI,
        "FRAC_PI_2" => consts::FRAC_PI_2,
        "FRAC_PI_3" => consts::FRAC_PI_3,
        "FRAC_PI_4" => consts::FRAC_PI_4,
        "FRAC_PI_6" => consts::FRAC_PI_6,
        "FRAC_PI_8" => consts::FRAC_PI_8,
        _ => return None,
    })
}
