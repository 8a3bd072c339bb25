//! Unification: inference variables of element types and of types. No expressions here.

use cutile_ir::{Element, ElementType};

use super::types::{El, Ty};

/// What may stand for an element variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Anything.
    Any,
    /// An integer: from a literal such as `1`.
    Int,
    /// A float: from a literal such as `1.0`.
    Float,
}

#[derive(Clone, Copy, Debug)]
enum ElVar {
    Free(Kind),
    Bound(El),
}

/// The inference variables of one function.
#[derive(Debug, Default)]
pub struct Infer {
    els: Vec<ElVar>,
    tys: Vec<Option<Ty>>,
}

impl Infer {
    /// A new element variable.
    pub fn el(&mut self, kind: Kind) -> El {
        self.els.push(ElVar::Free(kind));
        El::Var(self.els.len() as u32 - 1)
    }

    /// A new type variable.
    pub fn ty(&mut self) -> Ty {
        self.tys.push(None);
        Ty::Var(self.tys.len() as u32 - 1)
    }

    /// What an element type is known to be.
    pub fn resolve_el(&self, mut el: El) -> El {
        while let El::Var(v) = el {
            match self.els[v as usize] {
                ElVar::Bound(next) => el = next,
                ElVar::Free(_) => break,
            }
        }
        el
    }

    /// What is known of a free element variable.
    pub fn kind(&self, el: El) -> Option<Kind> {
        match self.resolve_el(el) {
            El::Var(v) => match self.els[v as usize] {
                ElVar::Free(kind) => Some(kind),
                ElVar::Bound(_) => None,
            },
            El::Is(_) => None,
        }
    }

    /// What a type is known to be, all the way down.
    pub fn resolve(&self, ty: &Ty) -> Ty {
        match ty {
            Ty::Var(v) => match &self.tys[*v as usize] {
                Some(t) => self.resolve(t),
                None => Ty::Var(*v),
            },
            Ty::Scalar(e) => Ty::Scalar(self.resolve_el(*e)),
            Ty::Tile(e, s) => Ty::Tile(self.resolve_el(*e), s.clone()),
            Ty::Tuple(list) => Ty::Tuple(list.iter().map(|t| self.resolve(t)).collect()),
            Ty::Array(t, n) => Ty::Array(Box::new(self.resolve(t)), *n),
            other => other.clone(),
        }
    }

    /// As [`Infer::resolve`], with literals that nothing else decides taken as Rust takes them: `i32` and `f64`.
    pub fn finish(&self, ty: &Ty) -> Ty {
        match self.resolve(ty) {
            Ty::Scalar(e) => Ty::Scalar(self.finish_el(e)),
            Ty::Tile(e, s) => Ty::Tile(self.finish_el(e), s),
            Ty::Tuple(list) => Ty::Tuple(list.iter().map(|t| self.finish(t)).collect()),
            Ty::Array(t, n) => Ty::Array(Box::new(self.finish(&t)), n),
            other => other,
        }
    }

    fn finish_el(&self, el: El) -> El {
        match self.kind(el) {
            Some(Kind::Int) => El::known(Element::I32),
            Some(Kind::Float) => El::known(Element::F64),
            _ => el,
        }
    }

    /// Makes two element types equal, if they can be.
    pub fn unify_el(&mut self, a: El, b: El) -> bool {
        match (self.resolve_el(a), self.resolve_el(b)) {
            (a, b) if a == b => true,
            (El::Var(x), El::Var(y)) => {
                let kind = match (self.kind(a), self.kind(b)) {
                    (Some(Kind::Any), Some(k)) | (Some(k), Some(Kind::Any)) => k,
                    (Some(p), Some(q)) if p == q => p,
                    _ => return false,
                };
                self.els[x as usize] = ElVar::Bound(El::Var(y));
                self.els[y as usize] = ElVar::Free(kind);
                true
            }
            (El::Var(v), El::Is(e)) | (El::Is(e), El::Var(v)) => {
                let fits = match (self.kind(El::Var(v)), e) {
                    (Some(Kind::Int), ElementType::Known(e)) => e.is_integer(),
                    (Some(Kind::Float), ElementType::Known(e)) => e.is_float(),
                    (Some(Kind::Any), _) => true,
                    _ => false,
                };
                if fits {
                    self.els[v as usize] = ElVar::Bound(El::Is(e));
                }
                fits
            }
            _ => false,
        }
    }

    /// Makes two types equal, if they can be. A type that is wrong already, or never there, goes with any.
    pub fn unify(&mut self, a: &Ty, b: &Ty) -> bool {
        match (self.shallow(a), self.shallow(b)) {
            (Ty::Error | Ty::Never, _) | (_, Ty::Error | Ty::Never) => true,
            (Ty::Var(x), Ty::Var(y)) if x == y => true,
            (Ty::Var(v), t) | (t, Ty::Var(v)) => {
                self.tys[v as usize] = Some(t);
                true
            }
            (Ty::Scalar(a), Ty::Scalar(b)) => self.unify_el(a, b),
            (Ty::Tile(a, s), Ty::Tile(b, t)) => s == t && self.unify_el(a, b),
            (
                Ty::Tensor { mutable: m, element: a, extents: s },
                Ty::Tensor { mutable: n, element: b, extents: t },
            ) => (!m || n) && s == t && self.unify_el(a, b),
            (
                Ty::View { mutable: m, element: a, shape: s },
                Ty::View { mutable: n, element: b, shape: t },
            ) => m == n && s == t && self.unify_el(a, b),
            (Ty::Tuple(a), Ty::Tuple(b)) => {
                a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| self.unify(a, b))
            }
            (Ty::Array(a, n), Ty::Array(b, m)) => n == m && self.unify(&a, &b),
            (a, b) => a == b,
        }
    }

    fn shallow(&self, ty: &Ty) -> Ty {
        match ty {
            Ty::Var(v) => match &self.tys[*v as usize] {
                Some(t) => self.shallow(t),
                None => Ty::Var(*v),
            },
            other => other.clone(),
        }
    }
}
