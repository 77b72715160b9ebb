//! Where files lie: what has to be read to know it, and what it costs to have chosen badly.

use super::*;

const READ: u64 = 12_000 + 80_000;

fn with(settings: &[(&str, &str)]) -> Parameters {
    silent().with(settings)
}

fn call(kind: CallKind, file: FileId, page: u64, pages: u64) -> Call {
    Call::new(kind, file).at(page * 4096, pages * 4096)
}

/// What reading a page takes, once right after the file was evicted and once more after its pages alone were.
fn lone_reads(settings: &[(&str, &str)], page: u64) -> [u64; 2] {
    let settings = [&[("readahead", "0"), ("block", "1024"), ("eviction", "metadata")], settings].concat();
    let parameters = with(&settings);
    let (mut state, file) = machine(&parameters, 16 << 20);
    state.evict(file);
    let read = |at| call(CallKind::Read, file, at, 1);
    let after = Path::new(&parameters).run(repeated(vec![read(page), read(page + 1)], 1), state, 1);
    [after.done()[0].took_ns(), after.done()[1].took_ns()]
}

#[test]
fn a_cold_read_reads_the_blocks_that_lead_to_its_data_one_after_the_other() {
    let data = 400 + READ + 4096 + 410;
    let pointer = READ + 1024;
    let indirect = [("allocation", "indirect")];
    // Pages 0 to 2 are in the inode, up to 66 behind one block of pointers, then behind two.
    for (page, pointers) in [(0, 0), (3, 1), (10, 1), (70, 2), (4000, 2)] {
        assert_eq!(lone_reads(&indirect, page), [data + pointers * pointer, data], "page {page}");
    }
    for scheme in ["extents", "delayed", "none"] {
        assert_eq!(lone_reads(&[("allocation", scheme)], 4000), [data; 2], "{scheme}: it is in the inode");
    }
    let short = [("allocation", "extents"), ("extent_length", "4096")];
    // 4,096 extents, 84 to a leaf: 49 leaves, which need a node above.
    assert_eq!(lone_reads(&short, 4000)[0], data + 2 * pointer);
    let pages_alone = [("allocation", "indirect"), ("eviction", "pages")];
    assert_eq!(lone_reads(&pages_alone, 4000), [data; 2], "what POSIX_FADV_DONTNEED leaves in memory");
}

/// What it takes to read a file cold and in order that was written in turns with another.
fn read_after_turns(scheme: &str) -> u64 {
    let parameters = with(&[("device", "disk_with_seeks"), ("device_byte", "5"), ("allocation", scheme)]);
    let path = Path::new(&parameters);
    let mut state = State::new(&parameters);
    let files = [state.create(), state.create()];
    let mut calls: Vec<Call> =
        (0..512).flat_map(|at| files.map(|file| call(CallKind::Write, file, 16 * at, 16))).collect();
    calls.extend(files.map(|file| call(CallKind::Fsync, file, 0, 0)));
    let mut state = path.run(repeated(calls, 1), state, 1);
    state.evict(files[0]);
    let reads = (0..512).map(|at| call(CallKind::Read, files[0], 16 * at, 16)).collect();
    let before = state.now();
    let after = path.run(repeated(reads, 1), state, 1);
    (after.now() - before).as_ticks()
}

#[test]
fn files_written_in_turns_lie_in_turns_unless_their_place_is_chosen_late() {
    let [none, extents, delayed] = ["none", "extents", "delayed"].map(read_after_turns);
    assert!(delayed < none + 20_000_000, "one run: {delayed} {none}");
    assert!(extents > 5 * delayed, "512 runs: {extents} {delayed}");
}

#[test]
fn a_sync_writes_the_pointers_too_or_the_journal_does() {
    let sync = |settings: &[(&str, &str)]| {
        let parameters = with(&[&[("device_depth", "1"), ("device", "plain_queue")], settings].concat());
        let mut state = State::new(&parameters);
        let file = state.create();
        let calls = vec![
            call(CallKind::Write, file, 0, 64),
            call(CallKind::Fsync, file, 0, 0),
            call(CallKind::Fsync, file, 0, 0),
        ];
        let after = Path::new(&parameters).run(repeated(calls, 1), state, 1);
        assert_eq!(after.dirty_and_writeback(), [0, 0]);
        [1, 2].map(|at| after.done()[at].took_ns())
    };
    let none = sync(&[]);
    let indirect = sync(&[("allocation", "indirect")]);
    // 12 blocks, a block of pointers, 52 more: two runs and that block.
    let one_after_the_other = |requests: u64| requests * (80_000);
    assert_eq!(indirect[0], none[0] + one_after_the_other(2) + 4096);
    assert_eq!(indirect[1], none[1], "once");
    let journal = |scheme| sync(&[("allocation", scheme), ("journal", "ordered")])[0];
    assert_eq!(journal("indirect"), journal("none") + one_after_the_other(1) + 4096);
}

#[test]
fn with_a_queue_between_map_and_device_the_same_data_arrive() {
    let settings = [("allocation", "indirect"), ("scheduler", "mq-deadline"), ("eviction", "metadata")];
    let parameters = with(&settings);
    let (mut state, file) = machine(&parameters, 32 << 20);
    state.evict(file);
    let after = Path::new(&parameters).run(repeated(reads(file, 65_536, 512), 1), state, 1);
    assert_eq!(after.done().len(), 512);
    assert_eq!(after.cache().pages(), 8192);
}
