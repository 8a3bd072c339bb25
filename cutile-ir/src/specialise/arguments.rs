//! The arguments of an entry's type and const parameters, and their text: `S=[64, 64], T=f32`.

use crate::element::Element;
use crate::module::{ConstKind, Function};
use smallvec::SmallVec;
use std::fmt;

/// The value of a const parameter.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ConstValue {
    /// For `i32` parameters.
    I32(i32),
    /// For `bool` parameters.
    Bool(bool),
    /// For `[i32; N]` parameters.
    Array(SmallVec<[i32; 3]>),
}

/// Values for all type and const parameters of an entry, in declared order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Specialisation {
    /// Element types.
    pub types: Vec<Element>,
    /// Const values.
    pub consts: Vec<ConstValue>,
}

/// A specialisation that does not suit the entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says it")]
pub enum ArgumentError {
    #[error("`{entry}` takes {expected} {what}, {found} are given")]
    Count { entry: String, what: &'static str, expected: usize, found: usize },
    #[error("the const parameter `{name}` is {expected}, `{found}` is given")]
    Kind { name: String, expected: String, found: String },
    #[error("`{name}` is not a parameter of `{entry}`; it has {known}")]
    Unknown { entry: String, name: String, known: String },
    #[error("`{name}` is missing; a specialisation of `{entry}` gives every one of {known}")]
    Missing { entry: String, name: String, known: String },
    #[error("`{part}` is not `NAME=VALUE` with an integer, `true`, `false`, a list or a type")]
    Text { part: String },
}

impl fmt::Display for ConstValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConstValue::I32(n) => write!(f, "{n}"),
            ConstValue::Bool(b) => write!(f, "{b}"),
            ConstValue::Array(ns) => {
                let ns: Vec<String> = ns.iter().map(i32::to_string).collect();
                write!(f, "[{}]", ns.join(", "))
            }
        }
    }
}

fn kind_text(kind: ConstKind) -> String {
    match kind {
        ConstKind::I32 => "an `i32`".to_string(),
        ConstKind::Bool => "a `bool`".to_string(),
        ConstKind::Array(n) => format!("an `[i32; {n}]`"),
    }
}

fn names(f: &Function) -> String {
    let all: Vec<&str> = f
        .type_params
        .iter()
        .map(String::as_str)
        .chain(f.const_params.iter().map(|c| c.name.as_str()))
        .collect();
    if all.is_empty() { "no parameters".to_string() } else { format!("`{}`", all.join("`, `")) }
}

impl Specialisation {
    /// Checks number and kinds against an entry.
    pub fn check(&self, f: &Function) -> Result<(), ArgumentError> {
        for (what, expected, found) in [
            ("type arguments", f.type_params.len(), self.types.len()),
            ("const arguments", f.const_params.len(), self.consts.len()),
        ] {
            if expected != found {
                let entry = f.name.clone();
                return Err(ArgumentError::Count { entry, what, expected, found });
            }
        }
        for (decl, value) in f.const_params.iter().zip(&self.consts) {
            let suits = match (decl.kind, value) {
                (ConstKind::I32, ConstValue::I32(_)) | (ConstKind::Bool, ConstValue::Bool(_)) => {
                    true
                }
                (ConstKind::Array(n), ConstValue::Array(a)) => a.len() == n as usize,
                _ => false,
            };
            if !suits {
                return Err(ArgumentError::Kind {
                    name: decl.name.clone(),
                    expected: kind_text(decl.kind),
                    found: value.to_string(),
                });
            }
        }
        Ok(())
    }

    /// The text form, with the entry's names: `T=f32, S=[64, 64]`; empty for no parameters.
    pub fn text(&self, f: &Function) -> String {
        let types = f.type_params.iter().zip(&self.types).map(|(n, t)| format!("{n}={t}"));
        let consts =
            f.const_params.iter().zip(&self.consts).map(|(d, v)| format!("{}={v}", d.name));
        types.chain(consts).collect::<Vec<_>>().join(", ")
    }

    /// Reads the text form; the parts may come in any order, each parameter once.
    pub fn parse(text: &str, f: &Function) -> Result<Specialisation, ArgumentError> {
        let mut types = vec![None; f.type_params.len()];
        let mut consts = vec![None; f.const_params.len()];
        for part in split(text) {
            let bad = || ArgumentError::Text { part: part.to_string() };
            let (name, value) = part.split_once('=').ok_or_else(bad)?;
            let (name, value) = (name.trim(), value.trim());
            if let Some(i) = f.type_params.iter().position(|t| t == name) {
                types[i] = Some(Element::from_name(value).ok_or_else(bad)?);
            } else if let Some(i) = f.const_params.iter().position(|c| c.name == name) {
                consts[i] = Some(const_value(value).ok_or_else(bad)?);
            } else {
                let (entry, name) = (f.name.clone(), name.to_string());
                return Err(ArgumentError::Unknown { entry, name, known: names(f) });
            }
        }
        let missing = |name: &str| ArgumentError::Missing {
            entry: f.name.clone(),
            name: name.to_string(),
            known: names(f),
        };
        let types = types.into_iter().zip(&f.type_params);
        let consts = consts.into_iter().zip(&f.const_params);
        let this = Specialisation {
            types: types.map(|(t, n)| t.ok_or_else(|| missing(n))).collect::<Result<_, _>>()?,
            consts: consts
                .map(|(c, d)| c.ok_or_else(|| missing(&d.name)))
                .collect::<Result<_, _>>()?,
        };
        this.check(f)?;
        Ok(this)
    }
}

/// Parts between commas that stand outside brackets.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0i32, 0);
    for (i, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[start..i].trim());
                start = i + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts.retain(|p| !p.is_empty());
    parts
}

fn const_value(text: &str) -> Option<ConstValue> {
    if let Some(list) = text.strip_prefix('[') {
        let list = list.strip_suffix(']')?;
        let numbers = list.split(',').map(|n| n.trim().parse().ok()).collect::<Option<_>>()?;
        return Some(ConstValue::Array(numbers));
    }
    match text {
        "true" => Some(ConstValue::Bool(true)),
        "false" => Some(ConstValue::Bool(false)),
        n => n.parse().ok().map(ConstValue::I32),
    }
}
