//! `vprintf`: the C format directives that devices know.

use crate::decode::op::Space;
use crate::report::Fault;

use super::memory;
use super::state::Cluster;
use super::warp::Warp;

/// Most text that a launch may print.
const MAX_OUTPUT: usize = 1 << 20;

/// Formats and keeps the text; gives the number of arguments used.
pub(super) fn vprintf(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    format: &str,
    values: u64,
    lane: usize,
) -> Result<u64, Box<Fault>> {
    let mut out = String::new();
    let mut used = 0;
    let mut at = values;
    let mut chars = format.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let mut directive = String::new();
        let mut conversion = None;
        for c in chars.by_ref() {
            if c.is_ascii_alphabetic() && !matches!(c, 'h' | 'l' | 'z' | 'j' | 't') || c == '%' {
                conversion = Some(c);
                break;
            }
            directive.push(c);
        }
        match conversion {
            Some('%') => out.push('%'),
            None => out.push_str(&directive),
            Some(conversion) => {
                let wide =
                    directive.contains(['l', 'z', 'j', 't']) || "eEfFgGaAsp".contains(conversion);
                let bytes = if wide { 8 } else { 4 };
                at = at.next_multiple_of(bytes);
                let place = memory::locate(
                    cluster,
                    warp,
                    Space::Generic,
                    at,
                    bytes as u32,
                    memory::READ,
                    lane,
                )?;
                let value = memory::read(cluster, warp, place, 0, bytes as u32, lane)?;
                at += bytes;
                used += 1;
                let text = if conversion == 's' {
                    super::call::string_argument(cluster, warp, value, lane)?
                } else {
                    number(&directive, conversion, wide, value)
                };
                out.push_str(&pad(&directive, &text));
            }
        }
    }
    let mut kept = cluster.grid.output.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if kept.len() + out.len() <= MAX_OUTPUT {
        kept.push_str(&out);
    }
    Ok(used)
}

/// Precision after the dot, if any.
fn precision(directive: &str) -> Option<usize> {
    let digits: String =
        directive.split_once('.')?.1.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok().map(|p: usize| p.min(100))
}

fn number(directive: &str, conversion: char, wide: bool, value: u64) -> String {
    let float = f64::from_bits(value);
    let signed = if wide { value as i64 } else { i64::from(value as i32) };
    match conversion {
        'd' | 'i' => signed.to_string(),
        'u' => value.to_string(),
        'x' => format!("{value:x}"),
        'X' => format!("{value:X}"),
        'o' => format!("{value:o}"),
        'p' => format!("{value:#x}"),
        'c' => char::from(value as u8).to_string(),
        'f' | 'F' => format!("{float:.*}", precision(directive).unwrap_or(6)),
        'e' | 'E' => format!("{float:.*e}", precision(directive).unwrap_or(6)),
        _ => format!("{float}"),
    }
}

fn pad(directive: &str, text: &str) -> String {
    let left = directive.starts_with('-');
    let flags = directive.trim_start_matches(['-', '+', ' ', '#']);
    let zero = flags.starts_with('0');
    let width: String = flags.chars().take_while(char::is_ascii_digit).collect();
    let width = width.parse::<usize>().unwrap_or(0).min(1000);
    if left {
        format!("{text:<width$}")
    } else if zero && text.len() < width {
        let (sign, digits) = match text.strip_prefix('-') {
            Some(digits) => ("-", digits),
            None => ("", text),
        };
        format!("{sign}{digits:0>fill$}", fill = width - sign.len())
    } else {
        format!("{text:>width$}")
    }
}
