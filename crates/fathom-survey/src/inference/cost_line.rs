//! The straight line of latency over size: what a call costs, and what each byte does.

use fathom_stats::linear::relative_line;
use fathom_stats::quantile::{self, MAD_TO_SIGMA};

use super::latency::{self, LEVEL};
use fathom_run::samples::Samples;

/// The tested line of a call's time over its size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CostLine {
    /// The latency at size zero in ns with its interval, if it differs from zero.
    pub call: Option<(f64, [f64; 2])>,
    /// The time per byte in ns, with its interval.
    pub byte: (f64, [f64; 2]),
    /// The confidence level of the intervals.
    pub level: f64,
    /// The number of timed operations behind the line.
    pub samples: usize,
}

/// The medians of one group of rounds.
#[derive(Debug, Clone, PartialEq)]
pub struct Medians {
    /// The median latency for each size in ns, without the clock's own cost.
    pub latencies: Vec<f64>,
    /// The number of timed operations behind the medians.
    pub samples: usize,
}

/// A line may miss a size by this share of it, and by chance.
const TOLERANCE: f64 = 0.05;
/// How many standard errors chance may make.
const ERRORS: f64 = 3.0;
/// The largest size must take this many times as long as the smallest, or there is no growth to fit.
const FEWEST_TIMES: f64 = 2.0;
/// An interval wider than this share of its value is no answer.
const WIDEST: f64 = 0.5;

/// The label of the pass that times the clock alone. The passes of reads, one for each size, are [`READS`].
pub const CLOCK: &str = "clock";
/// The label of the passes of reads. The pass that times the clock alone is [`CLOCK`].
pub const READS: &str = "reads";

/// The medians of a run, in the order of its sizes.
pub fn medians(samples: &Samples) -> Medians {
    let typical = |latencies: Vec<f64>| quantile::median(&latencies).unwrap_or(f64::NAN);
    let clock = typical(samples.latencies(CLOCK, 0));
    let of = |pass: usize| samples.nanoseconds(typical(samples.matrix(pass, 0)) - clock);
    Medians { latencies: samples.labelled(READS).map(of).collect(), samples: samples.readings.len() }
}

/// The line through `groups` of medians at `sizes` in bytes, in order of time.
///
/// # Errors
/// One sentence: latencies that do not grow, a line that misses, too few groups or too much noise.
pub fn find(sizes: &[f64], groups: &[Medians]) -> Result<CostLine, String> {
    let lines: Vec<(f64, f64)> =
        groups.iter().filter_map(|group| relative_line(sizes, &group.latencies)).collect();
    let common: Vec<f64> = (0..sizes.len()).map(|at| middle(groups, at)).collect();
    let (intercept, slope) = relative_line(sizes, &common).ok_or("no latency was measured")?;
    let at = |size: f64| intercept + slope * size;
    let (small, large) = (quantile::quantile(sizes, 0.0), quantile::quantile(sizes, 1.0));
    let (small, large) = (at(small.unwrap_or(0.0)), at(large.unwrap_or(0.0)));
    if slope <= 0.0 || large < FEWEST_TIMES * small.max(1.0) {
        return Err("reads take hardly longer the more they read".to_owned());
    }
    straight(sizes, groups, &common, at)?;
    let left_out = without_each(sizes, &common);
    let byte = settled(&lines.iter().map(|line| line.1).collect::<Vec<_>>(), &left_out.1)
        .map_err(|reason| format!("the cost of a byte: {reason}"))?;
    if byte.1[0] <= 0.0 || byte.1[1] - byte.1[0] > WIDEST * byte.0 {
        return Err("reads of one size differ too much to draw a line".to_owned());
    }
    let call = settled(&lines.iter().map(|line| line.0).collect::<Vec<_>>(), &left_out.0).ok();
    let call = call.filter(|(value, [low, high])| *low > 0.0 && high - low <= 2.0 * WIDEST * value);
    Ok(CostLine { call, byte, level: LEVEL, samples: groups.iter().map(|group| group.samples).sum() })
}

/// Whether the line misses no size by more than chance and the tolerance.
fn straight(
    sizes: &[f64],
    groups: &[Medians],
    common: &[f64],
    at: impl Fn(f64) -> f64,
) -> Result<(), String> {
    for (index, (&size, &seen)) in sizes.iter().zip(common).enumerate() {
        let logs: Vec<f64> = groups.iter().map(|group| group.latencies[index].max(1.0).ln()).collect();
        let spread = quantile::mad(&logs).unwrap_or(f64::INFINITY) * MAD_TO_SIGMA;
        let error = spread * (std::f64::consts::FRAC_PI_2 / logs.len() as f64).sqrt();
        let missed = (seen / at(size) - 1.0).abs();
        if missed.is_nan() || missed > TOLERANCE + ERRORS * error {
            let bytes = fathom_program::units::Bytes(size as u64);
            return Err(format!(
                "the cost is no straight line over size: a read of {bytes} is off by {:.0} %",
                100.0 * missed
            ));
        }
    }
    Ok(())
}

fn middle(groups: &[Medians], size: usize) -> f64 {
    let all: Vec<f64> = groups.iter().map(|group| group.latencies[size]).collect();
    quantile::median(&all).unwrap_or(f64::NAN)
}

/// Intercepts and slopes of the lines that leave one size out: how far they hang on a single one.
fn without_each(sizes: &[f64], latencies: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let without = |left: usize| {
        let rest = |all: &[f64]| {
            let kept = all.iter().enumerate().filter(|&(index, _)| index != left);
            kept.map(|(_, &value)| value).collect::<Vec<f64>>()
        };
        relative_line(&rest(sizes), &rest(latencies))
    };
    (0..sizes.len()).filter_map(without).unzip()
}

/// The settled value, with an interval that holds the estimates `others` too.
fn settled(groups: &[f64], others: &[f64]) -> Result<(f64, [f64; 2]), String> {
    let found = latency::settled(groups)?;
    let low = others.iter().copied().fold(found.interval.low, f64::min);
    let high = others.iter().copied().fold(found.interval.high, f64::max);
    Ok((found.value, [low, high]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: [f64; 5] = [4096.0, 8192.0, 16384.0, 32768.0, 65536.0];

    fn groups(cost: impl Fn(f64) -> f64) -> Vec<Medians> {
        // A pace that wanders by a few per cent from group to group.
        let group = |index: u32| {
            let pace = 1.0 + 0.02 * f64::from(index * 7 % 5);
            Medians { latencies: SIZES.iter().map(|&size| pace * cost(size)).collect(), samples: 60 }
        };
        (0..16).map(group).collect()
    }

    #[test]
    fn a_line_is_found_and_a_bent_one_refused() {
        let line = find(&SIZES, &groups(|size| 300.0 + 0.1 * size)).unwrap();
        let (call, [low, high]) = line.call.unwrap();
        assert!((300.0..330.0).contains(&call) && low >= 299.0 && high < 330.0, "{line:?}");
        assert!((0.1..0.11).contains(&line.byte.0), "{line:?}");
        let bent = find(&SIZES, &groups(|size| 300.0 + 0.1 * size + 0.1 * (size - 16384.0).max(0.0)));
        assert!(bent.unwrap_err().contains("no straight line"));
        assert!(find(&SIZES, &groups(|_| 300.0)).unwrap_err().contains("hardly longer"));
    }
}
