//! Valid lengths of tiles: for each axis known to be the extent, or a variable of the generated code.

use super::Emitter;
use cutile_ir::Value;

/// The valid length along an axis.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Length {
    /// The tile's extent.
    Full,
    /// An `i32` variable that is at most the extent.
    Variable(String),
}

impl Emitter<'_> {
    /// The shorter, axis by axis; a new variable only where two differ.
    pub(super) fn shortest(&mut self, of: &[Vec<Length>]) -> Vec<Length> {
        let rank = of.first().map_or(0, Vec::len);
        (0..rank)
            .map(|axis| {
                let mut names: Vec<&String> = Vec::new();
                for l in of {
                    if let Length::Variable(name) = &l[axis]
                        && !names.contains(&name)
                    {
                        names.push(name);
                    }
                }
                match &names[..] {
                    [] => Length::Full,
                    [one] => Length::Variable((*one).clone()),
                    [first, rest @ ..] => {
                        let least =
                            rest.iter().fold((*first).clone(), |a, b| format!("{a}.min({b})"));
                        let name = self.fresh("len");
                        self.body.line(format!("let {name} = {least};"));
                        Length::Variable(name)
                    }
                }
            })
            .collect()
    }

    /// The valid lengths of an operation's tile operands together.
    pub(super) fn lengths_of(&mut self, operands: &[Value]) -> Vec<Length> {
        let all: Vec<Vec<Length>> = operands
            .iter()
            .filter(|v| self.f.ty(**v).as_tile().is_some())
            .map(|v| self.tile(*v).lengths)
            .collect();
        self.shortest(&all)
    }

    /// The condition that a register's element along these axes is valid and inside the tile; `None` if it always is.
    pub(super) fn valid(
        &mut self,
        layout: super::LayoutId,
        register: usize,
        lengths: &[Length],
        axes: impl Iterator<Item = usize>,
    ) -> Option<String> {
        let at = self.coordinates(layout);
        let l = self.mapping.get(layout);
        let coord = l.register_coord(register);
        let conditions: Vec<String> = axes
            .filter_map(|axis| {
                let limit = match &lengths[axis] {
                    Length::Variable(name) => name.clone(),
                    Length::Full if l.is_padded(axis) => l.shape()[axis].to_string(),
                    Length::Full => return None,
                };
                Some(format!("{} < {limit}", sum(&at[axis], coord[axis])))
            })
            .collect();
        (!conditions.is_empty()).then(|| conditions.join(" && "))
    }
}

/// A variable plus a constant.
pub(super) fn sum(variable: &str, constant: u32) -> String {
    match (variable, constant) {
        ("0i32", n) => format!("{n}"),
        (v, 0) => v.to_string(),
        (v, n) => format!("{v} + {n}"),
    }
}
