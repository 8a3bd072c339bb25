//! Runs rustc on generated Rust. The flags and why each is needed stand in one list.

use std::fmt;
use std::process::{Command, Stdio};

use cutile_bundle::target::Target;
use serde::Deserialize;

use super::{Origin, SimtSource};
use crate::error::{CompileError, IoError};
use crate::toolchain::{TRIPLE, Toolchain};

/// Flags of every kernel compilation, beside target, core and output.
///
/// The reasons were measured: without them kernels hang or lose most of their speed.
pub(crate) const FLAGS: &[&str] = &[
    "--edition=2024",
    "--crate-type=cdylib",
    "--cap-lints=allow",
    "-Copt-level=3",
    // One unit, so that every inline function lands in the kernel that calls it.
    "-Ccodegen-units=1",
    // Jump threading clones barriers into the arms of divergent branches: the kernel hangs.
    "-Zmir-enable-passes=-JumpThreading",
    // Loops over register arrays must disappear, or the arrays land in local memory ..
    "-Cllvm-args=-unroll-threshold=4000",
    // .. but loops around inline assembly must not multiply.
    "-Cllvm-args=-unroll-runtime=false",
];

/// rustc's answer to generated Rust that does not compile.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RustcFailure {
    /// The kernel.
    pub name: String,
    /// Its errors.
    pub diagnostics: Vec<Diagnostic>,
    /// The generated Rust.
    pub source: String,
}

/// One error of rustc.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// Line of the generated Rust, from 1, if the error has a place.
    pub line: Option<u32>,
    /// The place in the kernel's source that the line comes from, if the generator said so.
    pub origin: Option<String>,
    /// The error in a sentence.
    pub message: String,
    /// The error as rustc shows it, with the lines concerned.
    pub rendered: String,
}

impl fmt::Display for RustcFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "rustc refused the Rust generated for kernel `{}`; please report this",
            self.name
        )?;
        for diagnostic in &self.diagnostics {
            match &diagnostic.origin {
                Some(origin) => write!(f, "\nfrom {origin}: {}", diagnostic.rendered.trim_end())?,
                None => write!(f, "\n{}", diagnostic.rendered.trim_end())?,
            }
        }
        Ok(())
    }
}

impl std::error::Error for RustcFailure {}

/// Compiles the file to PTX text.
pub(crate) fn emit(
    simt: &SimtSource,
    target: &Target,
    toolchain: &Toolchain,
) -> Result<String, CompileError> {
    let library = toolchain.library()?;
    let scratch = tempfile::Builder::new()
        .prefix("cutile-")
        .tempdir()
        .map_err(IoError::on("create a folder in", std::env::temp_dir()))?;
    let source = scratch.path().join("kernel.rs");
    std::fs::write(&source, &simt.text).map_err(IoError::on("write", &source))?;

    let mut command = toolchain.command();
    command.current_dir(scratch.path());
    command.args(FLAGS).args(toolchain.core().panic_flags());
    command.args(["--target", TRIPLE, "--crate-name=kernel", "--error-format=json"]);
    command.arg(format!("-Ctarget-cpu={}", target.arch));
    if let Some(version) = target.ptx {
        command.arg(format!("-Ctarget-feature=+ptx{}{}", version.major, version.minor));
    }
    if let Some(folder) = &library {
        command.arg("-L").arg(folder);
    }
    command.args(["--emit=asm=kernel.ptx", "kernel.rs"]);
    run(simt, command, toolchain)?;

    let output = scratch.path().join("kernel.ptx");
    Ok(std::fs::read_to_string(&output).map_err(IoError::on("read", &output))?)
}

fn run(simt: &SimtSource, mut command: Command, toolchain: &Toolchain) -> Result<(), CompileError> {
    let output =
        command.stdin(Stdio::null()).output().map_err(IoError::on("run", toolchain.rustc()))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let mut diagnostics = read_diagnostics(&said, &simt.origins);
    if diagnostics.is_empty() {
        // A crash, or a rustc that does not take our flags.
        let message = format!("rustc ended with {}", output.status);
        let rendered = format!("{message}\n{}", said.trim());
        diagnostics.push(Diagnostic { line: None, origin: None, message, rendered });
    }
    let (name, source) = (simt.name.clone(), simt.text.clone());
    Err(Box::new(RustcFailure { name, diagnostics, source }).into())
}

/// The errors among the JSON lines that rustc prints.
fn read_diagnostics(said: &str, origins: &[Origin]) -> Vec<Diagnostic> {
    #[derive(Deserialize)]
    struct Message {
        message: String,
        level: String,
        #[serde(default)]
        spans: Vec<Span>,
        rendered: Option<String>,
    }
    #[derive(Deserialize)]
    struct Span {
        line_start: u32,
        is_primary: bool,
    }
    said.lines()
        .filter_map(|line| serde_json::from_str::<Message>(line).ok())
        .filter(|message| message.level.starts_with("error"))
        // The closing "aborting due to .." has no place and says nothing.
        .filter(|message| !(message.spans.is_empty() && message.message.starts_with("aborting")))
        .map(|message| {
            let line = message.spans.iter().find(|s| s.is_primary).map(|s| s.line_start);
            Diagnostic {
                line,
                origin: line.and_then(|line| origin_of(line, origins)),
                rendered: message.rendered.unwrap_or_else(|| message.message.clone()),
                message: message.message,
            }
        })
        .collect()
}

/// Where a line of the generated text comes from.
fn origin_of(line: u32, origins: &[Origin]) -> Option<String> {
    let after = origins.partition_point(|origin| origin.first_line <= line);
    Some(origins[after.checked_sub(1)?].at.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_mapped_to_the_kernel_source() {
        let said = r#"{"message":"unused","level":"warning","spans":[],"rendered":"w"}
{"message":"cannot find value `x`","level":"error","spans":[{"line_start":7,"is_primary":true}],"rendered":"error: x"}
{"message":"aborting due to 1 previous error","level":"error","spans":[],"rendered":"a"}
not json"#;
        let origin = |first_line, at: &str| Origin { first_line, at: at.into() };
        let origins = [origin(3, "src/k.rs:1"), origin(6, "src/k.rs:2"), origin(8, "src/k.rs:3")];
        let found = read_diagnostics(said, &origins);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].line, found[0].origin.as_deref()), (Some(7), Some("src/k.rs:2")));
        assert_eq!(origin_of(2, &origins), None);
        assert_eq!(origin_of(8, &origins).as_deref(), Some("src/k.rs:3"));
    }
}
