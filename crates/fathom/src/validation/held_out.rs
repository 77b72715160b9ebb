//! The jobs that a model is held to: none of them is one that a calibration fits.

use std::time::Duration;

use crate::job::{Blocks, DIRECTIONS, Job, Pattern};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// The jobs. Each reads or writes a file of its size from the state of the cache in its name.
pub fn jobs() -> Vec<Job> {
    let mut jobs = Vec::new();
    for file in [MIB, 48 * MIB] {
        for bytes in [700, 8 * KIB, 96 * KIB, 512 * KIB, 4 * MIB].into_iter().filter(|bytes| *bytes <= file) {
            jobs.push(read(Pattern::Sequential, bytes, file, true));
            if bytes <= 512 * KIB {
                jobs.push(read(Pattern::Random, bytes, file, true));
            }
        }
    }
    for bytes in [8 * KIB, 24 * KIB, 96 * KIB, 512 * KIB, 4 * MIB] {
        jobs.push(read(Pattern::Sequential, bytes, 48 * MIB, false));
        if bytes <= 512 * KIB {
            jobs.push(read(Pattern::Random, bytes, 48 * MIB, false));
        }
    }
    for bytes in [700, 8 * KIB, 96 * KIB, 512 * KIB, 4 * MIB] {
        jobs.push(write(Pattern::Sequential, bytes));
        if (4 * KIB..MIB).contains(&bytes) {
            jobs.push(write(Pattern::Random, bytes));
        }
    }
    jobs
}

/// Writes a new file, which nobody syncs.
fn write(pattern: Pattern, bytes: u64) -> Job {
    let order = if pattern == Pattern::Sequential { "in order" } else { "at random" };
    Job {
        pattern,
        blocks: [Blocks::fixed(bytes); DIRECTIONS],
        size: Some((bytes * 10_000).min(12 * MIB)),
        read_percent: 0,
        ..Job::named(&format!("written {order} by {bytes}"))
    }
}

fn read(pattern: Pattern, bytes: u64, file: u64, is_cached: bool) -> Job {
    let order = if pattern == Pattern::Sequential { "in order" } else { "at random" };
    let state = if is_cached { "cached" } else { "cold" };
    let calls = if is_cached {
        20_000
    } else if pattern == Pattern::Random {
        1_000
    } else {
        u64::MAX / bytes
    };
    let moved = (bytes * calls).min(if is_cached { 64 * MIB } else { file }).max(bytes);
    Job {
        filename: Some(format!("{state}-{file}")),
        pattern,
        blocks: [Blocks::fixed(bytes); DIRECTIONS],
        size: Some(moved.min(file)),
        filesize: Some(file),
        io_size: Some(moved),
        pre_read: is_cached,
        // A slow device need not be read to the end.
        runtime: Duration::from_millis(if is_cached { 0 } else { 1_500 }),
        ..Job::named(&format!("{state} {order} by {bytes} of {file}"))
    }
}
