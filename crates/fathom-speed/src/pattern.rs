//! What files are filled with. Every byte follows from its offset, whatever the size of the blocks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a file is filled with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// Bytes that nothing compresses and that repeat nowhere.
    Random,
    /// Zeros.
    Zero,
    /// Lines of 64 bytes that begin with their own offset.
    Text,
}

const LINE: u64 = 64;

impl Pattern {
    /// Fills `buffer` with the bytes that stand at `offset` and after it.
    pub fn fill(self, offset: u64, buffer: &mut [u8]) {
        match self {
            Pattern::Zero => buffer.fill(0),
            Pattern::Random => {
                units(offset, buffer, 8, |at, unit| unit.copy_from_slice(&mixed(at).to_le_bytes()))
            }
            Pattern::Text => units(offset, buffer, LINE, |at, line| {
                let text = format!("{at:>18} abcdefghijklmnopqrstuvwxyz 0123456789 FATHOM\n");
                line.copy_from_slice(text.as_bytes());
            }),
        }
    }
}

/// Writes units of `size` bytes that begin at multiples of it, cut off where the buffer begins and ends.
fn units(offset: u64, buffer: &mut [u8], size: u64, write: impl Fn(u64, &mut [u8])) {
    let mut unit = [0; LINE as usize];
    let unit = &mut unit[..size as usize];
    let mut at = offset;
    let mut rest = buffer;
    while !rest.is_empty() {
        let skipped = at % size;
        write(at - skipped, unit);
        let length = (size - skipped).min(rest.len() as u64) as usize;
        let (now, later) = rest.split_at_mut(length);
        now.copy_from_slice(&unit[skipped as usize..skipped as usize + length]);
        at += length as u64;
        rest = later;
    }
}

/// SplitMix64 (Steele, Lea & Flood 2014, "Fast splittable pseudorandom number generators") of a counter.
fn mixed(counter: u64) -> u64 {
    let mut word = counter.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_do_not_depend_on_how_they_are_cut() {
        for pattern in [Pattern::Random, Pattern::Zero, Pattern::Text] {
            let mut whole = vec![1; 1000];
            pattern.fill(0, &mut whole);
            for block in [1, 7, 8, 64, 100, 999] {
                let mut cut = vec![2; 1000];
                for (index, piece) in cut.chunks_mut(block).enumerate() {
                    pattern.fill((index * block) as u64, piece);
                }
                assert!(cut == whole, "{pattern:?} in blocks of {block}");
            }
        }
    }

    #[test]
    fn random_bytes_are_of_all_values_and_text_is_text() {
        let mut bytes = vec![0; 1 << 16];
        Pattern::Random.fill(0, &mut bytes);
        let mut counts = [0; 256];
        bytes.iter().for_each(|&byte| counts[usize::from(byte)] += 1);
        assert!(counts.iter().all(|count| (150..370).contains(count)), "{counts:?}");
        Pattern::Text.fill(64, &mut bytes[..64]);
        assert_eq!(&bytes[..64], b"                64 abcdefghijklmnopqrstuvwxyz 0123456789 FATHOM\n");
    }
}
