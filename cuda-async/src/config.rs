//! Every environment variable of the runtime, read once, in one place.
//!
//! | variable | meaning | default |
//! | --- | --- | --- |
//! | `CUTILE_DEVICE` | `cuda`, `host` or `emulator`: the kind of the default devices | CUDA where it is present, else `host` |
//! | `CUTILE_HOST_DEVICES` | number of host devices, 1 to 64 | 1 |
//! | `CUTILE_HOST_MEMORY` | bytes of memory of each host device (`K`, `M`, `G` are understood) | unlimited |
//! | `CUTILE_STREAMS` | streams in a device's pool, 1 to 64 | 4 |
//!
//! What a value leads to is decided elsewhere; a value that is not understood becomes an error that
//! the first operation reports.

use std::sync::OnceLock;

use crate::error::{DeviceError, ErrorKind, Result};

/// Which kind of device `CUTILE_DEVICE` asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    Automatic,
    Cuda,
    Host,
    Emulator,
}

/// The environment, parsed.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    pub(crate) choice: Choice,
    pub(crate) host_devices: usize,
    pub(crate) host_memory: usize,
    pub(crate) streams: usize,
}

/// The configuration of this process; the same answer for its whole life.
pub(crate) fn config() -> Result<&'static Config> {
    static CONFIG: OnceLock<Result<Config>> = OnceLock::new();
    CONFIG
        .get_or_init(|| Config::parse(|name| std::env::var(name).ok()))
        .as_ref()
        .map_err(Clone::clone)
}

impl Config {
    fn parse(variable: impl Fn(&str) -> Option<String>) -> Result<Config> {
        let choice = match variable("CUTILE_DEVICE").as_deref() {
            None | Some("") => Choice::Automatic,
            Some("cuda") => Choice::Cuda,
            Some("host") => Choice::Host,
            Some("emulator") => Choice::Emulator,
            Some(other) => return Err(bad("CUTILE_DEVICE", other, "`cuda`, `host` or `emulator`")),
        };
        let number = |name: &'static str, default| match variable(name).as_deref() {
            None | Some("") => Ok(default),
            Some(text) => match text.parse() {
                Ok(n @ 1..=64) => Ok(n),
                _ => Err(bad(name, text, "a number from 1 to 64")),
            },
        };
        let host_memory = match variable("CUTILE_HOST_MEMORY").as_deref() {
            None | Some("") => usize::MAX,
            Some(text) => bytes(text).ok_or_else(|| {
                bad("CUTILE_HOST_MEMORY", text, "a number of bytes such as 4096, 512M or 2G")
            })?,
        };
        Ok(Config {
            choice,
            host_devices: number("CUTILE_HOST_DEVICES", 1)?,
            host_memory,
            streams: number("CUTILE_STREAMS", 4)?,
        })
    }
}

fn bytes(text: &str) -> Option<usize> {
    let (digits, unit) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 1 << 10),
        b'M' => (&text[..text.len() - 1], 1 << 20),
        b'G' => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    digits.parse::<usize>().ok()?.checked_mul(unit)
}

fn bad(variable: &'static str, value: &str, expected: &'static str) -> DeviceError {
    ErrorKind::Configuration { variable, value: value.to_string(), expected }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(pairs: &[(&str, &str)]) -> Result<Config> {
        Config::parse(|name| {
            pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_string())
        })
    }

    #[test]
    fn nothing_set_gives_the_defaults() {
        let config = parse(&[]).unwrap();
        assert_eq!(config.choice, Choice::Automatic);
        assert_eq!((config.host_devices, config.streams, config.host_memory), (1, 4, usize::MAX));
    }

    #[test]
    fn values_are_read() {
        let config = parse(&[
            ("CUTILE_DEVICE", "host"),
            ("CUTILE_HOST_DEVICES", "3"),
            ("CUTILE_HOST_MEMORY", "2M"),
            ("CUTILE_STREAMS", "1"),
        ])
        .unwrap();
        assert_eq!(config.choice, Choice::Host);
        assert_eq!((config.host_devices, config.streams, config.host_memory), (3, 1, 2 << 20));
    }

    #[test]
    fn nonsense_is_named() {
        for (name, value) in [
            ("CUTILE_DEVICE", "gpu"),
            ("CUTILE_HOST_DEVICES", "0"),
            ("CUTILE_HOST_MEMORY", "lots"),
            ("CUTILE_HOST_MEMORY", "99999999999999999999G"),
            ("CUTILE_STREAMS", "65"),
        ] {
            let text = parse(&[(name, value)]).unwrap_err().to_string();
            assert!(text.contains(name) && text.contains(value), "{text}");
        }
    }
}
