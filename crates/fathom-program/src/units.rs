//! Units in types: ticks are not nanoseconds, and sizes are read and printed in IEC units.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A span or point of raw clock readings. What one is worth depends on the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct Ticks(pub u64);

/// A number of bytes, printed as people read it: `4 KiB`, `1.5 MiB`, `100 B`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

/// A number of nanoseconds, printed as people read it: `255 ns`, `1.7 us`, `20 ms`, `5 s`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Nanos(pub f64);

/// A bound in millionths, printed to two places and never below itself: `0.03 ppm`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct WithinPpm(pub f64);

const BINARY: [(&str, u64); 4] = [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((unit, factor)) = BINARY.iter().find(|(_, factor)| self.0 >= *factor) else {
            return write!(f, "{} B", self.0);
        };
        if self.0.is_multiple_of(*factor) {
            return write!(f, "{} {unit}", self.0 / factor);
        }
        write!(f, "{} {unit}", short(self.0 as f64 / *factor as f64))
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scaled, unit) = match self.0.abs() {
            size if size >= 1e9 => (self.0 / 1e9, "s"),
            size if size >= 1e6 => (self.0 / 1e6, "ms"),
            size if size >= 1e3 => (self.0 / 1e3, "us"),
            _ => (self.0, "ns"),
        };
        write!(f, "{} {unit}", short(scaled))
    }
}

impl fmt::Display for WithinPpm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A clock is never straight within nothing.
        write!(f, "{:.2} ppm", (self.0 * 100.0).ceil().max(1.0) / 100.0)
    }
}

/// Three significant digits, without trailing zeros after the point.
fn short(value: f64) -> String {
    let places = match value.abs() {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        _ => 2,
    };
    let text = format!("{value:.places$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Reads a size: `4096`, `4k`, `4K`, `4KiB`, `1.5M`, `256 MiB`. All units are powers of 1024.
///
/// # Errors
/// One sentence that names the text and what would have been right.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let wrong = || format!("'{text}' is not a size: write a number of bytes, or 4K, 64KiB, 1.5M, 2GiB");
    let (number, unit) = split_unit(text);
    let factor = match unit.to_ascii_lowercase().trim_end_matches("ib").trim_end_matches('b') {
        "" => 1,
        "k" => 1_u64 << 10,
        "m" => 1 << 20,
        "g" => 1 << 30,
        "t" => 1 << 40,
        _ => return Err(wrong()),
    };
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor).ok_or_else(wrong);
    }
    let real: f64 = number.parse().map_err(|_| wrong())?;
    let bytes = real * factor as f64;
    if !bytes.is_finite() || bytes < 0.0 || bytes >= u64::MAX as f64 || bytes.fract() != 0.0 {
        return Err(wrong());
    }
    Ok(bytes as u64)
}

/// Reads a time: `500ns`, `100us`, `10ms`, `30s`, `2m`, `1h`; a bare number is seconds.
///
/// # Errors
/// One sentence that names the text and what would have been right.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("'{text}' is not a time: write 500ns, 100us, 10ms, 30s, 2m or 1h");
    let (number, unit) = split_unit(text);
    let seconds = match unit {
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(wrong()),
    };
    let value: f64 = number.parse().map_err(|_| wrong())?;
    Duration::try_from_secs_f64(value * seconds).map_err(|_| wrong())
}

fn split_unit(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    (text[..end].trim(), text[end..].trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_print_in_iec_units() {
        let printed =
            [0, 512, 4096, 1536, 268_435_456, 5 << 30, 1_000_000].map(|size| Bytes(size).to_string());
        assert_eq!(printed, ["0 B", "512 B", "4 KiB", "1.5 KiB", "256 MiB", "5 GiB", "977 KiB"]);
    }

    #[test]
    fn a_bound_in_millionths_is_never_rounded_down() {
        let printed = [0.0, 0.0004, 0.031, 12.0].map(|ppm| WithinPpm(ppm).to_string());
        assert_eq!(printed, ["0.01 ppm", "0.01 ppm", "0.04 ppm", "12.00 ppm"]);
    }

    #[test]
    fn sizes_are_read_in_every_usual_spelling() {
        for text in ["4096", "4k", "4K", "4KiB", "4 KiB", "4kb", "0.00390625M"] {
            assert_eq!(parse_bytes(text), Ok(4096), "{text}");
        }
        for text in ["", "k", "4x", "-1", "1.5", "99999999999T", "4..5k"] {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_are_read_and_printed() {
        assert_eq!(parse_duration("10ms"), Ok(Duration::from_millis(10)));
        assert_eq!(parse_duration("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(parse_duration("60"), Ok(Duration::from_secs(60)));
        assert_eq!(parse_duration("1.5h"), Ok(Duration::from_secs(5400)));
        assert!(parse_duration("soon").is_err());
        let printed = [255.0, 1_720.0, 2.0e7, 5.0e9, 99.96].map(|ns| Nanos(ns).to_string());
        assert_eq!(printed, ["255 ns", "1.72 us", "20 ms", "5 s", "100 ns"]);
    }
}
