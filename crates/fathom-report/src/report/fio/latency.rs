//! Latencies as fio tells them: least, most, mean, deviation, percentiles, buckets, and shares of ranges.

use serde::{Serialize, Serializer};

use super::{Detail, Ordered};
use fathom_program::job::Reporting;
use fathom_run::load::{Histogram, Outcome};

#[derive(Serialize, Default)]
pub(super) struct Latency {
    pub(super) min: u64,
    pub(super) max: u64,
    pub(super) mean: f64,
    #[serde(rename = "stddev")]
    pub(super) deviation: f64,
    #[serde(rename = "N")]
    pub(super) count: u64,
    #[serde(rename = "percentile", skip_serializing_if = "Percentiles::is_empty")]
    pub(super) percentiles: Percentiles,
    #[serde(skip_serializing_if = "Option::is_none")]
    bins: Option<Ordered<u64>>,
}

/// The latencies of the requests of one I/O priority: from their submission, or whole.
#[derive(Serialize)]
pub(super) struct OfPriority {
    prioclass: u16,
    prio: u16,
    #[serde(rename = "clat_ns", skip_serializing_if = "Option::is_none")]
    since_submission: Option<Latency>,
    #[serde(rename = "lat_ns", skip_serializing_if = "Option::is_none")]
    whole: Option<Latency>,
}

impl OfPriority {
    /// By the priority as `ioprio_set(2)` numbers it.
    pub(super) fn new(priority: u16, since_submission: Option<Latency>, whole: Option<Latency>) -> Self {
        Self { prioclass: priority >> 13, prio: priority & 7, since_submission, whole }
    }

    /// What it is called, and what it has.
    pub(super) fn named(&self) -> Option<(String, &Latency)> {
        let (name, latency) = match (&self.since_submission, &self.whole) {
            (Some(latency), _) => ("clat", latency),
            (None, latency) => ("lat", latency.as_ref()?),
        };
        Some((format!("{name} prio {}/{}", self.prioclass, self.prio), latency))
    }
}

/// Percentages, and the latency in ns that this percentage of the calls does not exceed.
#[derive(Default)]
pub(super) struct Percentiles(pub(super) Vec<(f64, u64)>);

impl Percentiles {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Percentiles {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let named = self.0.iter().map(|(percent, ns)| (format!("{percent:.6}"), *ns));
        Ordered(named.collect()).serialize(serializer)
    }
}

/// fio's list of percentiles.
const PERCENTILES: [f64; 17] =
    [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];

/// The percentiles that a job wants, in ascending order.
pub(super) fn wanted(reporting: &Reporting) -> Vec<f64> {
    let mut list = reporting.percentiles.clone();
    list.sort_by(f64::total_cmp);
    if list.is_empty() { PERCENTILES.to_vec() } else { list }
}

impl Latency {
    pub(super) fn of(histogram: &Histogram, ns_per_tick: f64) -> Self {
        let ns = |ticks: u64| (ticks as f64 * ns_per_tick).round() as u64;
        Self {
            min: ns(histogram.min()),
            max: ns(histogram.max()),
            mean: histogram.mean() * ns_per_tick,
            deviation: histogram.deviation() * ns_per_tick,
            count: histogram.count(),
            percentiles: Percentiles::default(),
            bins: None,
        }
    }

    /// With these percentiles, where there is anything to tell.
    pub(super) fn in_detail(
        histogram: &Histogram,
        ns_per_tick: f64,
        percentages: &[f64],
        detail: Detail,
    ) -> Self {
        let plain = Self::of(histogram, ns_per_tick);
        if plain.count == 0 || percentages.is_empty() {
            return plain;
        }
        let ns = |ticks: u64| (ticks as f64 * ns_per_tick).round() as u64;
        let percentile = |&percent: &f64| (percent, ns(histogram.quantile(percent / 100.0)));
        let percentiles = Percentiles(percentages.iter().map(percentile).collect());
        let bins = (detail == Detail::Bins).then(|| bins(histogram, ns));
        Self { percentiles, bins, ..plain }
    }
}

/// Bins by their middle in ns; two that fall on the same nanosecond are one.
fn bins(histogram: &Histogram, ns: impl Fn(u64) -> u64) -> Ordered<u64> {
    let mut merged: Vec<(u64, u64)> = Vec::new();
    for (middle, count) in histogram.bins() {
        match merged.last_mut() {
            Some((last, sum)) if *last == ns(middle) => *sum += count,
            _ => merged.push((ns(middle), count)),
        }
    }
    Ordered(merged.into_iter().map(|(middle, count)| (middle.to_string(), count)).collect())
}

/// The upper ends of the ranges of latencies; the last one of milliseconds has none.
pub(super) const BELOW_A_THOUSAND: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];
pub(super) const MILLISECONDS: [u64; 12] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000, 2000, u64::MAX];

/// The least share that is told of what there is at all, in percent.
const LEAST: f64 = 0.01;

/// All latencies of reads, writes and trims in ns, with how many there were of each.
pub(super) struct Shares {
    latencies: Vec<(f64, u64)>,
    total: u64,
}

impl Shares {
    pub(super) fn of(outcome: &Outcome) -> Self {
        let sides = outcome.transfers.iter().chain([&outcome.trims]);
        let bins = sides.flat_map(|side| side.latency.bins());
        let latencies: Vec<(f64, u64)> =
            bins.map(|(middle, count)| (middle as f64 * outcome.ns_per_tick, count)).collect();
        let total = latencies.iter().map(|(_, count)| count).sum();
        Self { latencies, total }
    }

    /// Where they are not told.
    pub(super) fn none() -> Self {
        Self { latencies: Vec::new(), total: 0 }
    }

    /// The percentage in each range that ends at one of `ends`, counted in `unit` ns; the first begins at `from` ns.
    pub(super) fn between(&self, from: u64, unit: u64, ends: &[u64]) -> Ordered<f64> {
        let mut low = from as f64;
        let share = |&end: &u64| {
            let high = end as f64 * unit as f64;
            let inside = self.latencies.iter().filter(|(ns, _)| *ns >= low && *ns < high);
            let count: u64 = inside.map(|(_, count)| count).sum();
            low = high;
            let name = if end == u64::MAX { ">=2000".to_owned() } else { end.to_string() };
            (name, super::percent(count, self.total, LEAST))
        };
        Ordered(ends.iter().map(share).collect())
    }
}
