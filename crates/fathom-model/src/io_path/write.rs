//! The write path: fill folios of the cache from the user, and write them out for a sync.
//!
//! Dirty data that nobody syncs stay until they are evicted: the flusher and the throttling of writers
//! are not built yet.

use std::sync::Arc;

use fathom_net::{NetBuilder, Place};

use super::{Kind, Prices, Request, Shared, Work};

/// Ports: `writes` and `written` in; `requests` and `returned` out.
pub(super) fn draw(
    net: &mut NetBuilder,
    prices: &Arc<Prices>,
    writes: Place<Work>,
    written: Place<Request>,
    shared: Shared,
) {
    let (writes, written) = (net.port_in(writes), net.port_in(written));
    let (requests, returned) = (net.port_out(shared.requests), net.port_out(shared.returned));
    let kernel = net.fusion("kernel", shared.state);
    let (copies, committing) = (net.place::<Work>("copies"), net.place::<Work>("committing"));
    let syncing = net.place::<(u64, u32, Work)>("syncing");
    let by_job = net.index(syncing, |(job, _, _)| *job);

    let (fill, copy, commit) = (Arc::clone(prices), Arc::clone(prices), Arc::clone(prices));
    net.transition("fill")
        .input(writes)
        .update_each(kernel, copies, move |(work,), state, _| {
            (work.call.kind == Kind::Write).then(|| {
                let [pages, blocks] = state.write(work.call.file, work.call.offset, work.call.bytes);
                let owed = pages as f64 * fill.new_page + blocks as f64 * fill.new_block;
                Work { copied: work.call.bytes, owed_ns: owed as u64, ..*work }
            })
        })
        .update_each(kernel, syncing, |(work,), state, _| {
            let requests = (work.call.kind == Kind::Sync).then(|| state.sync(work.turn, work.call.file));
            requests.map(|requests| (u64::from(work.turn.job), requests, *work))
        })
        .update_each(kernel, requests, |_, state, _| state.take_requests())
        .add();
    net.transition("copy")
        .input(copies)
        .delay_by(move |(work,), rng| {
            copy.around(copy.copying(work.copied, work.call.bytes) + work.owed_ns as f64, rng)
        })
        .output(returned, |(work,), _| *work)
        .add();
    net.transition("written")
        .input(written)
        .input_by(by_job, |(request,)| request.sync.unwrap_or(u64::MAX))
        .output(syncing, |(_, (job, left, work)), _| (*job, left - 1, *work))
        .add();
    net.transition("all written")
        .input(syncing)
        .guard(|((_, left, _),)| *left == 0)
        .output(committing, |((_, _, work),), _| *work)
        .add();
    net.transition("commit")
        .input(committing)
        .delay_by(move |_, rng| commit.around(commit.journal_commit + commit.device_flush, rng))
        .output(returned, |(work,), _| *work)
        .add();
}
