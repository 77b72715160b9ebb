//! The write path: fill folios of the cache from the user, pause where too much is dirty, and write them out
//! for a sync, which then goes to the journal.

use std::sync::Arc;

use fathom_net::{NetBuilder, Out, Place, Source};

use super::state::ns;
use super::{Kind, Prices, Request, Served, Shared, State, Work, journal};

/// Ports: `writes` and `written` in; `requests`, `wakes`, `dirtied`, `returned` and those of the journal out. A
/// write goes round as often as it pauses.
pub(super) fn draw(
    net: &mut NetBuilder,
    prices: &Arc<Prices>,
    writes: Place<Work>,
    written: Place<Request>,
    journal: journal::Ports,
    shared: Shared,
) {
    let (writes, written) = (net.port_in(writes), net.port_in(written));
    let (requests, returned) = (net.port_out(shared.requests), net.port_out(shared.returned));
    let (wakes, dirtied) = (net.port_out(shared.wakes), net.port_out(shared.dirtied));
    let kernel = net.fusion("kernel", shared.state);
    let (copies, again) = (net.place::<Work>("copies"), net.place::<Work>("again"));
    let (syncing, synced) = (net.place::<Work>("syncing"), net.place::<u32>("synced"));
    let (settling, aging) = (net.port_out(journal.settling), net.port_out(journal.aging));
    let (steps, committed) = (net.port_out(journal.steps), net.port_out(journal.committed));
    let by_job = net.index(syncing, |work| work.turn.job);

    let ways = Ways { kernel, copies, syncing, synced, requests, wakes, dirtied, aging };
    draw_fill(net, "fill", writes, prices, ways);
    draw_fill(net, "fill more", again, prices, ways);
    let copy = Arc::clone(prices);
    net.transition("copy")
        .input(copies)
        .delay_by(move |(work,), rng| {
            let working = copy.copying(work.copied, work.call.bytes) + work.owed_ns as f64;
            copy.around(working, rng) + copy.caches.waiting(work.far_ns, rng) + ns(work.pause_ns)
        })
        .output_each(again, |(work,), _| work.has_more().then_some(*work))
        .output_each(returned, |(work,), _| (!work.has_more()).then_some(*work))
        .add();
    net.transition("written")
        .input(written)
        .update(kernel, |(request,), state, firing| state.written(request, firing.now()))
        .update_each(kernel, synced, |_, state, _| state.take_synced())
        .update_each(kernel, wakes, |_, state, _| state.take_wake())
        .update_each(kernel, steps, |_, state, _| state.take_step())
        .update_each(kernel, committed, |_, state, _| state.take_committed())
        .add();
    net.transition("all written")
        .input(synced)
        .input_by(by_job, |(job,)| *job)
        .output(settling, |(_, work), _| *work)
        .add();
}

/// Where a turn leads.
#[derive(Clone, Copy)]
struct Ways {
    kernel: Place<State>,
    copies: Place<Work>,
    syncing: Place<Work>,
    synced: Place<u32>,
    requests: Out<Request>,
    wakes: Out<()>,
    dirtied: Out<u64>,
    aging: Out<u64>,
}

/// One turn of a write, or the beginning of a sync.
fn draw_fill<S: Source<Colour = Work>>(
    net: &mut NetBuilder,
    name: &str,
    from: S,
    prices: &Arc<Prices>,
    ways: Ways,
) {
    let prices = Arc::clone(prices);
    let Ways { kernel, copies, syncing, synced, requests, wakes, dirtied, aging } = ways;
    net.transition(name)
        .input(from)
        .update_each(kernel, copies, move |(work,), state, firing| {
            (work.call.kind == Kind::Write).then(|| state.write_turn(work, &prices, firing.now()))
        })
        .update_each(kernel, syncing, |(work,), state, firing| {
            work.call.kind.syncs().then(|| {
                state.begin_sync(work, firing.now());
                *work
            })
        })
        .update_each(kernel, synced, |_, state, _| state.take_synced())
        .update_each(kernel, requests, |_, state, _| state.take_requests())
        .update_each(kernel, wakes, |_, state, _| state.take_wake())
        .update_each(kernel, dirtied, |_, state, firing| state.take_alarm(firing.now()))
        .update_each(kernel, aging, |_, state, firing| state.take_timer(firing.now()))
        .add();
}
