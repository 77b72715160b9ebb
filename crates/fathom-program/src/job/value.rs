//! The values of options as fio reads them.
//!
//! fio reads a number up to the first character that it does not know and drops the rest: `1.5k` is 1 to it, and `1min`
//! a millionth of a second. It is taken for the same here, and the run says so: what was not understood is marked.

/// A number, and how much of its text it was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Number {
    pub(super) value: i64,
    /// In hundredths of something.
    pub(super) is_percent: bool,
    /// Nothing of the text was dropped.
    pub(super) is_whole: bool,
}

/// A whole number with one of fio's suffixes: `4096`, `4k`, `4kb`, `0x1000`, `10%`. With a base of 1024 `ki` is 1024 too, and `kib` is
/// 1000: fio then takes the long IEC units for powers of ten; with a base of 1000 it is the other way round.
pub(super) fn number(text: &str, base: i64) -> Option<Number> {
    let (value, rest) = leading(text)?;
    let suffix = suffix(text).split([':', '-', ',', '/']).next().unwrap_or_default().to_ascii_lowercase();
    let mut letters = suffix.chars();
    let power = letters.next().and_then(|letter| "kmgtp".find(letter)).map_or(0, |at| at as u32 + 1);
    let is_long = power > 0 && letters.as_str().starts_with("ib");
    let factor = if is_long { 2024 - base } else { base };
    let value = factor.checked_pow(power)?.checked_mul(value)?;
    let known = match rest.to_ascii_lowercase().as_str() {
        "" | "b" | "%" => true,
        unit => power > 0 && matches!(&unit[1..], "" | "b" | "i" | "ib"),
    };
    let is_whole = known && !text.starts_with(char::is_whitespace);
    Some(Number { value, is_percent: suffix.starts_with('%'), is_whole })
}

/// A time in microseconds; a bare number counts `bare` of them.
pub(super) fn time(text: &str, bare: i64) -> Option<Number> {
    let (value, rest) = leading(text)?;
    let start = text.find(|c: char| !c.is_ascii_digit() && c != '+' && c != '-').unwrap_or(text.len());
    let unit = text[start..].to_ascii_lowercase();
    let factor = match unit.as_str() {
        _ if !unit.starts_with(|c: char| c.is_ascii_alphabetic()) => bare,
        _ if unit.starts_with("ms") => 1000,
        "s" => 1_000_000,
        "m" => 60_000_000,
        "h" => 3_600_000_000,
        "d" => 24 * 3_600_000_000,
        _ => 1,
    };
    let known = matches!(unit.as_str(), "us" | "usec" | "ms" | "msec" | "s" | "m" | "h" | "d");
    let is_whole = (known || rest.is_empty()) && !text.starts_with(char::is_whitespace);
    Some(Number { value: value.checked_mul(factor)?, is_percent: false, is_whole })
}

/// `A-B` or `A:B` in bytes, the smaller one first in any case.
pub(super) fn range(text: &str, base: i64) -> Option<(Number, Number)> {
    let (low, high) = text.split_once('-').or_else(|| text.split_once(':'))?;
    let (low, high) = (number(low, base)?, number(high, base)?);
    Some(if low.value <= high.value { (low, high) } else { (high, low) })
}

/// A fraction as C reads it: the longest beginning that is one.
pub(super) fn float(text: &str) -> Option<f64> {
    let text = text.trim_start();
    (1..=text.len())
        .rev()
        .filter(|&end| text.is_char_boundary(end))
        .filter_map(|end| text[..end].parse::<f64>().ok())
        .find(|value| value.is_finite())
}

/// `0` or `1`, and any other number as C reads it.
pub(super) fn switch(text: &str) -> Option<Number> {
    // What does not fit is -1 to C.
    let is_long = text.trim_start().starts_with(|c: char| c.is_ascii_digit());
    let (value, rest) = leading(text).or(is_long.then_some((-1, "")))?;
    Some(Number { value: i64::from(value as u32 as i32), is_percent: false, is_whole: rest.is_empty() })
}

/// The number that a text begins with as `strtoll` reads it, hexadecimal where `0x` is somewhere in it, and what follows.
fn leading(text: &str) -> Option<(i64, &str)> {
    let trimmed = text.trim_start();
    let (sign, digits) = match trimmed.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, trimmed.strip_prefix('+').unwrap_or(trimmed)),
    };
    let is_hex = text.contains("0x") || text.contains("0X");
    let (radix, prefix) = match digits.get(..2) {
        Some("0x" | "0X") if digits[2..].starts_with(|c: char| c.is_ascii_hexdigit()) => (16, 2),
        _ if is_hex => (16, 0),
        _ => (10, 0),
    };
    let digits = &digits[prefix..];
    let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    let value = i64::from_str_radix(&digits[..end], radix).ok()?;
    Some((sign * value, &digits[end..]))
}

/// Where fio looks for the unit: behind the decimal digits, if a letter or `%` is there.
fn suffix(text: &str) -> &str {
    let mut has_digit = false;
    let end = text.find(|c: char| {
        let goes_on = c.is_ascii_digit() || (matches!(c, '+' | '-') && !has_digit);
        has_digit |= c.is_ascii_digit();
        !goes_on
    });
    let rest = &text[end.unwrap_or(text.len())..];
    if rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '%') { rest } else { "" }
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
            ("+5", 5),
            ("-8k", -8192),
            ("0", 0),
        ] {
            let whole = Number { value: bytes, is_percent: false, is_whole: true };
            assert_eq!(number(text, 1024), Some(whole), "{text}");
        }
        assert_eq!(number("4k", 1000).unwrap().value, 4000);
        assert_eq!(number("4kib", 1000).unwrap().value, 4096);
        assert!(number("25%", 1024).unwrap().is_percent);
    }

    #[test]
    fn what_fio_drops_is_marked() {
        for (text, value) in
            [("1.5k", 1), ("4x", 4), (" 4k", 4), ("1e3", 1), ("4k-8k", 4096), ("0x10k", 16), ("4kfoo", 4096)]
        {
            let read = number(text, 1024).unwrap();
            assert_eq!((read.value, read.is_whole), (value, false), "{text}");
        }
        for (text, value) in [("1min", 1), ("5sec", 5), ("1.5", 1_000_000), ("1d12h", 1), ("5s-10s", 5)] {
            let read = time(text, 1_000_000).unwrap();
            assert_eq!((read.value, read.is_whole), (value, false), "{text}");
        }
    }

    #[test]
    fn what_is_no_number_is_none() {
        for text in ["", "k", "x4", "99999999999t", "18446744073709551616", "%", "é"] {
            assert_eq!(number(text, 1024), None, "{text}");
        }
        assert_eq!((time("usec", 1), float("x"), range("4k", 1024)), (None, None, None));
    }

    #[test]
    fn times_ranges_and_fractions_are_read() {
        assert_eq!(time("10", 1_000_000).unwrap().value, 10_000_000);
        assert_eq!(time("2M", 1).unwrap().value, 120_000_000);
        assert_eq!(time("5msec", 1).unwrap().value, 5000);
        let (low, high) = range("16k:4k", 1024).unwrap();
        assert_eq!((low.value, high.value), (4096, 16384));
        assert_eq!(float("99.9%"), Some(99.9));
    }
}
