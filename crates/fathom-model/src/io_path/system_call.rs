//! The system call: its own price, and the way to the path that serves it.

use std::sync::Arc;

use fathom_net::{NetBuilder, Place, Span};

use super::{Kind, Prices, Shared, Work};

/// Where calls go on.
#[derive(Clone, Copy)]
pub(super) struct Paths {
    pub(super) reads: Place<Work>,
    pub(super) writes: Place<Work>,
}

/// Ports: `calls` in; `reads`, `writes` and `returned` out.
pub(super) fn draw(
    net: &mut NetBuilder,
    prices: &Arc<Prices>,
    calls: Place<Work>,
    paths: Paths,
    shared: Shared,
) {
    let (calls, returned) = (net.port_in(calls), net.port_out(shared.returned));
    let (reads, writes) = (net.port_out(paths.reads), net.port_out(paths.writes));
    let kernel = net.fusion("kernel", shared.state);
    let prices = Arc::clone(prices);
    let to = |is: fn(Kind) -> bool| move |work: &Work| is(work.call.kind).then_some(*work);
    let is_read = to(Kind::reads);
    let is_write = to(Kind::writes);
    let is_other = to(|kind| !kind.reads() && !kind.writes());
    net.transition("enter")
        .input(calls)
        .delay_by(move |(work,), rng| match work.call.kind {
            Kind::Evict | Kind::Look | Kind::Pause => Span::ZERO,
            Kind::Seek => prices.around(prices.seek_call, rng),
            Kind::Open | Kind::OpenDirect | Kind::Close | Kind::Create => {
                prices.around(prices.open_call, rng)
            }
            _ => prices.around(prices.call + f64::from(work.call.fresh_pages) * prices.fresh_page, rng),
        })
        .output_each(reads, move |(work,), _| is_read(work))
        .output_each(writes, move |(work,), _| is_write(work))
        .update_each(kernel, returned, move |(work,), state, _| {
            let other = is_other(work);
            if other.is_some() {
                state.others(work);
            }
            other
        })
        .add();
}
