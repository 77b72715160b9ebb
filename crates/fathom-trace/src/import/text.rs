//! Reads what lines are made of, from the left, without copying.

use memchr::{memchr, memrchr};

/// The rest of a line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Text<'a>(pub(super) &'a [u8]);

impl<'a> Text<'a> {
    /// An unsigned number of at most 18 digits: what a file's offset can be.
    pub(super) fn number(&mut self) -> Option<u64> {
        let mut value = 0u64;
        let mut digits = 0;
        for &byte in self.0 {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            digits += 1;
        }
        if digits == 0 || digits > 18 {
            return None;
        }
        self.0 = &self.0[digits..];
        Some(value)
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
        let digits = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let nanos = self.0[..digits].iter().take(9).fold(0, |sum, byte| sum * 10 + i64::from(byte - b'0'));
        let scale = 10i64.pow(9 - digits.min(9) as u32);
        self.0 = &self.0[digits..];
        whole.checked_add(nanos * scale)
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
