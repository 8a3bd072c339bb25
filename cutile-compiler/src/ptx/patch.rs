//! Adds to PTX what Rust has no words for: launch bounds, cluster shape, alignment of tensor-map parameters.
//!
//! The text is parsed and only the found places are replaced; an entry or a parameter that is not as the generator said is
//! an error. Nothing else of the text changes.

use std::ops::Range;

use super::EntryPlan;
use super::parse::{Function, ParseError, Ptx};

/// PTX that cannot take the patch.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PatchError {
    /// The text is not PTX as we know it.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// The generator announced an entry that rustc did not emit.
    #[error("the PTX has no entry `{entry}`; it has: {present}")]
    NoEntry {
        /// The entry looked for.
        entry: String,
        /// Those there are, separated by commas.
        present: String,
    },
    /// The entry already has performance directives.
    #[error(
        "entry `{entry}` already has directives (`{directives}`): patching twice is a bug of cutile"
    )]
    HasDirectives {
        /// The entry.
        entry: String,
        /// What stands there.
        directives: String,
    },
    /// A parameter announced as a tensor map is none.
    #[error("parameter {index} of entry `{entry}` is not a tensor map of 128 bytes: {found}")]
    NoTensorMap {
        /// The entry.
        entry: String,
        /// The parameter, from 0.
        index: u16,
        /// What the parameter is.
        found: String,
    },
}

/// The PTX with launch bounds, cluster shape and tensor-map alignment of each planned entry.
pub fn patch(text: &str, entries: &[EntryPlan]) -> Result<String, PatchError> {
    let ptx = Ptx::parse(text)?;
    let mut edits = Vec::new();
    for plan in entries {
        let function = ptx.entry(&plan.name).ok_or_else(|| PatchError::NoEntry {
            entry: plan.name.clone(),
            present: entry_names(&ptx),
        })?;
        for index in &plan.tensor_maps {
            edits.push((tensor_map_alignment(function, *index)?, "64".to_owned()));
        }
        let written = text[function.directives.clone()].trim();
        if !written.is_empty() {
            return Err(PatchError::HasDirectives {
                entry: plan.name.clone(),
                directives: written.to_owned(),
            });
        }
        edits.push((function.directives.clone(), directives(plan)));
    }
    Ok(apply(text, edits))
}

fn entry_names(ptx: &Ptx) -> String {
    let names: Vec<&str> = ptx
        .functions
        .iter()
        .filter(|f| f.kind == super::parse::FunctionKind::Entry)
        .map(|f| f.name.as_str())
        .collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn directives(plan: &EntryPlan) -> String {
    let mut text =
        format!("\n.reqntid {}, 1, 1\n.minnctapersm {}\n", plan.threads, plan.min_blocks);
    if plan.cluster > 1 {
        text += &format!(".explicitcluster\n.reqnctapercluster {}, 1, 1\n", plan.cluster);
    }
    text
}

/// Where the alignment of a tensor-map parameter stands.
fn tensor_map_alignment(function: &Function, index: u16) -> Result<Range<usize>, PatchError> {
    let error =
        |found: String| PatchError::NoTensorMap { entry: function.name.clone(), index, found };
    let parameter = function
        .parameters
        .get(usize::from(index))
        .ok_or_else(|| error(format!("the entry has {} parameters", function.parameters.len())))?;
    match (&parameter.align, parameter.element.as_str(), parameter.count) {
        (Some((_, place)), "b8", Some(128)) => Ok(place.clone()),
        (_, element, count) => {
            let count = count.map(|n| format!("[{n}]")).unwrap_or_default();
            Err(error(format!("it is `.{element} {}{count}`", parameter.name)))
        }
    }
}

/// Replaces each range; they do not overlap.
fn apply(text: &str, mut edits: Vec<(Range<usize>, String)>) -> String {
    edits.sort_by_key(|(range, _)| range.start);
    let mut out = String::with_capacity(text.len() + 64 * edits.len());
    let mut at = 0;
    for (range, replacement) in edits {
        out += &text[at..range.start];
        out += &replacement;
        at = range.end;
    }
    out + &text[at..]
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
.version 8.0
.target sm_90a
.address_size 64
.visible .entry gemm(
\t.param .align 8 .b8 gemm_param_0[128],
\t.param .u32 gemm_param_1
)
{
\tret;
}
.visible .entry gemm_f8(
)
{
\tret;
}
";

    fn plan(name: &str) -> EntryPlan {
        EntryPlan { min_blocks: 1, ..EntryPlan::new(name, 384) }
    }

    #[test]
    fn adds_bounds_cluster_and_alignment_and_nothing_else() {
        let gemm = EntryPlan { cluster: 2, tensor_maps: vec![0], ..plan("gemm") };
        let patched = patch(TEXT, &[gemm, plan("gemm_f8")]).unwrap();
        let expected = TEXT
            .replace(".align 8 .b8", ".align 64 .b8")
            .replace(
                "gemm_param_1\n)\n{",
                "gemm_param_1\n)\n.reqntid 384, 1, 1\n.minnctapersm 1\n.explicitcluster\n.reqnctapercluster 2, 1, 1\n{",
            )
            .replace("gemm_f8(\n)\n{", "gemm_f8(\n)\n.reqntid 384, 1, 1\n.minnctapersm 1\n{");
        assert_eq!(patched, expected);
    }

    #[test]
    fn the_name_is_matched_as_a_whole() {
        let patched = patch(TEXT, &[plan("gemm")]).unwrap();
        assert_eq!(patched.matches(".reqntid").count(), 1);
        assert!(patched.find(".reqntid").unwrap() < patched.find("gemm_f8").unwrap());
    }

    #[test]
    fn what_is_not_as_announced_is_an_error() {
        let error = patch(TEXT, &[plan("conv")]).unwrap_err().to_string();
        assert_eq!(error, "the PTX has no entry `conv`; it has: gemm, gemm_f8");
        let scalar = EntryPlan { tensor_maps: vec![1], ..plan("gemm") };
        let error = patch(TEXT, &[scalar]).unwrap_err().to_string();
        assert!(error.ends_with("it is `.u32 gemm_param_1`"), "{error}");
        let absent = EntryPlan { tensor_maps: vec![7], ..plan("gemm") };
        assert!(patch(TEXT, &[absent]).unwrap_err().to_string().ends_with("has 2 parameters"));
        let once = patch(TEXT, &[plan("gemm")]).unwrap();
        assert!(matches!(patch(&once, &[plan("gemm")]), Err(PatchError::HasDirectives { .. })));
    }
}
