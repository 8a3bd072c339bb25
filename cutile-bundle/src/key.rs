//! What a built kernel is found by: the linked IR, its const values and element types, and the class of arguments it was built
//! for. Target and compiler stand beside the key, in the manifest, since a lookup chooses among them.

use std::fmt;
use std::hash::Hasher;
use std::str::FromStr;

use cutile_ir::Specialisation;
use cutile_ir::blob::Unit;
use rustc_stable_hash::hashers::SipHasher128Hash;
use rustc_stable_hash::{FromStableHash, hashers::StableSipHasher128};
use serde::{Deserialize, Serialize};

/// Which arguments a kernel was built for. Each specialisation is built for both; a launch chooses by [`FactsClass::of`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FactsClass {
    /// For every tensor: the innermost stride is 1, base address and other strides are multiples of [`ALIGNMENT`] bytes, and
    /// every element's offset is below 2^31 elements.
    Aligned,
    /// Nothing is known.
    General,
}

/// What an aligned tensor's base address and strides are multiples of, in bytes: the widest access of a thread.
pub const ALIGNMENT: u64 = 16;

/// The element strides and place of a tensor argument.
#[derive(Clone, Copy, Debug)]
pub struct TensorFacts<'a> {
    /// Address of element 0, in bytes.
    pub base: u64,
    /// Bytes of an element.
    pub element_bytes: u64,
    /// Extents, outermost first.
    pub extents: &'a [i64],
    /// Strides in elements, outermost first.
    pub strides: &'a [i64],
}

impl FactsClass {
    /// Both classes.
    pub const ALL: [FactsClass; 2] = [FactsClass::Aligned, FactsClass::General];

    /// The class that all these tensor arguments allow.
    pub fn of<'a>(tensors: impl IntoIterator<Item = TensorFacts<'a>>) -> FactsClass {
        if tensors.into_iter().all(|tensor| tensor.aligned()) {
            FactsClass::Aligned
        } else {
            FactsClass::General
        }
    }

    /// Its name in files and messages.
    pub const fn name(self) -> &'static str {
        match self {
            FactsClass::Aligned => "aligned",
            FactsClass::General => "general",
        }
    }
}

impl fmt::Display for FactsClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl TensorFacts<'_> {
    fn aligned(&self) -> bool {
        let Some((innermost, outer)) = self.strides.split_last() else {
            return self.base.is_multiple_of(ALIGNMENT);
        };
        // The offset of the last element bounds all others, strides being positive.
        let last = self.extents.iter().zip(self.strides).try_fold(0i64, |sum, (extent, stride)| {
            sum.checked_add(extent.saturating_sub(1).max(0).checked_mul(*stride)?)
        });
        self.base.is_multiple_of(ALIGNMENT)
            && *innermost == 1
            && last.is_some_and(|last| last < 1 << 31)
            && outer.iter().all(|stride| {
                u64::try_from(*stride).is_ok_and(|stride| {
                    stride
                        .checked_mul(self.element_bytes)
                        .is_some_and(|b| b.is_multiple_of(ALIGNMENT))
                })
            })
    }
}

/// The hash that a built kernel is found by. Stable across runs, machines and compilers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key([u8; 16]);

impl Key {
    /// The key of an entry under a specialisation.
    ///
    /// Of the unit counts what its code depends on: not the specialisations that it declares.
    pub fn of(unit: &Unit<'_>, specialisation: &Specialisation, facts: FactsClass) -> Key {
        let mut hasher = Fields(StableSipHasher128::new());
        // The compiler's version: our crates are released together.
        hasher.field(env!("CARGO_PKG_VERSION").as_bytes());
        hash_unit(unit, &mut hasher);
        hasher.list(&specialisation.types, |hasher, ty| hasher.field(ty.name().as_bytes()));
        hasher.list(&specialisation.consts, |hasher, value| {
            hasher.field(value.to_string().as_bytes());
        });
        hasher.field(facts.name().as_bytes());
        hasher.0.finish()
    }
}

fn hash_unit(unit: &Unit<'_>, hasher: &mut Fields) {
    hasher.field(unit.name.as_bytes());
    hasher.field(unit.text.as_bytes());
    hasher.list(&unit.externs, |hasher, value| hasher.field(&value.to_le_bytes()));
    hasher.list(&unit.imports, |hasher, import| hash_unit(import, hasher));
}

/// Hashes fields so that no two lists of fields look alike: each with its length in front.
struct Fields(StableSipHasher128);

impl Fields {
    fn field(&mut self, bytes: &[u8]) {
        self.0.write(&(bytes.len() as u64).to_le_bytes());
        self.0.write(bytes);
    }

    fn list<T>(&mut self, items: &[T], each: impl Fn(&mut Fields, &T)) {
        self.0.write(&(items.len() as u64).to_le_bytes());
        items.iter().for_each(|item| each(self, item));
    }
}

impl FromStableHash for Key {
    type Hash = SipHasher128Hash;

    fn from(SipHasher128Hash([high, low]): SipHasher128Hash) -> Key {
        let number = (u128::from(high) << 64) | u128::from(low);
        Key(number.to_be_bytes())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that is not a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is not a kernel's key: expected 32 hexadecimal digits")]
pub struct KeyError {
    /// The text that was given.
    pub given: String,
}

impl FromStr for Key {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Key, KeyError> {
        let digits = text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit());
        let number = digits.then(|| u128::from_str_radix(text, 16).ok()).flatten();
        let number = number.ok_or_else(|| KeyError { given: text.to_owned() })?;
        Ok(Key(number.to_be_bytes()))
    }
}

crate::target::serde_as_text!(Key);

#[cfg(test)]
mod tests {
    use super::*;
    use cutile_ir::{ConstValue, Element};

    fn unit<'a>(name: &'a str, text: &'a str) -> Unit<'a> {
        Unit { name, text, specialisations: "", externs: Vec::new(), imports: Vec::new() }
    }

    fn key(unit: &Unit<'_>) -> Key {
        Key::of(unit, &Specialisation::default(), FactsClass::Aligned)
    }

    #[test]
    fn each_ingredient_changes_the_key() {
        let base = unit("k::a", "text");
        let plain = Specialisation::default();
        let types = |element| Specialisation { types: vec![element], ..Default::default() };
        let consts = |n| Specialisation { consts: vec![ConstValue::I32(n)], ..Default::default() };
        let keys = [
            key(&base),
            key(&unit("k::b", "text")),
            key(&unit("k::", "atext")),
            key(&Unit { externs: vec![1], ..base.clone() }),
            key(&Unit { imports: vec![unit("h", "helper")], ..base.clone() }),
            Key::of(&base, &plain, FactsClass::General),
            Key::of(&base, &types(Element::F32), FactsClass::Aligned),
            Key::of(&base, &types(Element::F16), FactsClass::Aligned),
            Key::of(&base, &consts(64), FactsClass::Aligned),
            Key::of(&base, &consts(6), FactsClass::Aligned),
        ];
        let distinct: std::collections::BTreeSet<Key> = keys.into_iter().collect();
        assert_eq!(distinct.len(), keys.len());
    }

    #[test]
    fn what_a_unit_declares_does_not_change_its_key() {
        let declared = Unit { specialisations: "S=[64]", ..unit("k::a", "text") };
        assert_eq!(key(&declared), key(&unit("k::a", "text")));
    }

    /// Bundles outlive the program that wrote them: the hash must not drift within a version.
    #[test]
    fn keys_are_stable() {
        if env!("CARGO_PKG_VERSION") == "0.1.0" {
            assert_eq!(key(&unit("k::a", "text")).to_string(), "d6c09d2aa0c0effaddcb1ea4fca60fa3");
        }
    }

    #[test]
    fn keys_round_trip_as_text() {
        let key = key(&unit("k::a", "text"));
        assert_eq!(key.to_string().parse::<Key>().unwrap(), key);
        for wrong in
            ["", "12", "g0000000000000000000000000000000", "+0000000000000000000000000000000"]
        {
            assert!(wrong.parse::<Key>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn classes_follow_the_arguments() {
        let class = |base, extents: &[i64], strides: &[i64]| {
            FactsClass::of([TensorFacts { base, element_bytes: 4, extents, strides }])
        };
        use FactsClass::*;
        assert_eq!(class(0x1000, &[8, 8], &[8, 1]), Aligned);
        assert_eq!(class(0x1000, &[], &[]), Aligned);
        assert_eq!(class(0x1004, &[8, 8], &[8, 1]), General); // base
        assert_eq!(class(0x1004, &[], &[]), General);
        assert_eq!(class(0x1000, &[8, 8], &[1, 8]), General); // transposed
        assert_eq!(class(0x1000, &[8, 7], &[7, 1]), General); // rows of 28 bytes
        assert_eq!(class(0x1000, &[8, 8], &[-8, 1]), General);
        assert_eq!(class(0x1000, &[1 << 16, 1 << 15], &[1 << 15, 1]), Aligned); // last offset 2^31 - 1
        assert_eq!(class(0x1000, &[(1 << 16) + 1, 1 << 15], &[1 << 15, 1]), General);
        assert_eq!(class(0x1000, &[i64::MAX, 8], &[i64::MAX - 7, 1]), General); // overflows
        assert_eq!(FactsClass::of([]), Aligned);
    }
}
