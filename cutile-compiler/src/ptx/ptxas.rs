//! Runs `ptxas -v` on a PTX text and reads what it reports. The machine code is for people to look at: the driver makes its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cutile_bundle::target::Arch;

use super::check::Violation;
use crate::error::{CompileError, IoError};

/// What `ptxas` said of a file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Assembled {
    /// By entry.
    pub entries: Vec<EntryUsage>,
    /// Its warnings and performance advice (C75xx), one line each.
    pub advice: Vec<String>,
}

/// What an entry needs of a multiprocessor.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EntryUsage {
    /// The entry.
    pub name: String,
    /// Registers a thread.
    pub registers: u32,
    /// Static shared memory a block, bytes.
    pub shared: u32,
    /// Stack frame a thread, bytes.
    pub stack: u32,
    /// Spill stores a thread, bytes.
    pub spill_stores: u32,
    /// Spill loads a thread, bytes.
    pub spill_loads: u32,
}

impl Assembled {
    /// The entry of this name.
    pub fn entry(&self, name: &str) -> Option<&EntryUsage> {
        self.entries.iter().find(|e| e.name == name)
    }

    /// Spills and advice, as violations.
    pub fn violations(&self) -> Vec<Violation> {
        let spills = self.entries.iter().filter(|e| e.stack + e.spill_stores + e.spill_loads > 0);
        let spills = spills.map(|e| Violation::Spills {
            entry: e.name.clone(),
            stack: e.stack,
            stores: e.spill_stores,
            loads: e.spill_loads,
        });
        let advice = self.advice.iter().cloned().map(|message| Violation::Advice { message });
        spills.chain(advice).collect()
    }
}

/// Assembles a text for an architecture and throws the machine code away.
pub(crate) fn assemble(program: &Path, text: &str, arch: Arch) -> Result<Assembled, CompileError> {
    let folder = scratch()?;
    assemble_in(folder.path(), program, text, arch).map(|(report, _)| report)
}

/// The machine code of a text, as `nvdisasm` shows it.
pub fn disassemble(
    ptxas: &Path,
    nvdisasm: &Path,
    text: &str,
    arch: Arch,
) -> Result<String, CompileError> {
    let folder = scratch()?;
    let (_, code) = assemble_in(folder.path(), ptxas, text, arch)?;
    let run = Command::new(nvdisasm)
        .args(["--print-code", "--no-vliw"])
        .arg(&code)
        .stdin(Stdio::null())
        .output()
        .map_err(IoError::on("run", nvdisasm))?;
    if run.status.success() {
        Ok(String::from_utf8_lossy(&run.stdout).into_owned())
    } else {
        let said = String::from_utf8_lossy(&run.stderr).trim().to_owned();
        Err(CompileError::Nvdisasm { said })
    }
}

fn scratch() -> Result<tempfile::TempDir, CompileError> {
    let folder = tempfile::Builder::new().prefix("cutile-").tempdir();
    Ok(folder.map_err(IoError::on("create a folder in", std::env::temp_dir()))?)
}

/// The report, and the file with the machine code.
fn assemble_in(
    folder: &Path,
    program: &Path,
    text: &str,
    arch: Arch,
) -> Result<(Assembled, PathBuf), CompileError> {
    let (source, code) = (folder.join("kernel.ptx"), folder.join("kernel.cubin"));
    std::fs::write(&source, text).map_err(IoError::on("write", &source))?;
    let run = Command::new(program)
        .current_dir(folder)
        .args(["-v", &format!("-arch={arch}"), "kernel.ptx", "-o", "kernel.cubin"])
        .stdin(Stdio::null())
        .output()
        .map_err(IoError::on("run", program))?;
    let said =
        String::from_utf8_lossy(&run.stderr).into_owned() + &String::from_utf8_lossy(&run.stdout);
    if run.status.success() {
        Ok((read_report(&said), code))
    } else {
        Err(CompileError::Ptxas { arch, said: said.trim().to_owned(), ptx: text.to_owned() })
    }
}

/// Reads the report that `-v` prints.
fn read_report(said: &str) -> Assembled {
    let mut report = Assembled::default();
    for line in said.lines() {
        if let Some(rest) = line.split("Compiling entry function '").nth(1) {
            let name = rest.split('\'').next().unwrap_or_default().to_owned();
            report.entries.push(EntryUsage { name, ..Default::default() });
        } else if line.contains("bytes stack frame") {
            if let Some(entry) = report.entries.last_mut() {
                entry.stack = number_before(line, " bytes stack frame");
                entry.spill_stores = number_before(line, " bytes spill stores");
                entry.spill_loads = number_before(line, " bytes spill loads");
            }
        } else if line.contains("Used ") && line.contains(" registers") {
            if let Some(entry) = report.entries.last_mut() {
                entry.registers = number_before(line, " registers");
                entry.shared = number_before(line, " bytes smem");
            }
        } else if line.contains("(C7") || line.starts_with("ptxas warning") {
            report.advice.push(line.trim_start_matches("ptxas ").to_owned());
        }
    }
    report
}

/// The number that stands before these words; 0 where they are absent.
fn number_before(line: &str, words: &str) -> u32 {
    let Some(end) = line.find(words) else { return 0 };
    let digits = line[..end].rsplit(|c: char| !c.is_ascii_digit()).next();
    digits.and_then(|d| d.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_report() {
        let said = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'a' for 'sm_90a'
ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized
ptxas info    : Function properties for a
    512 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads
ptxas info    : Used 168 registers, used 16 barriers, 512 bytes cumulative stack size, 256 bytes smem
ptxas info    : Compile time = 12.000 ms
ptxas info    : Compiling entry function 'b' for 'sm_90a'
ptxas info    : Function properties for b
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 10 registers, used 0 barriers
";
        let report = read_report(said);
        let a = EntryUsage {
            name: "a".into(),
            registers: 168,
            shared: 256,
            stack: 512,
            spill_stores: 12,
            spill_loads: 16,
        };
        let b = EntryUsage { name: "b".into(), registers: 10, ..Default::default() };
        assert_eq!(report.entries, [a, b]);
        let found: Vec<String> = report.violations().iter().map(|v| v.to_string()).collect();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("`a`: 512 bytes of stack") && found[1].contains("(C7510)"));
    }
}
