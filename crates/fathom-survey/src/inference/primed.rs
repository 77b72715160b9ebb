//! Plain looks at latencies by position: peaks, a step, and what a primed file holds in the cache.

use fathom_stats::quantile;

use fathom_program::workload::Region;

/// A peak takes this many times as long as its neighbours.
const PEAK: f64 = 1.5;
/// Neighbours on either side.
const NEIGHBOURS: usize = 4;
/// A miss takes at least this many times as long as a hit.
const MISS: f64 = 4.0;
/// So many pages in a row that miss are the end of what is cached.
const ENDING: usize = 3;
/// The page of the cache, in which misses are counted.
const PAGE: u64 = 4096;

/// The median of latencies; zero without latencies.
pub fn typical(latencies: &[f64]) -> f64 {
    quantile::median(latencies).unwrap_or(0.0)
}

/// Positions whose median over the rounds of a matrix is far above their neighbours' medians.
pub fn peaks(matrix: &[f64], positions: usize) -> Vec<usize> {
    let column = |at: usize| matrix.iter().skip(at).step_by(positions.max(1)).copied().collect::<Vec<_>>();
    let medians: Vec<f64> = (0..positions).filter_map(|at| quantile::median(&column(at))).collect();
    let stands_out = |&at: &usize| {
        let near = at.saturating_sub(NEIGHBOURS)..(at + NEIGHBOURS + 1).min(medians.len());
        let others: Vec<f64> = near.filter(|&other| other != at).map(|other| medians[other]).collect();
        quantile::median(&others).is_some_and(|common| medians[at] > PEAK * common)
    };
    (0..medians.len()).filter(stands_out).collect()
}

/// Where costs rise for good: the first index whose cost, like all that follow, is a quarter above the median of those before it.
pub fn step_up(costs: &[f64]) -> Option<usize> {
    (2..costs.len()).find(|&at| {
        let before = quantile::median(&costs[..at]).unwrap_or(f64::INFINITY);
        costs[at..].iter().all(|&cost| cost > 1.25 * before)
    })
}

/// Bytes behind `end` that were in the cache when the positions of `region` were read backward; none
/// where hits and misses can't be told apart. All before `end` is known to be cached.
///
/// Of the reads of one page only the first waits, so that the slowest of them decides.
pub fn cached_behind(matrix: &[f64], region: &Region, end: u64) -> Option<u64> {
    let positions = region.count as usize;
    let column = |at: usize| matrix.iter().skip(at).step_by(positions.max(1)).copied().collect::<Vec<_>>();
    let medians: Vec<f64> = (0..positions).filter_map(|at| quantile::median(&column(at))).collect();
    let offset = |at: usize| region.offset + at as u64 * region.step;
    let known: Vec<f64> = (0..medians.len()).filter(|&at| offset(at) < end).map(|at| medians[at]).collect();
    let hit = quantile::median(&known)?;
    let slowest = |page: u64| {
        let within = (0..medians.len()).filter(|&at| offset(at) / PAGE == page);
        within.map(|at| medians[at]).fold(0.0, f64::max)
    };
    let last = offset(medians.len().checked_sub(1)?) / PAGE;
    let pages: Vec<f64> = (end.div_ceil(PAGE)..=last).map(slowest).collect();
    let typical_miss = quantile::quantile(&pages, 0.98)?;
    if typical_miss < MISS * hit {
        return None;
    }
    let threshold = (hit * typical_miss).sqrt();
    // A disturbed read looks like a miss, but its neighbours do not: where the cache ends, they miss too.
    let ends = |&at: &usize| pages[at..].iter().take(ENDING).all(|&latency| latency >= threshold);
    let held = (0..pages.len()).find(ends).unwrap_or(pages.len()) as u64;
    Some((end.div_ceil(PAGE) + held) * PAGE - end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peaks_stand_out_and_a_step_stays() {
        let mut costs = vec![100.0; 40];
        costs[12] = 200.0;
        assert_eq!(peaks(&[&costs[..], &costs[..]].concat(), 40), [12]);
        assert_eq!(step_up(&[1.0, 1.1, 1.0, 1.0, 5.0, 5.0]), Some(4));
        assert_eq!(step_up(&[1.0, 1.1, 5.0, 1.0]), None);
    }

    #[test]
    fn the_slowest_read_of_a_page_decides() {
        // Two reads in each page of 4 KiB: 4 pages before the end, 3 cached behind it, 5 not.
        let region = Region { offset: 0, size: 512, step: 2048, count: 24 };
        let latency = |at: u64| if at / 2 >= 7 && at % 2 == 1 { 90_000.0 } else { 500.0 };
        let mut matrix: Vec<f64> = (0..24).map(latency).collect();
        assert_eq!(cached_behind(&matrix, &region, 16_384), Some(12_288));
        matrix[10] = 90_000.0;
        assert_eq!(cached_behind(&matrix, &region, 16_384), Some(12_288), "a lone slow read is no end");
        assert_eq!(cached_behind(&[500.0; 24], &region, 16_384), None);
    }
}
