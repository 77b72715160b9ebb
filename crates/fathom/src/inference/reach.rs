//! How far beyond a priming read the cache holds data, from the latency of later reads alone.

use fathom_stats::{Rounds, boundary};

use crate::samples::Samples;

/// Where the hits end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reach {
    /// How many probes, counted from the priming read, hit.
    pub hits: usize,
    /// The fewest and the most that the samples allow.
    pub interval: [usize; 2],
    /// Timed operations that this rests on.
    pub samples: usize,
}

/// What the probes say.
#[derive(Debug, Clone, PartialEq)]
pub enum Probed {
    /// They hit up to a point and stall from there on.
    Until(Reach),
    /// They all hit: probe further away.
    AllHit,
    /// The samples do not tell; why.
    Unclear(String),
}

/// Reads the reach off the single-position `probes` (passes, in order of distance), with the pass
/// `hit` of known hits and the pass `miss` of known misses to compare.
pub fn find(samples: &Samples, probes: &[usize], hit: usize, miss: usize) -> Probed {
    let column = |pass: usize| samples.matrix(pass, 0);
    let columns: Vec<Vec<f64>> = probes.iter().chain([&miss]).map(|&pass| column(pass)).collect();
    let rounds = columns.iter().map(Vec::len).min().unwrap_or(0);
    // The known miss stands at the far end, so that a reach beyond all probes still shows a step.
    let far = 4;
    let positions = probes.len() + far;
    let mut matrix = Vec::with_capacity(rounds * positions);
    for round in 0..rounds {
        matrix.extend(columns.iter().take(probes.len()).map(|column| column[round]));
        matrix.extend(std::iter::repeat_n(columns[probes.len()][round], far));
    }
    let hits = column(hit);
    let Ok(matrix) = Rounds::new(&matrix, positions) else {
        return Probed::Unclear("no round of probes was completed".to_owned());
    };
    match boundary::find(&matrix, Some(&hits), 0.95) {
        Ok(found) if found.position >= probes.len() => Probed::AllHit,
        Ok(found) => Probed::Until(Reach {
            hits: found.position,
            interval: [found.interval.low.max(0.0) as usize, found.interval.high.max(0.0) as usize],
            samples: rounds * (probes.len() + 1) + hits.len(),
        }),
        Err(reason) => Probed::Unclear(reason.to_string()),
    }
}
