//! Which kernels to build: the entries that compiled programs contain, each under the specialisations that it declares and those
//! that were recorded.

use std::collections::BTreeMap;

use cutile_bundle::artifacts::Units;
use cutile_bundle::key::{FactsClass, Key};
use cutile_bundle::record::Recorded;
use cutile_bundle::target::Arch;
use cutile_compiler::Request;
use cutile_ir::blob::Unit;
use cutile_ir::{Module, Specialisation, link};

/// An entry of a program.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// As the program holds it.
    pub unit: Unit<'a>,
    /// Put together; its first function is the entry.
    pub module: Module,
}

/// One thing to build.
#[derive(Clone, Debug)]
pub struct Job {
    /// Which entry, among [`Plan::entries`].
    pub entry: usize,
    /// Its arguments.
    pub specialisation: Specialisation,
    /// What is asked for.
    pub request: Request,
}

/// All that is to be built, and what stands in the way of the rest.
#[derive(Clone, Debug, Default)]
pub struct Plan<'a> {
    /// The entries.
    pub entries: Vec<Entry<'a>>,
    /// What to build.
    pub jobs: Vec<Job>,
    /// Kernels that cannot be built: wrong declarations, damaged data.
    pub errors: Vec<String>,
    /// What is skipped, and why.
    pub notes: Vec<String>,
    /// Entries of which no specialisation is known.
    unspecialised: Vec<String>,
}

/// Plans the build of all entries for these architectures.
pub fn plan<'a>(units: &'a Units, recorded: &[Recorded], archs: &[Arch]) -> Plan<'a> {
    let mut plan = Plan::default();
    let mut by_kernel: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for request in recorded {
        by_kernel.entry(&request.kernel).or_default().push(&request.specialisation);
    }
    for unit in units.iter() {
        let recorded = by_kernel.remove(unit.name).unwrap_or_default();
        match link(&unit) {
            Ok(module) => plan.add(Entry { unit, module }, &recorded, archs),
            Err(error) => plan.errors.push(error.to_string()),
        }
    }
    if !by_kernel.is_empty() {
        let names = some_of(&by_kernel.into_keys().collect::<Vec<_>>());
        plan.notes.push(format!("recorded, but not in the program, hence skipped: {names}"));
    }
    if !plan.unspecialised.is_empty() {
        let kernels = plan.unspecialised.join(", ");
        plan.notes
            .push(format!("not built, for no specialisation is declared or recorded: {kernels}"));
    }
    plan
}

/// The first few names, and how many more there are.
fn some_of(names: &[&str]) -> String {
    const SHOWN: usize = 4;
    let shown = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect::<Vec<_>>();
    let more = match names.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    shown.join(", ") + &more
}

impl<'a> Plan<'a> {
    fn add(&mut self, entry: Entry<'a>, recorded: &[&str], archs: &[Arch]) {
        let function = &entry.module.functions[0];
        let kernel = entry.unit.name;
        let mut wanted: Vec<Specialisation> = Vec::new();
        let declared = entry.unit.specialisations.lines().filter(|line| !line.trim().is_empty());
        let declared = declared.map(|line| ("declared", line));
        for (origin, text) in declared.chain(recorded.iter().map(|text| ("recorded", *text))) {
            match Specialisation::parse(text, function) {
                Ok(specialisation) if wanted.contains(&specialisation) => {}
                Ok(specialisation) => wanted.push(specialisation),
                Err(error) if origin == "declared" => {
                    self.errors.push(format!("`{kernel}`, specialisation `{text}`: {error}"));
                }
                // The kernel has changed since: its old requests are of no use.
                Err(error) => {
                    self.notes.push(format!("recorded `{kernel} {text}` is skipped: {error}"));
                }
            }
        }
        let free = !function.type_params.is_empty() || !function.const_params.is_empty();
        if !free {
            wanted = vec![Specialisation::default()];
        } else if wanted.is_empty() {
            self.unspecialised.push(format!("`{kernel}`"));
        }
        let index = self.entries.len();
        for specialisation in wanted {
            for facts in FactsClass::ALL {
                let key = Key::of(&entry.unit, &specialisation, facts);
                let text = specialisation.text(function);
                for arch in archs {
                    self.jobs.push(Job {
                        entry: index,
                        specialisation: specialisation.clone(),
                        request: Request {
                            kernel: kernel.to_owned(),
                            specialisation: text.clone(),
                            facts,
                            key,
                            arch: *arch,
                        },
                    });
                }
            }
        }
        self.entries.push(entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutile_bundle::record;
    use cutile_ir::blob::UnitParts;

    const fn parts(
        name: &'static str,
        text: &'static str,
        specialisations: &'static str,
    ) -> UnitParts<'static> {
        UnitParts { name, text, specialisations, externs: &[], imports: &[] }
    }

    const SCALE: UnitParts<'_> = parts(
        "app::scale",
        "entry @scale<T, const S: [i32; 1]>(%y: partitioned T[?] by [S.0]) {\n    yield\n}\n",
        "T=f32, S=[64]\n\nS=[128], T=f16\n",
    );
    const PLAIN: UnitParts<'_> = parts("app::plain", "entry @plain() {\n    yield\n}\n", "");
    static SECTION: ([u8; SCALE.size()], [u8; PLAIN.size()]) = (SCALE.bytes(), PLAIN.bytes());

    fn units() -> Units {
        let mut units = Units::default();
        units.add_section(&SECTION.0).unwrap();
        units.add_section(&SECTION.1).unwrap();
        units
    }

    fn jobs(plan: &Plan<'_>) -> Vec<String> {
        let jobs = plan.jobs.iter().map(|job| &job.request);
        jobs.map(|r| format!("{} {} {} {}", r.kernel, r.specialisation, r.facts, r.arch)).collect()
    }

    #[test]
    fn each_specialisation_is_built_for_each_class_and_architecture() {
        let units = units();
        let plan = plan(&units, &[], &[Arch::new(8, 0), Arch::exact(9, 0)]);
        assert_eq!((plan.entries.len(), plan.errors.len(), plan.notes.len()), (2, 0, 0));
        let jobs = jobs(&plan);
        assert_eq!(jobs.len(), 3 * 2 * 2);
        assert_eq!(jobs[0], "app::plain  aligned sm_80");
        assert_eq!(jobs[4], "app::scale T=f32, S=[64] aligned sm_80");
        assert_eq!(jobs[11], "app::scale T=f16, S=[128] general sm_90a");
        let keys: std::collections::BTreeSet<Key> =
            plan.jobs.iter().map(|job| job.request.key).collect();
        assert_eq!(keys.len(), 6, "a key for each specialisation and class");
    }

    #[test]
    fn recorded_requests_are_added_once_and_stale_ones_are_told() {
        let units = units();
        let recorded = record::parse(
            "app::scale S=[64], T=f32\napp::scale T=f32, S=[32]\napp::scale K=1\napp::gone S=[1]\n",
        );
        let plan = plan(&units, &recorded, &[Arch::new(8, 0)]);
        let jobs = jobs(&plan);
        assert_eq!(jobs.len(), 4 * 2, "{jobs:?}");
        assert!(jobs.contains(&"app::scale T=f32, S=[32] general sm_80".to_owned()));
        assert_eq!(plan.errors.len(), 0);
        assert_eq!(plan.notes.len(), 2, "{:?}", plan.notes);
        assert!(plan.notes[0].contains("K=1") && plan.notes[1].contains("app::gone"));
    }

    #[test]
    fn a_wrong_declaration_is_an_error_and_nothing_to_build_is_told() {
        const WRONG: UnitParts<'_> = UnitParts { specialisations: "S=7", ..SCALE };
        static BYTES: [u8; WRONG.size()] = WRONG.bytes();
        let mut units = Units::default();
        units.add_section(&BYTES).unwrap();
        let plan = plan(&units, &[], &[Arch::new(8, 0)]);
        assert_eq!((plan.jobs.len(), plan.errors.len(), plan.notes.len()), (0, 1, 1));
        assert!(plan.errors[0].contains("app::scale") && plan.errors[0].contains("S=7"));
        assert!(plan.notes[0].contains("no specialisation is declared or recorded: `app::scale`"));
    }
}
