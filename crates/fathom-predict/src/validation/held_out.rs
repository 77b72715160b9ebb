//! The jobs that a model is held to: none of them is one that a calibration fits.

use std::time::Duration;

use fathom_program::job::{Blocks, DIRECTIONS, Job, Pattern};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// The jobs that need nothing changed. Each reads or writes a file of its size from the state of the cache in its name.
pub(super) fn jobs() -> Vec<Job> {
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
    for bytes in [8 * KIB, 24 * KIB, 96 * KIB] {
        jobs.push(mixed(Pattern::Sequential, bytes));
        jobs.push(mixed(Pattern::Random, bytes));
    }
    for (bytes, every) in [(8 * KIB, 1), (24 * KIB, 3), (96 * KIB, 1), (512 * KIB, 4)] {
        jobs.push(synced(Pattern::Sequential, bytes, every));
        if bytes < 512 * KIB {
            jobs.push(synced(Pattern::Random, bytes, every));
        }
    }
    jobs
}

/// Jobs that write three times as much as may be dirty.
pub(super) fn throttled(limit: u64) -> Vec<Job> {
    let of = |pattern, bytes: u64| Job {
        size: Some(3 * limit),
        name: format!("{} past {limit} dirty bytes", write(pattern, bytes).name),
        ..write(pattern, bytes)
    };
    vec![of(Pattern::Sequential, 96 * KIB), of(Pattern::Sequential, MIB), of(Pattern::Random, 24 * KIB)]
}

/// Cold reads in order, which a window serves.
pub(super) fn read_ahead() -> Vec<Job> {
    [8 * KIB, 24 * KIB, 96 * KIB].map(|bytes| read(Pattern::Sequential, bytes, 48 * MIB, false)).to_vec()
}

/// Reads of a file that was read before and is half as large again as the cache may be.
pub(super) fn past_cache(limit: u64) -> Vec<Job> {
    let of = |pattern, bytes: u64| Job {
        runtime: Duration::from_millis(1_500),
        io_size: Some((bytes * 2_000).min(limit / 2 * 3)),
        size: None,
        ..read(pattern, bytes, limit / 2 * 3, true)
    };
    [(Pattern::Sequential, 24 * KIB), (Pattern::Sequential, 512 * KIB)]
        .into_iter()
        .chain([(Pattern::Random, 8 * KIB), (Pattern::Random, 96 * KIB)])
        .map(|(pattern, bytes)| of(pattern, bytes))
        .collect()
}

/// As many reads as writes in a file that is cached and clean.
fn mixed(pattern: Pattern, bytes: u64) -> Job {
    let cached = read(pattern, bytes, 24 * MIB, true);
    let moved = (bytes * 4_000).min(24 * MIB);
    Job {
        filename: Some("mixed".to_owned()),
        read_percent: 50,
        size: Some(24 * MIB),
        io_size: Some(moved),
        name: format!("mixed {}", cached.name),
        ..cached
    }
}

/// Writes a new file, which is synced after every so many writes.
fn synced(pattern: Pattern, bytes: u64, every: u32) -> Job {
    let write = write(pattern, bytes);
    Job {
        size: Some((bytes * 120).min(12 * MIB)),
        fsync: every,
        end_fsync: true,
        runtime: Duration::from_millis(1_500),
        name: format!("{}, synced after {every}", write.name),
        ..write
    }
}

/// Writes a new file without a sync.
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
