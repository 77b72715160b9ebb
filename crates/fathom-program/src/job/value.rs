//! The values of options as fio reads them, where `kb_base` is 1024.
//!
//! fio reads a number up to the first character that it does not know and drops the rest: `1.5k` is
//! 1 to it. Here that is an error. What both understand, both understand alike; a test holds the two
//! against each other.

use std::time::Duration;

/// Bytes, or a share of something in hundredths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Amount {
    Bytes(u64),
    Percent(u64),
}

/// A whole number with one of fio's suffixes: `4096`, `4k`, `4kb`, `0x1000`. `ki` is 1024 too, and
/// `kib` is 1000: with this base fio takes the long IEC units for powers of ten.
pub(super) fn number(text: &str) -> Result<u64, String> {
    let wrong = || format!("'{text}' is not a number: write digits and k, m, g or t, as in 4096, 4k or 1g");
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return u64::from_str_radix(digits, 16).map_err(|_| wrong());
    }
    let (digits, suffix) = split(text);
    let value: u64 = digits.parse().map_err(|_| wrong())?;
    let suffix = suffix.to_ascii_lowercase();
    let (prefix, base) = match suffix.strip_suffix("ib") {
        Some(prefix) if !prefix.is_empty() => (prefix, 1000_u64),
        _ => (suffix.strip_suffix('i').or_else(|| suffix.strip_suffix('b')).unwrap_or(&suffix), 1024),
    };
    let power = match (prefix, suffix.as_str()) {
        ("", "" | "b") => 0,
        ("k", _) => 1,
        ("m", _) => 2,
        ("g", _) => 3,
        ("t", _) => 4,
        ("p", _) => 5,
        _ => return Err(wrong()),
    };
    base.checked_pow(power)
        .and_then(|factor| factor.checked_mul(value))
        .filter(|&bytes| bytes <= i64::MAX as u64)
        .ok_or_else(|| format!("'{text}' is too large"))
}

/// A number, or a percentage of 1 to 100.
pub(super) fn amount(text: &str) -> Result<Amount, String> {
    let Some(digits) = text.strip_suffix('%') else { return number(text).map(Amount::Bytes) };
    match digits.parse() {
        Ok(percent @ 1..=100) => Ok(Amount::Percent(percent)),
        _ => Err(format!("'{text}' is not a percentage: write 1% to 100%")),
    }
}

/// A whole number up to `most`.
pub(super) fn count(text: &str, most: u32) -> Result<u32, String> {
    let value = number(text)?;
    u32::try_from(value)
        .ok()
        .filter(|&value| value <= most)
        .ok_or_else(|| format!("{value} is more than {most}"))
}

/// A time; a bare number counts `bare`.
pub(super) fn time(text: &str, bare: Duration) -> Result<Duration, String> {
    let wrong = || format!("'{text}' is not a time: write 10, 10s, 5m, 2h, 100ms or 50us");
    let (digits, suffix) = split(text);
    let value: u64 = digits.parse().map_err(|_| wrong())?;
    let unit = match suffix.to_ascii_lowercase().as_str() {
        "" => bare,
        "us" | "usec" => Duration::from_micros(1),
        "ms" | "msec" => Duration::from_millis(1),
        "s" => Duration::from_secs(1),
        "m" => Duration::from_secs(60),
        "h" => Duration::from_secs(3600),
        "d" => Duration::from_secs(24 * 3600),
        _ => return Err(wrong()),
    };
    let nanoseconds = unit.as_nanos() * u128::from(value);
    let too_long = || format!("'{text}' is too long");
    u64::try_from(nanoseconds).map(Duration::from_nanos).map_err(|_| too_long())
}

/// `0` or `1`.
pub(super) fn switch(text: &str) -> Result<bool, String> {
    match text {
        "0" => Ok(false),
        "1" => Ok(true),
        _ => Err(format!("'{text}' is neither 0 nor 1")),
    }
}

/// `A-B` or `A:B` in bytes, the smaller one first in any case.
pub(super) fn range(text: &str) -> Result<(u64, u64), String> {
    let Some((low, high)) = text.split_once(['-', ':']) else {
        return Err(format!("'{text}' is not a range: write 4k-16k"));
    };
    let (low, high) = (number(low)?, number(high)?);
    Ok((low.min(high), low.max(high)))
}

/// What stands for reads and for writes: `A` for both, `A,B` for each; an empty part leaves its
/// direction as it is. A third part is for trims, which no supported job does.
pub(super) fn per_direction<T: Copy>(
    text: &str,
    one: impl Fn(&str) -> Result<T, String>,
) -> Result<[Option<T>; 2], String> {
    let parts: Vec<&str> = text.split(',').collect();
    let part = |text: &&str| if text.is_empty() { Ok(None) } else { one(text).map(Some) };
    match parts.as_slice() {
        [both] => one(both).map(|value| [Some(value); 2]),
        [reads, writes] => Ok([part(reads)?, part(writes)?]),
        [reads, writes, trims] => {
            part(trims)?;
            Ok([part(reads)?, part(writes)?])
        }
        _ => Err(format!("'{text}' has more than three parts: reads, writes, trims")),
    }
}

fn split(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_what_fio_takes_them_for() {
        for (text, bytes) in [
            ("4096", 4096),
            ("4096b", 4096),
            ("4k", 4096),
            ("4K", 4096),
            ("4kB", 4096),
            ("4ki", 4096),
            ("4KiB", 4000),
            ("010", 10),
            ("0x1000", 4096),
            ("1m", 1 << 20),
            ("10mib", 10_000_000),
            ("1G", 1 << 30),
            ("4pb", 4 << 50),
            ("0", 0),
        ] {
            assert_eq!(number(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn what_fio_would_cut_off_is_an_error() {
        for text in [
            "",
            "k",
            "1.5k",
            "4x",
            "4 k",
            " 4k",
            "-1",
            "1e3",
            "4bb",
            "4ib",
            "4i",
            "0x10k",
            "0x",
            "99999999999t",
        ] {
            assert!(number(text).is_err(), "{text}");
        }
        for text in ["0%", "101%", "1.5%", "%"] {
            assert!(amount(text).is_err(), "{text}");
        }
        for text in ["1min", "1sec", "1hour", "1d12h", "1.5", "usec", "-1"] {
            assert!(time(text, Duration::from_secs(1)).is_err(), "{text}");
        }
    }

    #[test]
    fn times_ranges_and_lists_are_read() {
        let second = Duration::from_secs(1);
        assert_eq!(time("10", second), Ok(Duration::from_secs(10)));
        assert_eq!(time("10", Duration::from_micros(1)), Ok(Duration::from_micros(10)));
        assert_eq!(time("2M", second), Ok(Duration::from_secs(120)));
        assert_eq!(time("5msec", second), Ok(Duration::from_millis(5)));
        assert_eq!(range("16k:4k"), Ok((4096, 16384)));
        assert_eq!(per_direction("4k", number), Ok([Some(4096); 2]));
        assert_eq!(per_direction("4k,", number), Ok([Some(4096), None]));
        assert_eq!(per_direction(",8k,1k", number), Ok([None, Some(8192)]));
        assert!(per_direction("1,2,3,4", number).is_err());
        assert_eq!(amount("25%"), Ok(Amount::Percent(25)));
    }
}
