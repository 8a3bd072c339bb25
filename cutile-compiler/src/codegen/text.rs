//! Text with indentation, and where its lines come from.

use crate::ptx::Origin;

/// Lines of Rust.
#[derive(Clone, Debug, Default)]
pub(super) struct Text {
    lines: Vec<String>,
    depth: usize,
    origins: Vec<(usize, String)>,
}

impl Text {
    /// A text whose lines stand this deep.
    pub(super) fn at_depth(depth: usize) -> Text {
        Text { depth, ..Text::default() }
    }

    /// A line.
    pub(super) fn line(&mut self, line: impl AsRef<str>) {
        let line = line.as_ref();
        if line.is_empty() {
            self.lines.push(String::new());
        } else {
            self.lines.push(format!("{:1$}{line}", "", self.depth * 4));
        }
    }

    /// A line that opens a block.
    pub(super) fn open(&mut self, line: impl AsRef<str>) {
        self.line(line);
        self.depth += 1;
    }

    /// A line that closes a block.
    pub(super) fn close(&mut self, line: impl AsRef<str>) {
        self.depth -= 1;
        self.line(line);
    }

    /// The other arm of a branch.
    pub(super) fn otherwise(&mut self) {
        self.close("} else {");
        self.depth += 1;
    }

    /// What follows comes from this place in the kernel's source.
    pub(super) fn origin(&mut self, place: &str) {
        if self.origins.last().is_none_or(|(_, p)| p != place) {
            self.origins.push((self.lines.len(), place.to_owned()));
        }
    }

    /// Appends another text as it stands.
    pub(super) fn append(&mut self, other: Text) {
        let offset = self.lines.len();
        self.origins.extend(other.origins.into_iter().map(|(line, place)| (line + offset, place)));
        self.lines.extend(other.lines);
    }

    /// The text, and its origins by line from 1.
    pub(super) fn finish(self) -> (String, Vec<Origin>) {
        let origins = self
            .origins
            .into_iter()
            .map(|(line, at)| Origin { first_line: line as u32 + 1, at })
            .collect();
        let mut text = self.lines.join("\n");
        text.push('\n');
        (text, origins)
    }
}
