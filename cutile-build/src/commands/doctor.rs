//! `doctor`: what is here, what is missing, and the command that mends it; `--install` runs that command where it may.

use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use cutile_compiler::toolchain::{self, Provision, Tool, Toolchain, install};

/// Arguments of `doctor`.
#[derive(clap::Args, Debug, Default)]
pub struct Args {
    /// Install what is missing and can be installed without asking.
    #[arg(long)]
    pub install: bool,
    /// Fail also if what only checks kernels is missing.
    #[arg(long)]
    pub strict: bool,
}

/// One line of the report.
struct Finding {
    what: &'static str,
    state: State,
    text: String,
    /// What mends it.
    remedy: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Present,
    /// Missing, and needed to build kernels.
    Missing,
    /// Missing, and needed to check them.
    Unchecked,
    /// Missing, and needed for some things only.
    Absent,
}

/// Writes the report; false if kernels cannot be built here (or, strictly, not checked).
pub fn run(args: &Args, program: &str, out: &mut dyn Write) -> io::Result<bool> {
    let findings = [
        driver(),
        devices(),
        kernel_compiler(args.install, program, out),
        ptxas(args.install, program, out),
    ];
    for Finding { what, state, text, remedy } in &findings {
        let mark = match state {
            State::Present => "ok",
            State::Missing => "MISSING",
            State::Unchecked | State::Absent => "-",
        };
        writeln!(
            out,
            "{mark:<8} {what:<16} {}",
            text.replace('\n', "\n                          ")
        )?;
        if let Some(remedy) = remedy {
            writeln!(out, "{:<25} mend it by: {remedy}", "")?;
        }
    }
    let bad = |state| state == State::Missing || (args.strict && state == State::Unchecked);
    Ok(!findings.iter().any(|finding| bad(finding.state)))
}

/// The NVIDIA driver: needed to run on a GPU, not to build.
fn driver() -> Finding {
    let text = std::fs::read_to_string("/proc/driver/nvidia/version").ok();
    let version = text.as_deref().and_then(|text| text.lines().next()).map(str::to_owned);
    let here =
        version.or_else(|| nvidia_smi("driver_version").map(|v| format!("version {}", v[0])));
    match here {
        Some(text) => Finding { what: "driver", state: State::Present, text, remedy: None },
        None => Finding {
            what: "driver",
            state: State::Absent,
            text: "no NVIDIA driver: programs run on the host device".into(),
            remedy: None,
        },
    }
}

fn devices() -> Finding {
    let text = match nvidia_smi("name,compute_cap") {
        Some(devices) => devices.join("\n"),
        None if Path::new("/dev/nvidiactl").exists() => {
            "the driver is loaded; nvidia-smi, which names the devices, is not here".into()
        }
        None => {
            let text = "no GPU: kernels are built all the same".into();
            return Finding { what: "devices", state: State::Absent, text, remedy: None };
        }
    };
    Finding { what: "devices", state: State::Present, text, remedy: None }
}

/// One line a device.
fn nvidia_smi(fields: &str) -> Option<Vec<String>> {
    let output = Command::new("nvidia-smi")
        .args([&format!("--query-gpu={fields}"), "--format=csv,noheader"])
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let lines: Vec<String> =
        String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
    (output.status.success() && !lines.is_empty()).then_some(lines)
}

fn kernel_compiler(install: bool, program: &str, out: &mut dyn Write) -> Finding {
    let what = "kernel compiler";
    let found = if install { install::toolchain(&mut narrate(out)) } else { Toolchain::find() };
    let built = found.and_then(|toolchain| {
        // The first use of a compiler with sources alone builds core; say so before it costs ten seconds.
        let library = if install { toolchain.library()? } else { toolchain.built_library() };
        Ok((toolchain, library))
    });
    match built {
        Ok((toolchain, library)) => {
            let core = match (toolchain.provision(), library) {
                (Provision::Installed { .. }, _) => "has core for nvptx64".to_owned(),
                (Provision::Sources(_), Some(folder)) => {
                    format!("core built in {}", folder.display())
                }
                (Provision::Sources(_), None) => {
                    "builds core for nvptx64 from its sources at first use, in ten seconds"
                        .to_owned()
                }
            };
            let (version, rustc) = (toolchain.version(), toolchain.rustc().display());
            let text = format!("{version}: {rustc}; {core}");
            Finding { what, state: State::Present, text, remedy: None }
        }
        Err(error) => {
            let remedy = (!install).then(|| format!("{program} doctor --install"));
            Finding { what, state: State::Missing, text: error.to_string(), remedy }
        }
    }
}

/// `ptxas`: checks kernels and reports registers; optional.
fn ptxas(install: bool, program: &str, out: &mut dyn Write) -> Finding {
    let what = "ptxas";
    let found = if install {
        install::tool(Tool::Ptxas, &mut narrate(out)).map_err(|error| error.to_string())
    } else {
        toolchain::tool(Tool::Ptxas).ok_or_else(|| {
            "not here: kernels are built, but no registers or spills are reported".into()
        })
    };
    match found {
        Ok(path) => {
            let text = path.display().to_string();
            Finding { what, state: State::Present, text, remedy: None }
        }
        Err(text) => {
            let remedy = (!install).then(|| format!("{program} doctor --install"));
            Finding { what, state: State::Unchecked, text, remedy }
        }
    }
}

/// Tells each command of an installation as it runs.
fn narrate(out: &mut dyn Write) -> impl FnMut(&str) + '_ {
    |command| {
        let _ = writeln!(out, "running  {command}"); // a closed output does not stop an installation
        let _ = out.flush();
    }
}
