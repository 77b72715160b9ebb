//! Numbers as fio shortens them.

/// How a number is shortened: to so many digits and a point, by steps of 1000 or 1024.
#[derive(Clone, Copy)]
pub(super) struct Shortened {
    pub(super) digits: usize,
    pub(super) binary: bool,
}

impl Shortened {
    /// `value` with the letters of its size and a unit.
    pub(super) fn text(self, value: u64, unit: &str) -> String {
        let (step, prefixes) = match self.binary {
            true => (1024, ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]),
            false => (1000, ["", "k", "M", "G", "T", "P", "E"]),
        };
        let length = |value: u64| value.checked_ilog10().map_or(1, |log| log as usize + 1);
        let (mut whole, mut rest, mut size) = (value, None, 0);
        while length(whole) > self.digits && size + 1 < prefixes.len() {
            (whole, rest, size) = (whole / step, Some(whole % step), size + 1);
        }
        let (prefix, room) = (prefixes[size], self.digits.saturating_sub(length(whole) + 1));
        match rest {
            None => format!("{whole}{prefix}{unit}"),
            Some(rest) if room == 0 => {
                let whole = whole + u64::from(rest >= step / 2);
                format!("{whole}{prefix}{unit}")
            }
            Some(rest) => {
                let fraction = format!("{:.room$}", rest as f64 / step as f64);
                let (carried, digits) = fraction.split_once('.').unwrap_or(("0", ""));
                let whole = whole + u64::from(carried == "1");
                format!("{whole}.{digits}{prefix}{unit}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shortened_as_fio_does_it() {
        let binary = |value| Shortened { digits: 4, binary: true }.text(value, "B");
        let decimal = |value| Shortened { digits: 4, binary: false }.text(value, "");
        // As fio 3.33 shows these.
        assert_eq!([0, 4096, 9999, 65536].map(binary), ["0B", "4096B", "9999B", "64.0KiB"]);
        assert_eq!(binary(256 << 20), "256MiB");
        assert_eq!(binary(1023 << 20), "1023MiB");
        assert_eq!([7996, 12_345, 8_192_000].map(decimal), ["7996", "12.3k", "8192k"]);
        assert_eq!(decimal(99_960), "100.0k");
        let long = Shortened { digits: 6, binary: false };
        assert_eq!([1, 999_999, 1_234_567].map(|value| long.text(value, "")), ["1", "999999", "1234.6k"]);
        assert_eq!(long.text(u64::MAX, ""), "18447P");
    }
}
