//! How far beyond a priming read the cache holds data, from the latency of later reads alone.

use fathom_stats::{Rounds, boundary, quantile};

use fathom_run::samples::Samples;

/// The label of the pass of a known hit. That of a known miss is [`MISS`].
pub const HIT: &str = "known hit";
/// The label of the pass of a known miss. That of a known hit is [`HIT`].
pub const MISS: &str = "known miss";
/// The label of a pass of a single probe.
pub const PROBE: &str = "probe";
/// The label of the pass of the last position that should hit. That of the first one that should miss is [`OUTSIDE`].
pub const INSIDE: &str = "inside";
/// The label of the pass of the first position that should miss. That of the last one that should hit is [`INSIDE`].
pub const OUTSIDE: &str = "outside";

/// Where the hits end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reach {
    /// The number of probes, counted from the priming read, that hit.
    pub hits: usize,
    /// The smallest and the largest number of hits that the samples allow.
    pub interval: [usize; 2],
    /// The number of timed operations behind the result.
    pub samples: usize,
}

/// The result of the probes.
#[derive(Debug, Clone, PartialEq)]
pub enum Probed {
    /// The probes hit up to a point and stall from there on.
    Until(Reach),
    /// All probes hit: probe further away.
    AllHit,
    /// The samples do not decide; the reason.
    Unclear(String),
}

/// Finds the reach from the passes [`PROBE`], which have one position each and come in the order of distance.
pub fn find(samples: &Samples) -> Probed {
    let probes: Vec<usize> = samples.labelled(PROBE).collect();
    let passes = probes.iter().copied().chain(samples.labelled(MISS));
    let columns: Vec<Vec<f64>> = passes.map(|pass| samples.matrix(pass, 0)).collect();
    let rounds = columns.iter().map(Vec::len).min().unwrap_or(0);
    // The known miss stands at the far end, so that a reach beyond all probes still shows a step.
    let far = 4;
    let positions = probes.len() + far;
    let mut matrix = Vec::with_capacity(rounds * positions);
    for round in 0..rounds {
        matrix.extend(columns.iter().take(probes.len()).map(|column| column[round]));
        matrix.extend(std::iter::repeat_n(columns[probes.len()][round], far));
    }
    let hits = samples.latencies(HIT, 0);
    let Ok(matrix) = Rounds::new(&matrix, positions) else {
        return Probed::Unclear("no round of probes was completed".to_owned());
    };
    match boundary::find(&matrix, Some(&hits), 0.95) {
        Ok(found) if found.position >= probes.len() => Probed::AllHit,
        Ok(found) => match marked_hits(&columns, found.position) {
            Some(marked) => Probed::Until(Reach {
                hits: found.position + marked,
                interval: [found.interval.low, found.interval.high].map(|end| end.max(0.0) as usize + marked),
                samples: rounds * (probes.len() + 1) + hits.len(),
            }),
            None => Probed::Unclear("the first slow probe is neither a hit nor a miss".to_owned()),
        },
        Err(reason) => Probed::Unclear(reason.to_string()),
    }
}

/// Where the cached part ends, relative to a supposed edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edge {
    /// At the supposed edge.
    There,
    /// Before the supposed edge.
    Before,
    /// Beyond the supposed edge.
    Beyond,
    /// What should be a miss is as fast as a hit.
    NoMiss,
    /// The samples do not decide.
    Unclear,
}

/// A known miss must take this many times as long as a known hit, or probes can't be told apart.
const TELLING_TIMES: f64 = 4.0;

/// Whether a probe found its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// The probe is as fast as the known hit.
    Hit,
    /// The probe is as slow as the known miss.
    Miss,
    /// What should be a miss is as fast as a hit.
    NoMiss,
    /// The rounds of the probe disagree.
    Unclear,
}

/// Tells a hit from a miss by the geometric mean of a known hit and a known miss; nearly all rounds must agree.
pub fn presence(samples: &Samples, probe: &str) -> Presence {
    let logs = |label: &str| -> Vec<f64> {
        samples.latencies(label, 0).iter().map(|ticks| ticks.max(1.0).ln()).collect()
    };
    let (Some(fast), Some(slow)) = (quantile::median(&logs(HIT)), quantile::median(&logs(MISS))) else {
        return Presence::Unclear;
    };
    if slow - fast < TELLING_TIMES.ln() {
        return Presence::NoMiss;
    }
    let rounds = logs(probe);
    let hits = rounds.iter().filter(|&&log| log < (fast + slow) / 2.0).count() as f64;
    match hits / rounds.len() as f64 {
        share if share > 0.7 => Presence::Hit,
        share if share < 0.3 => Presence::Miss,
        _ => Presence::Unclear,
    }
}

/// Tells hit from miss on both sides of a supposed edge.
pub fn edge(samples: &Samples) -> Edge {
    match (presence(samples, INSIDE), presence(samples, OUTSIDE)) {
        (Presence::NoMiss, _) | (_, Presence::NoMiss) => Edge::NoMiss,
        (Presence::Hit, Presence::Miss) => Edge::There,
        (Presence::Hit, Presence::Hit) => Edge::Beyond,
        (Presence::Miss, Presence::Miss) => Edge::Before,
        _ => Edge::Unclear,
    }
}

/// How many times as fast as a miss a probe must be to be a hit on a marked page, at the least.
const MARKED_TIMES: f64 = 2.0;

/// How many of the slow probes from `edge` on are hits all the same; none where that can't be told.
///
/// A read that touches the mark which read-ahead has left hits, and pays for handing the next window
/// to the device, as a miss does; but it does not wait for the device. So it is slower than a hit
/// and faster than the misses behind it. Where the device answers faster than it is asked, it looks
/// like a miss.
fn marked_hits(columns: &[Vec<f64>], edge: usize) -> Option<usize> {
    let logs =
        |columns: &[Vec<f64>]| -> Vec<f64> { columns.iter().flatten().map(|l| l.max(1.0).ln()).collect() };
    let mut marked = 0;
    // The last column is the known miss.
    while edge + marked + 1 < columns.len() {
        let at = edge + marked;
        let (probe, behind) = (logs(&columns[at..=at]), logs(&columns[at + 1..]));
        let deeper = quantile::median(&behind)? - quantile::median(&probe)?;
        // The median's standard error is that of the mean times sqrt(pi/2) for normal noise.
        let spread = quantile::mad(&behind)? * quantile::MAD_TO_SIGMA;
        let error = spread * (std::f64::consts::FRAC_PI_2 / probe.len() as f64).sqrt();
        if deeper <= 2.0 * error.max(0.02) {
            return Some(marked);
        }
        if deeper < MARKED_TIMES.ln().max(4.0 * error) {
            return None;
        }
        marked += 1;
    }
    None
}
