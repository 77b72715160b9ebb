//! Reads what lines are made of, from the left, without copying.

use memchr::{memchr, memrchr};

/// The powers of ten.
const POWERS: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// The number that eight bytes begin with, and how many of them are its digits.
fn eight_digits(bytes: [u8; 8]) -> (u64, usize) {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let digits = u64::from_le_bytes(bytes) ^ (b'0' as u64 * ONES);
    // The highest bit of each byte that is above 9; a carry changes only what stands behind the first of them.
    let others = (digits.wrapping_add(0x76 * ONES) | digits) & (0x80 * ONES);
    let count = (others.trailing_zeros() / 8) as usize;
    if count == 0 {
        return (0, 0);
    }
    // The digits go to the end, and noughts before them; then pairs, fours and eights are put together.
    let digits = digits << (64 - 8 * count);
    let pairs = (digits.wrapping_mul(10) + (digits >> 8)) & 0x00FF_00FF_00FF_00FF;
    let fours = (pairs.wrapping_mul(100) + (pairs >> 16)) & 0x0000_FFFF_0000_FFFF;
    let all = (fours.wrapping_mul(10_000) + (fours >> 32)) & 0xFFFF_FFFF;
    (all, count)
}

/// At most seven bytes, and zeros behind them: by two loads that overlap, since a loop or a copy of so many costs more.
fn fewer_than_eight(bytes: &[u8]) -> [u8; 8] {
    let all = match (bytes, bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        (_, Some(first), Some(last)) => {
            let behind = 8 * (bytes.len() - 4);
            u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << behind
        }
        ([], ..) => 0,
        (&[one, ..], ..) => {
            let (middle, last) = (bytes.len() / 2, bytes.len() - 1);
            u64::from(one) | u64::from(bytes[middle]) << (8 * middle) | u64::from(bytes[last]) << (8 * last)
        }
    };
    all.to_le_bytes()
}

/// The rest of a line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Text<'a>(pub(super) &'a [u8]);

impl<'a> Text<'a> {
    /// An unsigned number of at most 18 digits: what a file's offset can be.
    pub(super) fn number(&mut self) -> Option<u64> {
        let (value, digits) = self.digits();
        if digits == 0 || digits > 18 {
            return None;
        }
        self.0 = &self.0[digits..];
        Some(value)
    }

    /// The number that comes next, modulo 2 to the 64, and how many digits it has: eight at once where there are so many
    /// bytes, since a branch per digit costs more than the arithmetic.
    fn digits(&self) -> (u64, usize) {
        let (mut value, mut rest) = (0_u64, self.0);
        while let Some((eight, behind)) = rest.split_first_chunk::<8>() {
            let (part, count) = eight_digits(*eight);
            value = value.wrapping_mul(POWERS[count]).wrapping_add(part);
            if count < 8 {
                return (value, self.0.len() - rest.len() + count);
            }
            rest = behind;
        }
        let (part, count) = eight_digits(fewer_than_eight(rest));
        value = value.wrapping_mul(POWERS[count]).wrapping_add(part);
        (value, self.0.len() - rest.len() + count)
    }

    /// A number and the byte behind it.
    pub(super) fn number_before(&mut self, byte: u8) -> Option<u64> {
        self.number().filter(|_| self.skip(byte))
    }

    /// The number that a line ends with.
    pub(super) fn last_number(&mut self) -> Option<u64> {
        self.number().filter(|_| self.is_empty())
    }

    /// A number, perhaps a negative one.
    pub(super) fn signed(&mut self) -> Option<i64> {
        let negative = self.skip(b'-');
        let value = i64::try_from(self.number()?).ok()?;
        Some(if negative { -value } else { value })
    }

    /// A number in one of C's notations: 0x for 16, 0 for 8, else 10.
    pub(super) fn any_number(&mut self) -> Option<u64> {
        let (radix, prefix) = match self.0 {
            [b'0', b'x', ..] => (16, 2),
            [b'0', b'0'..=b'7', ..] => (8, 1),
            _ => return self.number(),
        };
        let rest = &self.0[prefix..];
        let digits = rest.iter().take_while(|byte| char::from(**byte).is_digit(radix)).count();
        let value = u64::from_str_radix(std::str::from_utf8(&rest[..digits]).ok()?, radix).ok()?;
        self.0 = &rest[digits..];
        Some(value)
    }

    /// Seconds with decimals, in ns; what stands behind the ninth decimal is cut.
    pub(super) fn seconds_ns(&mut self) -> Option<i64> {
        let whole = i64::try_from(self.number()?).ok()?.checked_mul(1_000_000_000)?;
        if !self.skip(b'.') {
            return Some(whole);
        }
        let nine = Text(&self.0[..self.0.len().min(9)]);
        let (decimals, digits) = nine.digits();
        let nanos = decimals as i64 * if digits == 0 { 0 } else { POWERS[9 - digits] as i64 };
        self.0 = &self.0[digits..];
        if digits == 9 {
            let more = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
            self.0 = &self.0[more..];
        }
        whole.checked_add(nanos)
    }

    /// Whether that byte was next; it is then taken.
    pub(super) fn skip(&mut self, byte: u8) -> bool {
        let is_next = self.0.first() == Some(&byte);
        if is_next {
            self.0 = &self.0[1..];
        }
        is_next
    }

    /// Takes spaces and tabs.
    pub(super) fn spaces(&mut self) {
        if !matches!(self.0.first(), Some(b' ' | b'\t')) {
            return;
        }
        let count = self.0.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        self.0 = &self.0[count..];
    }

    /// The bytes up to the next such byte, which is taken too.
    pub(super) fn until(&mut self, byte: u8) -> Option<&'a [u8]> {
        let at = memchr(byte, self.0)?;
        let before = &self.0[..at];
        self.0 = &self.0[at + 1..];
        Some(before)
    }

    /// The next word; empty at the end.
    pub(super) fn word(&mut self) -> &'a [u8] {
        self.spaces();
        let length = self.0.iter().position(|byte| matches!(byte, b' ' | b'\t')).unwrap_or(self.0.len());
        let (word, rest) = self.0.split_at(length);
        self.0 = rest;
        word
    }

    /// The last word, which is taken from the end.
    pub(super) fn last_word(&mut self) -> &'a [u8] {
        let text = self.0.trim_ascii_end();
        let start = memrchr(b' ', text).map_or(0, |at| at + 1);
        self.0 = &text[..start];
        &text[start..]
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_the_standard_library_reads_them() {
        for digits in 0..=18 {
            let number = &"987654321098765432"[..digits];
            for tail in ["", ",", "x", ".5", "/", ":", " 12345678901", "\u{e9}", "\0"] {
                let line = format!("{number}{tail}");
                let mut text = Text(line.as_bytes());
                assert_eq!(text.number(), number.parse().ok(), "{line:?}");
                let left = if digits == 0 { line.as_str() } else { tail };
                assert_eq!(text.0, left.as_bytes(), "{line:?}");
            }
        }
        assert_eq!(Text(b"1234567890123456789").number(), None);
        assert_eq!(Text(b"99999999999999999999999999").number(), None);
        for byte in (0..=u8::MAX).filter(|byte| !byte.is_ascii_digit()) {
            let line = [b'1', b'2', byte, b'3', b'4', b'5', b'6', b'7', b'8'];
            assert_eq!(Text(&line).number(), Some(12), "{byte}");
        }
    }

    #[test]
    fn seconds_have_up_to_nine_decimals() {
        let of = |text: &str| {
            let mut text = Text(text.as_bytes());
            (text.seconds_ns(), text.0.len())
        };
        assert_eq!(of("1.5 x"), (Some(1_500_000_000), 2));
        assert_eq!(of("12.000000001"), (Some(12_000_000_001), 0));
        assert_eq!(of("3.123456789987,"), (Some(3_123_456_789), 1));
        assert_eq!(of("7"), (Some(7_000_000_000), 0));
        assert_eq!(of("7."), (Some(7_000_000_000), 0));
    }
}
