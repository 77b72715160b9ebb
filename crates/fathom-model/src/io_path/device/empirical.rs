//! A device that is known by measured times: distributions by direction and size.

use std::sync::Arc;

use fathom_net::{In, NetBuilder, Out, Rng, Span};

use crate::io_path::prices::Prices;
use crate::io_path::request::Request;

/// A device that serves `device_depth` requests at once and draws the time of each from those measured; by the
/// parameters where nothing was measured.
pub fn empirical(
    net: &mut NetBuilder,
    prices: &Arc<Prices>,
    requests: In<Request>,
    arrived: Out<Request>,
    written: Out<Request>,
) {
    let tags = net.place("tags");
    net.initial(tags, (0..prices.device_depth).map(|_| ()));
    let prices = Arc::clone(prices);
    net.transition("serve")
        .input(requests)
        .consume(tags, 1)
        .delay_by(move |(request,), rng| drawn(&prices, request, rng))
        .produce(tags, 1)
        .output_each(arrived, |(request,), _| (!request.is_write).then_some(*request))
        .output_each(written, |(request,), _| request.is_write.then_some(*request))
        .add();
}

fn drawn(prices: &Prices, request: &Request, rng: &mut Rng) -> Span {
    let share = rng.below(1 << 20) as f64 / f64::from((1 << 20) - 1);
    match prices.service_times.draw(request.is_write, request.bytes(), share) {
        Some(took) => Span::round(took),
        None => prices.around(prices.latency(request) + super::moving(prices, request), rng),
    }
}
