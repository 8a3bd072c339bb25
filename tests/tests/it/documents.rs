//! What the documents say of the repository is so: paths exist, chapters are listed and tested, and the page of environment
//! variables has all that are read. Their code blocks are tested as documentation (`src/documents.rs`).

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this crate is in the workspace's folder")
}

/// Whether the sources are here: a bundle has the tests alone.
fn sources_are_here() -> bool {
    let here = workspace().join("Cargo.toml").exists();
    if !here {
        eprintln!("left out: {} is not here", workspace().display());
    }
    here
}

fn text(path: impl AsRef<Path>) -> String {
    let path = workspace().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The files of a folder, with everything below it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder of the workspace").flatten() {
        let path = entry.path();
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        match path.is_dir() {
            true if hidden || path.ends_with("target") => {}
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found
}

/// The chapters of the book, by file name.
fn chapters() -> BTreeSet<String> {
    let names = files(&workspace().join("book/src")).into_iter();
    let names = names.map(|path| path.file_name().unwrap().to_string_lossy().into_owned());
    names.filter(|name| name != "SUMMARY.md").collect()
}

#[test]
fn every_path_that_a_document_names_exists() {
    if !sources_are_here() {
        return;
    }
    let mut documents: Vec<String> =
        chapters().iter().map(|name| format!("book/src/{name}")).collect();
    documents.extend(["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].map(String::from));
    let mut missing = Vec::new();
    for document in documents {
        let text = text(&document);
        // What stands between backticks, and what links point to.
        let quoted = text.split('`').skip(1).step_by(2);
        let linked = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for name in quoted.chain(linked) {
            let first = name.split('/').next().unwrap_or_default();
            let is_path = name.contains('/') && !name.contains(char::is_whitespace);
            if is_path && !first.is_empty() && workspace().join(first).is_dir() {
                let path = workspace().join(name);
                if !path.exists() {
                    missing.push(format!("{document}: {name}"));
                }
            }
        }
    }
    assert!(missing.is_empty(), "paths that are not there:\n{}", missing.join("\n"));
}

#[test]
fn every_chapter_is_listed_and_tested() {
    if !sources_are_here() {
        return;
    }
    let (summary, tested) = (text("book/src/SUMMARY.md"), text("tests/src/documents.rs"));
    let chapters = chapters();
    assert!(chapters.len() >= 10, "{chapters:?}");
    for name in &chapters {
        assert!(summary.contains(&format!("({name})")), "SUMMARY.md has no {name}");
        assert!(tested.contains(&format!("\"book/src/{name}\"")), "src/documents.rs has no {name}");
    }
    let links = summary.matches("](").count();
    assert_eq!(links, chapters.len(), "SUMMARY.md lists chapters that are not there");
}

/// The words of this form in a text: `CUTILE_` and capitals.
fn variables(text: &str) -> BTreeSet<String> {
    let ends = |c: char| !(c.is_ascii_uppercase() || c == '_');
    let starts = text.match_indices("CUTILE_").map(|(at, _)| &text[at..]);
    starts.map(|rest| rest.split(ends).next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn every_environment_variable_has_its_line() {
    if !sources_are_here() {
        return;
    }
    let sources = files(workspace()).into_iter().filter(|path| {
        let reads = path.ends_with("config.rs") || path.ends_with("options.rs");
        reads && path.components().any(|part| part.as_os_str() == "src")
    });
    let read: BTreeSet<String> = sources.flat_map(|path| variables(&text(path))).collect();
    assert!(read.len() >= 8, "{read:?}");
    assert_eq!(variables(&text("book/src/environment.md")), read);
}
