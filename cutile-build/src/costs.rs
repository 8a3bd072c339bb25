//! The checked-in table of what each kernel costs, and whether a build is worse than it.
//!
//! One line a kernel: `<kernel> <specialisation>  <facts>  <arch>: 32 registers, 0 shared, 0 spilled, load 16, store 16`. Registers and
//! shared memory are known only where `ptxas` is.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use cutile_bundle::manifest::KernelRecord;

/// Name of the table, in the workspace's folder.
pub const FILE: &str = "kernel-costs.txt";

/// Another version of rustc may need a few more registers without anybody having made a kernel worse.
const REGISTERS_ALLOWED: f64 = 1.1;

/// What a kernel costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cost {
    registers: u32,
    shared: u32,
    spilled: u32,
    load: u32,
    store: u32,
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cost { registers, shared, spilled, load, store } = self;
        write!(f, "{registers} registers, {shared} shared, {spilled} spilled, ")?;
        write!(f, "load {load}, store {store}")
    }
}

impl Cost {
    /// Of a built kernel; `None` where there was no `ptxas`.
    fn of(record: &KernelRecord) -> Option<Cost> {
        let usage = record.usage?;
        Some(Cost {
            registers: usage.registers,
            shared: usage.shared,
            spilled: usage.spills + usage.stack,
            load: record.access.load,
            store: record.access.store,
        })
    }

    fn parse(text: &str) -> Option<Cost> {
        let mut numbers = text.split([' ', ',']).filter_map(|word| word.parse().ok());
        let mut next = || numbers.next();
        Some(Cost {
            registers: next()?,
            shared: next()?,
            spilled: next()?,
            load: next()?,
            store: next()?,
        })
    }

    /// In what it is worse than before.
    fn regressions(&self, before: &Cost) -> Vec<String> {
        let mut found = Vec::new();
        let allowed = f64::from(before.registers) * REGISTERS_ALLOWED;
        for (what, worse, was, is) in [
            ("registers", f64::from(self.registers) > allowed, before.registers, self.registers),
            ("bytes of shared memory", self.shared > before.shared, before.shared, self.shared),
            ("spilled bytes", self.spilled > before.spilled, before.spilled, self.spilled),
            ("bytes a global load", self.load < before.load, before.load, self.load),
            ("bytes a global store", self.store < before.store, before.store, self.store),
        ] {
            if worse {
                found.push(format!("{is} {what} instead of {was}"));
            }
        }
        found
    }
}

/// The table, by kernel.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Costs(BTreeMap<String, Cost>);

/// The crate of a kernel as the table names it.
fn package(name: &str) -> &str {
    name.split("::").next().unwrap_or(name)
}

impl Costs {
    /// Of built kernels.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a KernelRecord>) -> Costs {
        let lines =
            records.into_iter().filter_map(|record| Some((name(record), Cost::of(record)?)));
        Costs(lines.collect())
    }

    /// Whether nothing is known of any kernel.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads a table; the error is the line that is not of its form.
    pub fn parse(text: &str) -> Result<Costs, String> {
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let read = |line: &str| {
            let (name, cost) = line.rsplit_once(": ")?;
            Some((name.to_owned(), Cost::parse(cost)?))
        };
        lines
            .map(|line| read(line).ok_or_else(|| line.to_owned()))
            .collect::<Result<_, _>>()
            .map(Costs)
    }

    /// One message for each kernel that is worse than in the table, or of which the table knows nothing.
    pub fn regressions(&self, table: &Costs) -> Vec<String> {
        let message = |(name, now): (&String, &Cost)| {
            let Some(before) = table.0.get(name) else {
                return Some(format!("{name}: not in {FILE}; write it anew by --write-costs"));
            };
            let found = now.regressions(before);
            (!found.is_empty()).then(|| format!("{name}: {}", found.join(", ")))
        };
        self.0.iter().filter_map(message).collect()
    }

    /// These, and what an earlier table says of crates that have no kernel among these.
    pub fn with_other_crates(mut self, earlier: Costs) -> Costs {
        let built: BTreeSet<String> = self.0.keys().map(|name| package(name).to_owned()).collect();
        let others = earlier.0.into_iter().filter(|(name, _)| !built.contains(package(name)));
        self.0.extend(others);
        self
    }
}

/// A kernel as the table names it.
fn name(record: &KernelRecord) -> String {
    let separator = if record.specialisation.is_empty() { "" } else { " " };
    let KernelRecord { kernel, specialisation, facts, arch, .. } = record;
    format!("{kernel}{separator}{specialisation}  {facts}  {arch}")
}

impl fmt::Display for Costs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "# What each kernel costs a thread or block; written by `build-kernels --write-costs`."
        )?;
        self.0.iter().try_for_each(|(name, cost)| writeln!(f, "{name}: {cost}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
# What each kernel costs a thread or block; written by `build-kernels --write-costs`.
k::a S=[64, 64]  aligned  sm_90a: 40 registers, 1024 shared, 0 spilled, load 16, store 16
k::b  general  sm_80: 20 registers, 0 shared, 0 spilled, load 4, store 4
";

    #[test]
    fn the_table_round_trips() {
        assert_eq!(Costs::parse(TABLE).unwrap().to_string(), TABLE);
        assert_eq!(Costs::parse("k::a: 1 registers").unwrap_err(), "k::a: 1 registers");
    }

    #[test]
    fn a_table_keeps_what_it_says_of_other_crates() {
        let earlier =
            Costs::parse(&format!("{TABLE}other::c  aligned  sm_80: 1, 2, 3, 4, 5")).unwrap();
        let now = Costs::parse("k::new  aligned  sm_80: 1, 2, 3, 4, 5").unwrap();
        let names: Vec<String> = now.with_other_crates(earlier).0.into_keys().collect();
        assert_eq!(names, ["k::new  aligned  sm_80", "other::c  aligned  sm_80"]);
    }

    #[test]
    fn each_kind_of_regression_is_told() {
        let table = Costs::parse(TABLE).unwrap();
        let with = |from: &str, to: &str| {
            Costs::parse(&TABLE.replace(from, to)).unwrap().regressions(&table)
        };
        assert_eq!(
            with("k::b", "k::new"),
            ["k::new  general  sm_80: not in kernel-costs.txt; write it anew by --write-costs"]
        );
        assert_eq!(with("40 registers", "44 registers"), Vec::<String>::new());
        for (from, to, message) in [
            ("40 registers", "45 registers", "45 registers instead of 40"),
            ("1024 shared", "2048 shared", "2048 bytes of shared memory instead of 1024"),
            ("0 spilled, load 16", "8 spilled, load 16", "8 spilled bytes instead of 0"),
            ("load 16", "load 4", "4 bytes a global load instead of 16"),
            ("store 16", "store 8", "8 bytes a global store instead of 16"),
        ] {
            assert_eq!(with(from, to), [format!("k::a S=[64, 64]  aligned  sm_90a: {message}")]);
        }
    }
}
