//! The workloads of the recipes.

use fathom_program::workload::{CacheState, CallKind, Pass, Region, ScratchFile, Traversal, Workload};

/// Reads of `size` bytes in sequence from the start of a cached file.
pub(super) fn small_reads(size: u64, count: u64, rounds: u32) -> Workload {
    let bytes = (size * count).next_multiple_of(4096);
    let whole = Region { offset: 0, size: 4096, step: 4096, count: bytes / 4096 };
    let reads = Region { offset: 0, size, step: size, count };
    Workload::new(vec![ScratchFile::filled("recipe", bytes)])
        .pass(Pass::untimed(0, &[CallKind::Open]))
        .pass(Pass::priming(0, &[CallKind::Read], whole))
        .pass(Pass::timed(0, &[CallKind::Read], reads).needs(CacheState::Cached))
        .rounds(rounds)
}

/// Reads of `size` bytes in sequence from the start of a cold file.
pub(super) fn sequence(size: u64, count: u64, gap_ns: u64, bytes: u64, rounds: u32) -> Workload {
    let reads = Region { offset: 0, size, step: size, count };
    Workload::new(vec![ScratchFile::filled("recipe", bytes)])
        .pass(Pass::untimed(0, &[CallKind::Open, CallKind::Evict]))
        .pass(Pass::timed(0, &[CallKind::Read], reads).gap(gap_ns).needs(CacheState::Cold))
        .rounds(rounds)
}

/// Reads of `count` pages in sequence that were read once before, one at a time and backward, so that the
/// cache holds single pages and has seen each of them once.
///
/// Pages before them are read as well, last of all: the kernel keeps the newest aside in a batch.
pub(super) fn second_reads(count: u64, rounds: u32) -> Workload {
    const PAGE: u64 = 4096;
    const NEWEST: u64 = 64;
    let all = Region { offset: 0, size: PAGE, step: PAGE, count: NEWEST + count };
    let reads = Region { offset: NEWEST * PAGE, count, ..all };
    Workload::new(vec![ScratchFile::filled("recipe", all.count * PAGE)])
        .pass(Pass::untimed(0, &[CallKind::Open, CallKind::Evict]))
        .pass(Pass::priming(0, &[CallKind::Pread], all).direction(Traversal::Backward))
        .pass(Pass::timed(0, &[CallKind::Pread], reads).needs(CacheState::Cached))
        .rounds(rounds)
}

/// Working sets of 1 to `most` times `step` bytes, each read to warm up and again for the time.
pub(super) fn growing(most: u64, step: u64, is_backward: bool) -> Workload {
    let size = if is_backward { 4096 } else { step };
    let direction = if is_backward { Traversal::Backward } else { Traversal::Forward };
    let mut workload = Workload::new(vec![ScratchFile::filled("recipe", most * step)]);
    for times in 1..=most {
        let set = Region { offset: 0, size, step: size, count: times * step / size };
        workload = workload
            .pass(if is_backward {
                Pass::untimed(0, &[CallKind::Open, CallKind::Evict])
            } else {
                Pass::untimed(0, &[CallKind::Open])
            })
            .pass(Pass::priming(0, &[CallKind::Read], set).direction(direction))
            .pass(Pass::untimed(0, &[CallKind::Open]))
            .pass(Pass::timed(0, &[CallKind::Read], set).direction(direction));
    }
    workload
}

/// Writes of `size` bytes to a new file, with an fsync after each that is timed by itself, or without.
pub(super) fn block_writes(size: u64, count: u64, rounds: u32, is_synced: bool) -> Workload {
    let ops: &[CallKind] = if is_synced { &[CallKind::Write, CallKind::Fsync] } else { &[CallKind::Write] };
    Workload::new(vec![ScratchFile::empty("recipe")])
        .pass(Pass::untimed(0, &[CallKind::Create]))
        .pass(Pass::timed(0, ops, Region { offset: 0, size, step: size, count }))
        .rounds(rounds)
}

/// For each size: reads the first `primed` bytes of a cold file, waits, and reads backward from 1 MiB
/// behind them to 64 KiB before their end.
pub(super) fn backward(primed: &[u64], wait_ns: u64) -> Workload {
    const FILE: u64 = 3 << 20;
    let mut workload = Workload::new(vec![ScratchFile::filled("recipe", FILE)]);
    for &bytes in primed {
        let first = Region { offset: 0, size: 512, step: 512, count: bytes / 512 };
        let from = bytes - bytes.min(64 << 10);
        let rest = Region {
            offset: from,
            size: 512,
            step: 1024,
            count: (FILE.min(bytes + (1 << 20)) - from) / 1024,
        };
        workload = workload
            .pass(Pass::untimed(0, &[CallKind::Open, CallKind::Evict]))
            .pass(Pass::priming(0, &[CallKind::Read], first))
            .pass(Pass::pause(wait_ns))
            .pass(Pass::timed(0, &[CallKind::Read], rest).direction(Traversal::Backward));
    }
    workload
}

/// Ten times backward through 128 MiB, then forward.
pub(super) fn backward_then_forward() -> Workload {
    let all = Region { offset: 0, size: 1 << 20, step: 1 << 20, count: 128 };
    let passes = (0..10).map(|_| Pass::priming(0, &[CallKind::Read], all).direction(Traversal::Backward));
    let workload = Workload::new(vec![ScratchFile::filled("recipe", 128 << 20)]);
    let workload = passes.fold(workload.pass(Pass::untimed(0, &[CallKind::Open])), Workload::pass);
    workload.pass(Pass::timed(0, &[CallKind::Read], all))
}

/// A file of 64 MiB read once with each of paper B's block sizes.
pub(super) fn by_block_size(is_cold: bool) -> Workload {
    let sizes = [512, 1024, 4096, 16_384, 65_536, 131_072, 524_288];
    by_sizes(&sizes, is_cold)
}

/// A cached file of 64 MiB read once with each of paper E's block sizes.
pub(super) fn copies() -> Workload {
    let sizes: Vec<u64> = (0..13).map(|doublings| 4096 << doublings).collect();
    by_sizes(&sizes, false)
}

fn by_sizes(sizes: &[u64], is_cold: bool) -> Workload {
    const FILE: u64 = 64 << 20;
    let whole = |size: u64| Region { offset: 0, size, step: size, count: FILE / size };
    let mut workload = Workload::new(vec![ScratchFile::filled("recipe", FILE)]).pass(Pass::priming(
        0,
        &[CallKind::Read],
        whole(1 << 20),
    ));
    for &size in sizes {
        let (prepare, state): (&[CallKind], _) = match is_cold {
            true => (&[CallKind::Open, CallKind::Evict], CacheState::Cold),
            false => (&[CallKind::Open], CacheState::Cached),
        };
        workload = workload
            .pass(Pass::untimed(0, prepare))
            .pass(Pass::timed(0, &[CallKind::Read], whole(size)).needs(state));
    }
    workload
}

/// Reads of one byte, and seeks to each byte.
pub(super) fn calls() -> Workload {
    let bytes = Region { offset: 0, size: 1, step: 1, count: 100_000 };
    Workload::new(vec![ScratchFile::filled("recipe", 100_000)])
        .pass(Pass::untimed(0, &[CallKind::Open]))
        .pass(Pass::timed(0, &[CallKind::Read], bytes))
        .pass(Pass::timed(0, &[CallKind::Seek], bytes))
}
