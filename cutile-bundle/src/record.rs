//! Recorded specialisations: what programs asked for, one a line, `<kernel> <specialisation>`.
//!
//! A run under `CUTILE_RECORD` appends lines to a file; `record` merges them into a package's `cutile-kernels.txt`, which is
//! checked in and read by `build-kernels`.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

/// Name of a package's file.
pub const FILE: &str = "cutile-kernels.txt";

/// One request.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Recorded {
    /// Full path of the entry.
    pub kernel: String,
    /// The specialisation's text; empty for an entry without parameters.
    pub specialisation: String,
}

impl fmt::Display for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kernel)?;
        if !self.specialisation.is_empty() {
            write!(f, " {}", self.specialisation)?;
        }
        Ok(())
    }
}

/// Reads lines; empty ones and those that begin with `#` are left out.
pub fn parse(text: &str) -> Vec<Recorded> {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| {
            let (kernel, specialisation) =
                line.split_once(char::is_whitespace).unwrap_or((line, ""));
            Recorded { kernel: kernel.into(), specialisation: specialisation.trim().into() }
        })
        .collect()
}

/// Appends a request to a file. One write a line: lines of several processes do not mix.
pub fn append(file: &Path, request: &Recorded) -> io::Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(file)?;
    file.write_all(format!("{request}\n").as_bytes())
}

/// The text of a file with these requests added, and how many are new. Comments at the head stay; lines are sorted.
pub fn merge(text: &str, requests: impl IntoIterator<Item = Recorded>) -> (String, usize) {
    let mut all: BTreeSet<Recorded> = parse(text).into_iter().collect();
    let before = all.len();
    all.extend(requests);
    let mut merged: String = text
        .lines()
        .take_while(|line| line.starts_with('#'))
        .flat_map(|line| [line, "\n"])
        .collect();
    for request in &all {
        merged += &format!("{request}\n");
    }
    (merged, all.len() - before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_sorts_and_keeps_the_head() {
        let text = "# built by CI\nk::b S=[8]\n\n# not in the head\nk::a\n";
        let new = parse("k::b S=[8]\nk::b S=[4]\nk::b S=[4]\n");
        let (merged, added) = merge(text, new);
        assert_eq!(merged, "# built by CI\nk::a\nk::b S=[4]\nk::b S=[8]\n");
        assert_eq!(added, 1);
        assert_eq!(merge(&merged, []), (merged, 0));
    }

    #[test]
    fn appended_lines_are_read_back() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let request = |kernel: &str, specialisation: &str| Recorded {
            kernel: kernel.into(),
            specialisation: specialisation.into(),
        };
        let both = [request("k::a", "T=f32, S=[64, 64]"), request("k::b", "")];
        both.iter().for_each(|r| append(file.path(), r).unwrap());
        assert_eq!(parse(&std::fs::read_to_string(file.path()).unwrap()), both);
    }
}
