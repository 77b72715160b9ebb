//! Blocks of pointers in the latencies of writes to a new file.
//!
//! A write that needs a new block of pointers is slower than the writes around it. The first is the
//! first one beyond what the inode points to, at `direct` blocks from the start of the file; the
//! others follow at one distance, what a block of pointers leads to.
//!
//! Blocks need not be known for that. A block of pointers is a block, full of pointers of four or
//! eight bytes, so that it leads to `block * block / 4` or `block * block / 8` bytes: all of these
//! are different powers of two, and each of them tells the block.

use fathom_stats::Rounds;
use fathom_stats::peak::Tally;

use fathom_run::samples::Samples;

/// Writes to positions of a new file, one step apart, over several rounds. In bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep {
    latencies: Vec<f64>,
    positions: usize,
    offset: u64,
    step: u64,
}

/// What the writes show of a file's pointers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pointers {
    /// Blocks that the inode points to.
    pub direct: u64,
    /// Blocks that one block of pointers points to.
    pub per_block: u64,
}

/// How the writes around one place differ from each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    /// The distance of that place from the first block of pointers, in bytes.
    pub distance: u64,
    /// Whether the first write there is slower than its neighbours.
    pub stands_out: bool,
}

impl Sweep {
    /// The writes of one pass.
    pub fn of(samples: &Samples, pass: usize) -> Self {
        let region = samples.workload.passes[pass].region;
        Self {
            latencies: samples.matrix(pass, 0),
            positions: region.count as usize,
            offset: region.offset,
            step: region.step,
        }
    }

    /// The number of writes.
    pub fn samples(&self) -> usize {
        self.latencies.len()
    }
}

/// How often the first write at or after byte `place` is slower than its neighbours, over all sweeps.
pub fn at(sweeps: &[Sweep], place: u64) -> Tally {
    let mut tally = Tally::default();
    for sweep in sweeps {
        let Some(ahead) = place.checked_sub(sweep.offset) else { continue };
        if let Ok(rounds) = Rounds::new(&sweep.latencies, sweep.positions) {
            tally.count(&rounds, ahead.div_ceil(sweep.step) as usize, 1);
        }
    }
    tally
}

/// The places below `end`, in units of `unit` bytes, that are slower to write than those around them.
///
/// Those less than `step` bytes from a power of two are left out, `step` being that of the sweeps:
/// there the kernel enlarges tables of its own, whatever is on the disk. Of several places within a
/// step only the clearest counts: some of the sweeps can't tell them apart.
pub fn peaks(sweeps: &[Sweep], unit: u64, step: u64, end: u64) -> Vec<u64> {
    let apart =
        |place: &u64| place - (1 << place.ilog2()) >= step && place.next_power_of_two() - place >= step;
    let mut found: Vec<(u64, f64)> = Vec::new();
    for place in (1..end / unit).map(|count| count * unit).filter(apart) {
        let tally = at(sweeps, place);
        match found.last_mut() {
            _ if !tally.stands_out() => {}
            Some(last) if place - last.0 < step => {
                if tally.rise() > last.1 {
                    *last = (place, tally.rise());
                }
            }
            _ => found.push((place, tally.rise())),
        }
    }
    found.into_iter().map(|(place, _)| place).collect()
}

/// The pointers of a file that needs its first block of pointers at byte `first`.
///
/// # Errors
/// One sentence, where the windows show no other such blocks, or show them in no order.
pub fn pointers(first: u64, windows: &[Window]) -> Result<Pointers, &'static str> {
    let shortest = windows.iter().filter(|window| window.stands_out).map(|window| window.distance).min();
    let Some(distance) = shortest else {
        return Err(
            "one write near the start of a file is slower than others, but none follow it as blocks of pointers would",
        );
    };
    if windows.iter().any(|window| window.stands_out != window.distance.is_multiple_of(distance)) {
        return Err("writes are slower at several places that lie in no order");
    }
    let pointer_bytes = if distance.ilog2().is_multiple_of(2) { 4 } else { 8 };
    let block = 1_u64 << ((distance * pointer_bytes).ilog2() / 2);
    if block * block != distance * pointer_bytes || !first.is_multiple_of(block) {
        return Err("blocks of pointers seem to begin within a block");
    }
    Ok(Pointers { direct: first / block, per_block: distance / block })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(multiple_of: u64) -> Vec<Window> {
        let distances = [128_u64, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288];
        let window = |kib: u64| Window { distance: kib << 10, stands_out: kib.is_multiple_of(multiple_of) };
        distances.map(window).to_vec()
    }

    #[test]
    fn the_distance_tells_the_block_and_the_size_of_a_pointer() {
        let found = |first: u64, kib| pointers(first << 10, &windows(kib));
        assert_eq!(found(12, 256), Ok(Pointers { direct: 12, per_block: 256 }));
        assert_eq!(found(24, 1024), Ok(Pointers { direct: 12, per_block: 512 }));
        assert_eq!(found(48, 4096), Ok(Pointers { direct: 12, per_block: 1024 }));
        assert_eq!(found(7, 256), Ok(Pointers { direct: 7, per_block: 256 }));
        assert_eq!(found(24, 512), Ok(Pointers { direct: 12, per_block: 256 }));
        assert_eq!(found(48, 2048), Ok(Pointers { direct: 12, per_block: 512 }));
    }

    #[test]
    fn what_is_in_no_order_is_no_answer() {
        assert!(pointers(12 << 10, &windows(5 << 20)).is_err(), "none follows");
        assert!(pointers(13 << 10, &windows(1024)).is_err(), "within a block of 2 KiB");
        for odd in [0, 4, 10] {
            let mut windows = windows(1024);
            windows[odd].stands_out = !windows[odd].stands_out;
            assert!(pointers(24 << 10, &windows).is_err(), "window {odd}");
        }
    }
}
