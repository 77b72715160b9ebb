//! Folding bytes in memory into one word.

/// Bytes that one turn of the loop folds: eight accumulators, which compilers turn into vectors.
const STRIDE: usize = 64;

/// The XOR of the 64-bit words of `bytes` in the machine's order, the last one padded with zeros.
pub(super) fn fold_slice(bytes: &[u8]) -> u64 {
    let (strides, rest) = bytes.as_chunks::<STRIDE>();
    let mut lanes = [0_u64; STRIDE / 8];
    let mut add = |stride: &[u8; STRIDE]| {
        for (lane, word) in lanes.iter_mut().zip(stride.as_chunks::<8>().0) {
            *lane ^= u64::from_ne_bytes(*word);
        }
    };
    strides.iter().for_each(&mut add);
    let mut last = [0; STRIDE];
    last[..rest.len()].copy_from_slice(rest);
    add(&last);
    lanes.into_iter().fold(0, |all, lane| all ^ lane)
}
