//! Installs what kernel builds need and this machine lacks: the target for rustup, or Debian's compiler with its sources;
//! NVIDIA's tools from PyPI's packages.
//!
//! Each step is a program that the user could run; its command line is in the error when it fails.

use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cutile_bundle::cache::Cache;
use cutile_bundle::options::Options as BundleOptions;

use super::{TRIPLE, Tool, Toolchain, ToolchainError};
use crate::error::IoError;
use crate::options::Options;

/// How long a download may take that a build or a first launch waits for.
const PATIENCE: Duration = Duration::from_secs(90);

/// Debian's packages with a compiler that is new enough, and the sources of its library.
const DEBIAN: [&str; 2] = ["rustc-web", "rust-web-src"];

/// A toolchain: the one that is here, or else one that was installed just now.
///
/// `say` is told each command before it runs.
pub fn toolchain(say: &mut dyn FnMut(&str)) -> Result<Toolchain, ToolchainError> {
    let options = Options::from_env();
    let missing = match Toolchain::find() {
        Err(missing @ ToolchainError::NotFound { .. }) => missing,
        found => return found,
    };
    say(&format!("rustup target add {TRIPLE}"));
    if rustup_target(&options).is_ok() {
        return Toolchain::find();
    }
    if !may_use_apt(&options) {
        return Err(missing);
    }
    say(&format!("apt-get install {}", DEBIAN.join(" ")));
    debian_packages(&DEBIAN)?;
    Toolchain::find()
}

/// `rustup target add` for the active toolchain.
pub(super) fn rustup_target(options: &Options) -> Result<(), ToolchainError> {
    let Some(rustup) = options.program("rustup") else {
        let command = format!("rustup target add {TRIPLE}");
        return Err(ToolchainError::Install { command, said: "there is no rustup".into() });
    };
    let mut command = Command::new(rustup);
    command.args(["target", "add", TRIPLE]);
    // One quick attempt: without a network there is nothing to wait for. No backtrace in the message.
    command.env("RUSTUP_MAX_RETRIES", "0").env("RUST_BACKTRACE", "0");
    run_within(command, Some(PATIENCE))
}

/// Whether packages can be installed here without asking anybody.
fn may_use_apt(options: &Options) -> bool {
    is_root() && options.program("apt-get").is_some()
}

#[cfg(target_os = "linux")]
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

#[cfg(not(target_os = "linux"))]
fn is_root() -> bool {
    false
}

fn debian_packages(names: &[&str]) -> Result<(), ToolchainError> {
    let apt = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        command.env("DEBIAN_FRONTEND", "noninteractive").arg("-qq");
        // Another installation may be under way.
        command.args(["-o", "DPkg::Lock::Timeout=120"]).args(arguments);
        command
    };
    run(apt(&["update"]))?;
    let mut install = apt(&["install", "--yes", "--no-install-recommends"]);
    install.args(names);
    run(install)
}

/// One of NVIDIA's tools: the one that is here, or else the one of PyPI's package, unpacked into the user's cache.
pub fn tool(tool: Tool, say: &mut dyn FnMut(&str)) -> Result<PathBuf, ToolchainError> {
    let options = Options::from_env();
    let cache = Cache::of_user(&BundleOptions::from_env())?;
    if let Some(program) = tool.find(&options, Some(&cache)) {
        return Ok(program);
    }
    say(&format!("pip download {}", tool.requirement()));
    let python = python(tool, &options, say)?;
    let folder = cache.get_or_fill(&tool.cached_name(), |folder| fetch(tool, &python, folder))?;
    Ok(folder.join(tool.file()))
}

/// A Python that has pip.
fn python(
    tool: Tool,
    options: &Options,
    say: &mut dyn FnMut(&str),
) -> Result<PathBuf, ToolchainError> {
    let with_pip = || {
        let names = ["python3", "python"];
        names.iter().filter_map(|name| options.program(name)).find(|python| {
            let mut probe = Command::new(python);
            probe.args(["-m", "pip", "--version"]);
            run(probe).is_ok()
        })
    };
    if let Some(python) = with_pip() {
        return Ok(python);
    }
    if may_use_apt(options) {
        say("apt-get install python3-pip");
        debian_packages(&["python3-pip"])?;
    }
    with_pip().ok_or_else(|| failed(tool, "there is no Python with pip"))
}

/// Downloads the package and keeps of it the one program.
fn fetch(tool: Tool, python: &Path, folder: &Path) -> Result<(), ToolchainError> {
    let mut download = Command::new(python);
    download.args(["-m", "pip", "download", "--quiet", "--no-deps", "--disable-pip-version-check"]);
    download.arg("--dest").arg(folder).arg(tool.requirement());
    run(download)?;
    let is_wheel = |file: &PathBuf| file.extension().is_some_and(|extension| extension == "whl");
    let wheel = files_under(folder)?.into_iter().find(is_wheel);
    let wheel = wheel.ok_or_else(|| failed(tool, "pip left no wheel"))?;
    let unpacked = folder.join("unpacked");
    let mut unpack = Command::new(python);
    unpack.args(["-m", "zipfile", "-e"]).arg(&wheel).arg(&unpacked);
    run(unpack)?;
    let program = files_under(&unpacked)?
        .into_iter()
        .find(|file| file.file_name().is_some_and(|name| name == tool.file().as_str()))
        .ok_or_else(|| failed(tool, "the program is not in the package"))?;
    let target = folder.join(tool.file());
    std::fs::rename(&program, &target).map_err(IoError::on("move", &program))?;
    make_executable(&target).map_err(IoError::on("make executable", &target))?;
    std::fs::remove_dir_all(&unpacked).map_err(IoError::on("remove", &unpacked))?;
    Ok(std::fs::remove_file(&wheel).map_err(IoError::on("remove", &wheel))?)
}

fn failed(tool: Tool, said: &str) -> ToolchainError {
    let command = format!("pip download {}", tool.requirement());
    ToolchainError::Install { command, said: said.to_owned() }
}

/// All files in a folder and below it.
fn files_under(folder: &Path) -> Result<Vec<PathBuf>, IoError> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).map_err(IoError::on("read", &folder))? {
            let path = entry.map_err(IoError::on("read", &folder))?.path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    Ok(files)
}

#[cfg(unix)]
fn make_executable(file: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(file, PermissionsExt::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> std::io::Result<()> {
    Ok(())
}

/// Runs a command to its end; its output is in the error.
fn run(command: Command) -> Result<(), ToolchainError> {
    run_within(command, None)
}

/// The same, ended after a while: a program may wait for a network that swallows what it sends.
fn run_within(mut command: Command, limit: Option<Duration>) -> Result<(), ToolchainError> {
    let program = PathBuf::from(command.get_program());
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words = words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
    // A file takes any amount of output without a reader.
    let failed = |action| IoError::on(action, std::env::temp_dir());
    let mut log = tempfile::tempfile().map_err(failed("create a file in"))?;
    // Clones share their place in the file, so that neither stream overwrites the other.
    let stream = || log.try_clone().map_err(failed("open a file in"));
    command.stdin(Stdio::null()).stdout(stream()?).stderr(stream()?);
    let mut child = command.spawn().map_err(IoError::on("run", &program))?;
    let start = Instant::now();
    let status = loop {
        if limit.is_none() {
            break Some(child.wait().map_err(IoError::on("run", &program))?);
        }
        if let Some(status) = child.try_wait().map_err(IoError::on("run", &program))? {
            break Some(status);
        }
        if limit.is_some_and(|limit| start.elapsed() > limit) {
            let _ = child.kill(); // it may have ended just now
            let _ = child.wait();
            break None;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    if status.is_some_and(|status| status.success()) {
        return Ok(());
    }
    let mut said = Vec::new();
    log.rewind().and_then(|()| log.read_to_end(&mut said)).map_err(failed("read a file in"))?;
    let mut said = String::from_utf8_lossy(&said).trim().to_owned();
    if status.is_none() {
        said += &format!("\n(ended after {} s)", start.elapsed().as_secs());
    }
    Err(ToolchainError::Install { command: words, said })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_failed_command_is_shown_with_what_it_said() {
        assert!(run(shell("true")).is_ok());
        let error = run(shell("echo 1-$((1+1)); echo 3-$((2+2)) >&2; exit 3")).unwrap_err();
        let ToolchainError::Install { command, said } = error else { panic!("{error}") };
        assert!(command.starts_with("sh -c echo"), "{command}");
        assert_eq!(said, "1-2\n3-4");
    }

    #[test]
    fn a_command_that_hangs_is_ended() {
        let start = Instant::now();
        let limit = Some(Duration::from_millis(50));
        let error = run_within(shell("exec sleep 30"), limit).unwrap_err().to_string();
        assert!(error.contains("ended after"), "{error}");
        assert!(start.elapsed() < Duration::from_secs(10));
    }
}
