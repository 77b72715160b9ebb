//! The system call: its own price, and the way to the path that serves it.

use std::sync::Arc;

use fathom_net::{NetBuilder, Place, Span};

use super::{Kind, Served, Prices, Shared, Work};

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
    net.transition("enter")
        .input(calls)
        .delay_by(move |(work,), rng| match work.call.kind {
            Kind::Evict | Kind::Look | Kind::Pause => Span::ZERO,
            Kind::Seek | Kind::Dup | Kind::Truncate | Kind::Allocate | Kind::Discard => prices.around(prices.seek_call, rng),
            Kind::Open | Kind::OpenDirect | Kind::Close | Kind::Create | Kind::Unlink | Kind::Rename => {
                prices.around(prices.open_call, rng)
            }
            _ => prices.around(prices.call + f64::from(work.call.fresh_pages) * prices.fresh_page, rng),
        })
        .update_into(kernel, (reads, writes, returned), |(work,), state, _| match work.call.kind {
            kind if kind.reads() => (Some(*work), None, None),
            kind if kind.writes() => (None, Some(*work), None),
            _ => {
                state.others(work);
                (None, None, Some(*work))
            }
        })
        .add();
}
