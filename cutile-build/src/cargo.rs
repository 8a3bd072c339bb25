//! What to compile, as cargo's own options say it, and what cargo made of it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::error::BuildError;

/// Which packages and targets, with cargo's names for the options.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "What to compile (as cargo's options)")]
pub struct Selection {
    /// Only these packages.
    #[arg(short, long, value_name = "P")]
    pub package: Vec<String>,
    /// All packages of the workspace.
    #[arg(long)]
    pub workspace: bool,
    /// Only this example.
    #[arg(long, value_name = "NAME")]
    pub example: Vec<String>,
    /// Only this binary.
    #[arg(long, value_name = "NAME")]
    pub bin: Vec<String>,
    /// Only this integration test.
    #[arg(long, value_name = "NAME")]
    pub test: Vec<String>,
    /// Only this benchmark.
    #[arg(long, value_name = "NAME")]
    pub bench: Vec<String>,
    /// Libraries, programs, examples, tests and benchmarks. Without any choice of targets: all but tests and benchmarks.
    #[arg(long)]
    pub all_targets: bool,
    /// Features to turn on.
    #[arg(short = 'F', long, value_name = "F")]
    pub features: Vec<String>,
    /// Turn all features on.
    #[arg(long)]
    pub all_features: bool,
    /// Leave the default features off.
    #[arg(long)]
    pub no_default_features: bool,
    /// Compile with optimisation.
    #[arg(long)]
    pub release: bool,
    /// The manifest of the package or workspace.
    #[arg(long, value_name = "FILE")]
    pub manifest_path: Option<PathBuf>,
}

/// Kinds of targets that a command asks cargo for where the user names none.
#[derive(Clone, Copy, Debug)]
struct Defaults<'a> {
    flags: &'a [&'a str],
    /// Whether a selected package has a library: cargo refuses `--lib` where none has.
    library: bool,
}

impl Selection {
    /// The arguments for cargo.
    fn arguments(&self, defaults: Defaults<'_>) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = Vec::new();
        let mut lists = |name: &str, values: &[String]| {
            for value in values {
                arguments.extend([name.into(), value.into()]);
            }
        };
        lists("--package", &self.package);
        lists("--example", &self.example);
        lists("--bin", &self.bin);
        lists("--test", &self.test);
        lists("--bench", &self.bench);
        lists("--features", &self.features);
        let named = [&self.example, &self.bin, &self.test, &self.bench];
        if !self.all_targets && named.iter().all(|names| names.is_empty()) {
            arguments.extend(defaults.flags.iter().map(OsString::from));
            arguments.extend(defaults.library.then(|| "--lib".into()));
        }
        for (flag, given) in [
            ("--workspace", self.workspace),
            ("--all-targets", self.all_targets),
            ("--all-features", self.all_features),
            ("--no-default-features", self.no_default_features),
            ("--release", self.release),
        ] {
            if given {
                arguments.push(flag.into());
            }
        }
        arguments.extend(self.manifest());
        arguments
    }

    fn manifest(&self) -> Vec<OsString> {
        let path = self.manifest_path.iter();
        path.flat_map(|path| ["--manifest-path".into(), path.into()]).collect()
    }
}

/// The workspace that a selection is in.
#[derive(Clone, Debug)]
pub struct Workspace {
    /// The workspace's folder.
    pub root: PathBuf,
    /// cargo's target folder.
    pub target: PathBuf,
    /// The selected packages' folders.
    pub packages: Vec<PathBuf>,
    /// Their identifiers, as cargo's messages name them.
    ids: BTreeSet<String>,
    /// Whether one of them has a library.
    library: bool,
}

impl Workspace {
    /// Asks cargo.
    pub fn of(selection: &Selection) -> Result<Workspace, BuildError> {
        #[derive(Deserialize)]
        struct Metadata {
            packages: Vec<Package>,
            workspace_default_members: Vec<String>,
            workspace_root: PathBuf,
            target_directory: PathBuf,
        }
        #[derive(Deserialize)]
        struct Package {
            id: String,
            name: String,
            manifest_path: PathBuf,
            targets: Vec<Target>,
        }
        let mut command = Command::new("cargo");
        command.args(["metadata", "--no-deps", "--format-version=1"]);
        command.args(selection.manifest()).stdin(Stdio::null()).stderr(Stdio::inherit());
        let output = command.output().map_err(BuildError::run("cargo metadata"))?;
        if !output.status.success() {
            return Err(BuildError::Cargo { command: "cargo metadata".into() });
        }
        let metadata: Metadata = serde_json::from_slice(&output.stdout)
            .map_err(|source| BuildError::CargoSaid { command: "cargo metadata", source })?;
        let selected = |package: &Package| {
            selection.workspace
                || selection.package.contains(&package.name)
                || (selection.package.is_empty()
                    && metadata.workspace_default_members.contains(&package.id))
        };
        let is_library =
            |target: &Target| target.kind.iter().any(|kind| LIBRARIES.contains(&&**kind));
        let mut workspace = Workspace {
            root: metadata.workspace_root.clone(),
            target: metadata.target_directory.clone(),
            packages: Vec::new(),
            ids: BTreeSet::new(),
            library: false,
        };
        for package in metadata.packages.iter().filter(|package| selected(package)) {
            let folder = package.manifest_path.parent().unwrap_or(Path::new("."));
            workspace.packages.push(folder.to_owned());
            workspace.ids.insert(package.id.clone());
            workspace.library |= package.targets.iter().any(is_library);
        }
        Ok(workspace)
    }
}

/// Kinds of targets that are libraries which programs link.
const LIBRARIES: [&str; 5] = ["lib", "rlib", "dylib", "cdylib", "staticlib"];

/// A target, in cargo's metadata and messages.
#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

/// A file that cargo made for a selected package.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Artifact {
    /// Identifier of its package.
    pub package: String,
    /// The target's name.
    pub name: String,
    /// What it is.
    pub kind: ArtifactKind,
    /// The file.
    pub file: PathBuf,
}

/// What an artifact is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ArtifactKind {
    /// A library, of whatever form.
    Library,
    /// A program.
    Program,
    /// An example.
    Example,
    /// Unit or integration tests.
    Test,
    /// A benchmark.
    Bench,
}

/// Compiles the selection: what cargo made for the selected packages. Errors of the compiler go to the standard error stream, as
/// cargo shows them.
pub fn build(selection: &Selection, workspace: &Workspace) -> Result<Vec<Artifact>, BuildError> {
    let defaults = Defaults { flags: &["--bins", "--examples"], library: workspace.library };
    run("build", &selection.arguments(defaults), workspace)
}

/// Compiles the selection's examples, tests and benchmarks with optimisation, without running them.
pub fn build_tests(
    selection: &Selection,
    workspace: &Workspace,
) -> Result<Vec<Artifact>, BuildError> {
    let selection = Selection { release: true, ..selection.clone() };
    // `cargo test --examples` would make tests of the examples.
    let examples = Defaults { flags: &["--examples", "--bins"], library: false };
    let mut artifacts = run("build", &selection.arguments(examples), workspace)?;
    let tests = Defaults { flags: &["--bins", "--tests", "--benches"], library: workspace.library };
    let mut arguments = selection.arguments(tests);
    arguments.push("--no-run".into());
    artifacts.extend(run("test", &arguments, workspace)?);
    Ok(artifacts)
}

fn run(
    subcommand: &str,
    arguments: &[OsString],
    workspace: &Workspace,
) -> Result<Vec<Artifact>, BuildError> {
    let shown = format!("cargo {subcommand}");
    let mut child = Command::new("cargo")
        .args([subcommand, "--message-format=json-render-diagnostics"])
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(BuildError::run(&shown))?;
    let mut artifacts = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines() {
            let line = line.map_err(BuildError::run(&shown))?;
            artifacts.extend(read_message(&line, &workspace.ids));
        }
    }
    let status = child.wait().map_err(BuildError::run(&shown))?;
    if status.success() { Ok(artifacts) } else { Err(BuildError::Cargo { command: shown }) }
}

/// The artifacts in one of cargo's messages, if it is of a selected package.
fn read_message(line: &str, selected: &BTreeSet<String>) -> Vec<Artifact> {
    #[derive(Deserialize)]
    struct Message {
        package_id: String,
        manifest_path: PathBuf,
        target: Target,
        filenames: Vec<PathBuf>,
        executable: Option<PathBuf>,
        profile: Profile,
    }
    #[derive(Deserialize)]
    struct Profile {
        test: bool,
    }
    // Other messages lack these fields.
    let Ok(message) = serde_json::from_str::<Message>(line) else {
        return Vec::new();
    };
    let is = |kind: &str| message.target.kind.iter().any(|k| k == kind);
    if !selected.contains(&message.package_id) || is("proc-macro") || is("custom-build") {
        return Vec::new();
    }
    let artifact = |kind, file: &PathBuf| Artifact {
        package: message.package_id.clone(),
        name: message.target.name.clone(),
        kind,
        file: file.clone(),
    };
    if let Some(program) = &message.executable {
        // Benchmarks are targets of a package, or a package `benches` of their own.
        let benches =
            message.manifest_path.parent().is_some_and(|folder| folder.ends_with("benches"));
        let kind = match () {
            () if is("bench") || (benches && is("bin") && !message.profile.test) => {
                ArtifactKind::Bench
            }
            () if is("test") || message.profile.test => ArtifactKind::Test,
            () if is("example") => ArtifactKind::Example,
            () => ArtifactKind::Program,
        };
        return vec![artifact(kind, program)];
    }
    // A library comes as .rlib, .so and the like; .rmeta has no code, .d and .lib are not code of ours.
    let code = |file: &&PathBuf| {
        let extension = file.extension().unwrap_or_default();
        ["rlib", "so", "dylib", "dll", "a"].iter().any(|known| extension == *known)
    };
    message
        .filenames
        .iter()
        .filter(code)
        .map(|file| artifact(ArtifactKind::Library, file))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_reach_cargo() {
        let defaults = Defaults { flags: &["--bins"], library: true };
        let joined = |selection: Selection| selection.arguments(defaults).join(" ".as_ref());
        let named = Selection {
            package: vec!["a".into()],
            example: vec!["e".into()],
            features: vec!["f".into()],
            release: true,
            ..Selection::default()
        };
        assert_eq!(joined(named), "--package a --example e --features f --release");
        let whole = Selection { manifest_path: Some("x/Cargo.toml".into()), ..Default::default() };
        assert_eq!(joined(whole), "--bins --lib --manifest-path x/Cargo.toml");
        let all = Selection { all_targets: true, workspace: true, ..Default::default() };
        assert_eq!(joined(all), "--workspace --all-targets");
    }

    #[test]
    fn messages_of_selected_packages_give_artifacts() {
        let message = |id: &str, kind: &str, files: &str, executable: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","package_id":"{id}","manifest_path":"/{id}/Cargo.toml","target":{{"name":"n","kind":["{kind}"]}},
                "profile":{{"test":false}},"filenames":[{files}],"executable":{executable}}}"#
            )
            .replace('\n', "")
        };
        let selected = BTreeSet::from(["a".to_owned()]);
        let read = |message: &str| -> Vec<(ArtifactKind, String)> {
            let artifacts = read_message(message, &selected);
            artifacts.into_iter().map(|a| (a.kind, a.file.display().to_string())).collect()
        };
        let library = message("a", "lib", r#""t/libn.rlib","t/libn.rmeta""#, "null");
        assert_eq!(read(&library), [(ArtifactKind::Library, "t/libn.rlib".into())]);
        let example = message("a", "example", r#""t/n""#, r#""t/n""#);
        assert_eq!(read(&example), [(ArtifactKind::Example, "t/n".into())]);
        let test = example.replace(r#""test":false"#, r#""test":true"#);
        assert_eq!(read(&test), [(ArtifactKind::Test, "t/n".into())]);
        let bin = message("a", "bin", r#""t/n""#, r#""t/n""#);
        assert_eq!(read(&bin), [(ArtifactKind::Program, "t/n".into())]);
        let bench = bin.replace("/a/Cargo.toml", "/w/benches/Cargo.toml");
        assert_eq!(read(&bench), [(ArtifactKind::Bench, "t/n".into())]);
        assert_eq!(read(&message("b", "bin", r#""t/n""#, r#""t/n""#)), []);
        assert_eq!(read(&message("a", "proc-macro", r#""t/n.so""#, "null")), []);
        assert_eq!(read(r#"{"reason":"build-finished","success":true}"#), []);
    }
}
