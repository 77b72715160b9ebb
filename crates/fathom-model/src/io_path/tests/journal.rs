//! The journal: who shares a commit, and what it writes.

use super::*;

const WRITE: u64 = 12_000 + 90_000;
const FLUSH: u64 = 100_000;
const COMMIT: u64 = 200_000;
/// A page at a ns a byte.
const PAGE_NS: u64 = 4096;

fn journaled(mode: &str) -> Parameters {
    let mut parameters = silent();
    parameters.set("journal", mode).unwrap();
    parameters
}

fn call(kind: CallKind, file: FileId, at: u64) -> Call {
    Call::new(kind, file).at(at * 4096, 4096)
}

/// What the calls took.
fn took(parameters: &Parameters, calls: impl Fn(FileId) -> Vec<Call>) -> Vec<u64> {
    let mut state = State::new(parameters);
    let file = state.create();
    state.fill(file, 1 << 20);
    let after = Path::new(parameters).run(repeated(calls(file), 1), state, 1);
    after.done().iter().map(Done::took_ns).collect()
}

#[test]
fn a_sync_commits_what_changed_and_only_once() {
    let took = took(&journaled("ordered"), |file| {
        vec![call(CallKind::Write, file, 0), call(CallKind::Fsync, file, 0), call(CallKind::Fsync, file, 0)]
    });
    // Data; descriptor and four blocks; flush and record.
    let commit = COMMIT + WRITE + 5 * PAGE_NS + FLUSH + WRITE + PAGE_NS;
    assert_eq!(took[1..], [400 + WRITE + PAGE_NS + commit, 400 + FLUSH]);
}

#[test]
fn fdatasync_commits_where_blocks_are_new_and_not_where_they_were_there() {
    let took = took(&journaled("ordered"), |file| {
        let sync = call(CallKind::Fdatasync, file, 0);
        vec![sync, call(CallKind::Write, file, 0), sync, call(CallKind::Write, file, 300), sync]
    });
    assert!(took[0] > 500_000 && took[4] > 500_000, "{took:?}");
    assert_eq!(took[2], 400 + WRITE + PAGE_NS + FLUSH, "only data");
}

#[test]
fn each_sync_that_has_something_to_say_flushes_and_writes_a_log() {
    let mut parameters = journaled("price");
    parameters.set("log_bytes", "68K").unwrap();
    let took = took(&parameters, |file| {
        let [write, sync] = [CallKind::Write, CallKind::Fsync].map(|kind| call(kind, file, 0));
        vec![write, sync, sync, Call { offset: 1 << 21, ..write }, sync]
    });
    let synced = 400 + WRITE + PAGE_NS + FLUSH + WRITE + 17 * PAGE_NS;
    assert_eq!([took[1], took[2], took[4]], [synced, 400 + FLUSH, synced]);
}

#[test]
fn a_sync_of_new_blocks_that_lie_apart_takes_longer() {
    for mode in ["ordered", "price"] {
        let mut parameters = journaled(mode);
        parameters.set("scattered_sync", "70000").unwrap();
        for kind in [CallKind::Fsync, CallKind::Fdatasync] {
            // The file has 256 pages: two that follow them, two with gaps, and one that is there now.
            let took = took(&parameters, |file| {
                [256, 257, 300, 290, 300]
                    .map(|at| [call(CallKind::Write, file, at), call(kind, file, 0)])
                    .concat()
            });
            let [first, next, beyond, between, over] = [1, 3, 5, 7, 9].map(|sync| took[sync]);
            assert_eq!(next, first, "{mode}");
            assert_eq!([beyond, between], [first + 70_000; 2], "{mode}");
            assert!(over <= first, "{mode}: once alone");
        }
        // Somebody has synced everything meanwhile.
        let took = took(&parameters, |file| {
            let [write, sync] = [CallKind::Write, CallKind::Fsync].map(|kind| move |at| call(kind, file, at));
            vec![write(256), sync(0), write(300), call(CallKind::Sync, file, 0), write(301), sync(0)]
        });
        assert_eq!(took[5], took[1], "{mode}");
    }
}

#[test]
fn each_further_row_of_new_blocks_has_its_cost() {
    let synced = |cost: &str| {
        let parameters = journaled("ordered").with(&[("scattered_extent", cost)]);
        let took = took(&parameters, |file| {
            // Written backwards, two of them are a row.
            let writes = [301, 300, 320, 340].map(|at| call(CallKind::Write, file, at));
            writes.into_iter().chain([call(CallKind::Fsync, file, 0)]).collect()
        });
        took[4]
    };
    assert_eq!(synced("9000"), synced("0") + 2 * 9_000);
}

#[test]
fn a_transaction_has_each_block_of_extents_once_that_new_blocks_are_in() {
    let parameters = journaled("ordered").with(&[("journal_blocks", "1"), ("scattered_blocks", "2")]);
    // The file has 256 pages. Each row of pages is written, and then synced.
    let took = |rows: &[&[u64]]| {
        let took = took(&parameters, |file| {
            let row = |row: &&[u64]| {
                let writes = row.iter().map(|at| call(CallKind::Write, file, *at));
                writes.chain([call(CallKind::Fsync, file, 0)]).collect::<Vec<_>>()
            };
            rows.iter().flat_map(row).collect()
        });
        *took.last().unwrap()
    };
    let in_order = took(&[&[256]]);
    assert_eq!(took(&[&[256], &[257]]), in_order);
    assert_eq!(took(&[&[258]]), in_order + 2 * PAGE_NS);
    assert_eq!(took(&[&[256], &[300]]), in_order + 2 * PAGE_NS);
    // Data side by side.
    let data = PAGE_NS;
    assert_eq!(took(&[&[300, 310]]), in_order + 2 * PAGE_NS + data, "both are in one");
    assert_eq!(took(&[&[300, 2000]]), in_order + 3 * PAGE_NS + data, "and far ones in two");
}

#[test]
fn data_that_go_through_the_journal_are_written_twice() {
    let after = |kernel: &str| {
        let mut parameters = journaled("journal");
        parameters.set("kernel", kernel).unwrap();
        let mut state = State::new(&parameters);
        let file = state.create();
        let calls =
            vec![Call { bytes: 1 << 20, ..call(CallKind::Write, file, 0) }, call(CallKind::Fsync, file, 0)];
        let after = Path::new(&parameters).run(repeated(calls, 1), state, 1);
        (after.dirty_and_writeback(), after.done()[1].took_ns())
    };
    let commit = COMMIT + WRITE + 261 * PAGE_NS + FLUSH + WRITE + PAGE_NS;
    assert_eq!(after("2.6"), ([256, 0], 400 + commit), "they still have to get to their place");
    assert_eq!(after("6.18"), ([0, 0], 400 + WRITE + 256 * PAGE_NS + commit), "both by the sync");
}

#[test]
fn syncs_that_come_during_a_commit_share_the_next() {
    let rate = |jobs: u32| {
        let parameters = journaled("ordered");
        let mut state = State::new(&parameters);
        let files: Vec<FileId> = (0..jobs).map(|_| state.create()).collect();
        let call = move |job, number| {
            let kind = [CallKind::Write, CallKind::Fsync][number as usize % 2];
            (number < 40).then(|| (0, call(kind, files[job as usize], number)))
        };
        let after = Path::new(&parameters).run(numbered(jobs, call), state, 1);
        f64::from(20 * jobs) / after.now().as_ticks() as f64
    };
    let (one, eight) = (rate(1), rate(8));
    // In step with one another all of them share each commit.
    assert!(eight > 3.0 * one && eight < 8.1 * one, "{one} {eight}");
}

#[test]
fn a_transaction_that_nobody_asks_for_is_committed_once_it_is_old() {
    let sync_after = |wait: u64| {
        let parameters = journaled("ordered");
        let mut state = State::new(&parameters);
        let file = state.create();
        let call = move |_, number| {
            let kinds = [CallKind::Write, CallKind::Pause, CallKind::Fsync];
            let kind = *kinds.get(number as usize)?;
            Some((if number == 1 { wait } else { 0 }, call(kind, file, 0)))
        };
        let after = Path::new(&parameters).run(numbered(1, call), state, 1);
        after.done()[2].took_ns()
    };
    assert!(sync_after(4_900_000_000) > 500_000 && sync_after(5_100_000_000) < 210_000);
}
