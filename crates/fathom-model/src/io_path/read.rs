//! The read path: look for pages, read ahead, wait for the device, copy to the user.

use std::sync::Arc;

use fathom_net::{NetBuilder, Out, Place, Source};

use super::state::Outcome;
use super::{Prices, Request, Shared, State, Work};
use crate::page_cache::FetchId;

/// Ports: `reads` and `arrived` in; `requests`, `wakes` and `returned` out. A read goes round as often as
/// `filemap_read` takes a turn.
pub(super) fn draw(
    net: &mut NetBuilder,
    prices: &Arc<Prices>,
    reads: Place<Work>,
    arrived: Place<Request>,
    shared: Shared,
) {
    let (incoming, still_arrived) = (net.port_in(reads), net.port_out(arrived));
    let arrived = net.port_in(arrived);
    let (requests, returned) = (net.port_out(shared.requests), net.port_out(shared.returned));
    let wakes = net.port_out(shared.wakes);
    let kernel = net.fusion("kernel", shared.state);
    let (again, copies) = (net.place::<Work>("again"), net.place::<Work>("copies"));
    let waiting = net.place::<(FetchId, Work)>("waiting");
    let by_fetch = net.index(waiting, |(fetch, _)| *fetch);

    let ways = Ways { kernel, again, copies, waiting, returned, requests, wakes };
    draw_look(net, "look", incoming, prices, ways);
    draw_look(net, "look again", again, prices, ways);
    let prices = Arc::clone(prices);
    net.transition("copy")
        .input(copies)
        .delay_by(move |(work,), rng| {
            let working = prices.copying(work.copied, work.call.bytes) + work.owed_ns as f64;
            prices.around(working, rng) + prices.caches.waiting(work.far_ns, rng)
        })
        .output_each(again, |(work,), _| work.has_more().then_some(Work { owed_ns: 0, far_ns: 0, ..*work }))
        .output_each(returned, |(work,), _| (!work.has_more()).then_some(*work))
        .add();
    // Those who wait come first, so that one firing more ends what nobody waits for.
    net.transition("wake")
        .input(arrived)
        .input_by(by_fetch, |(request,)| request.id)
        .priority(1)
        .output(still_arrived, |(request, _), _| *request)
        .output(again, |(_, (_, work)), _| *work)
        .add();
    net.transition("arrive")
        .input(arrived)
        .inhibit_by(by_fetch, |(request,)| request.id)
        .priority(1)
        .update(kernel, |(request,), state, firing| state.arrive(request, firing.now()))
        .add();
}

/// Where a look leads.
#[derive(Clone, Copy)]
struct Ways {
    kernel: Place<State>,
    again: Place<Work>,
    copies: Place<Work>,
    waiting: Place<(FetchId, Work)>,
    returned: Out<Work>,
    requests: Out<Request>,
    wakes: Out<()>,
}

/// One turn of a read: the same for a call that has just come and for one that goes on.
fn draw_look<S: Source<Colour = Work>>(
    net: &mut NetBuilder,
    name: &str,
    from: S,
    prices: &Arc<Prices>,
    ways: Ways,
) {
    let prices = Arc::clone(prices);
    let Ways { kernel, again, copies, waiting, returned, requests, wakes } = ways;
    net.transition(name)
        .input(from)
        .update_into(kernel, (copies, again, waiting, returned, requests, wakes), move |(work,), state, _| {
            let mut work = *work;
            let outcome = state.look(&mut work, &prices);
            let (asked, wakes) = (state.take_requests(), state.take_wake());
            match outcome {
                Outcome::Copy => (Some(work), None, None, None, asked, wakes),
                Outcome::Again => (None, Some(work), None, None, asked, wakes),
                Outcome::Wait(fetch) => (None, None, Some((fetch, work)), None, asked, wakes),
                Outcome::Return => (None, None, None, Some(work), asked, wakes),
            }
        })
        .add();
}
