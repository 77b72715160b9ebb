//! Predicted figures with their intervals.

use fathom_stats::distribution::student_quantile;
use fathom_stats::quantile;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::class;
use super::pace::Pace;
use super::refusal::left_out;
use crate::model::{FreeMemory, Made, Model, Residual, State, Tail};
use fathom_program::job::{Direction, Job};
use fathom_run::load::{Histogram, Outcome};

/// The schema of a written [`Predicted`].
pub const SCHEMA: &str = "fathom.prediction/1";

/// A prediction, as it is written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "fathom.prediction/1")]
pub struct Predicted {
    /// Always `fathom.prediction/1`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// The version of Fathom that wrote it.
    pub version: String,
    /// What the model was made from; nothing where every value is assumed.
    pub made: Option<Made>,
    /// The settings made on top of the model.
    pub settings: Vec<String>,
    /// The program whose runs are predicted: `fio` or `fathom`.
    #[serde(default = "by_fathom")]
    pub runner: String,
    /// The seed of the draws and of the model's randomness.
    pub seed: u64,
    /// How many sets of parameters were drawn.
    pub draws: u32,
    /// One entry per job.
    pub jobs: Vec<Forecast>,
}

/// What predictions that do not say so speak of.
fn by_fathom() -> String {
    "fathom".to_owned()
}

/// What one job will do, all its threads together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Forecast {
    /// The job's name.
    pub name: String,
    /// The class of jobs whose measured errors widen the intervals.
    pub class: String,
    /// How long the job will run, in ns.
    pub elapsed_ns: Estimate,
    /// Reads and writes, as far as the job makes them.
    pub sides: Vec<Side>,
    /// The latencies of fsync, if the job makes that call.
    pub syncs: Option<Latencies>,
    /// Caveats, one sentence each.
    pub caveats: Vec<String>,
}

/// One direction of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Side {
    /// `read` or `write`.
    pub direction: String,
    /// Bytes transferred in all.
    pub bytes: u64,
    /// Bytes per second.
    pub bytes_per_second: Estimate,
    /// Calls per second.
    pub calls_per_second: Estimate,
    /// The latencies of the calls in this direction.
    pub latency: Latencies,
}

/// The latencies of calls, in ns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latencies {
    /// The number of calls.
    pub calls: u64,
    /// The mean latency.
    pub mean_ns: Estimate,
    /// The median latency.
    pub median_ns: Estimate,
    /// The latency that 90 % of the calls don't exceed.
    pub p90_ns: Estimate,
    /// The latency that 99 % of the calls don't exceed.
    pub p99_ns: Estimate,
    /// The latency that 99.9 % of the calls don't exceed.
    pub p999_ns: Estimate,
}

/// A predicted figure with its interval of 90 % confidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The predicted figure.
    pub value: f64,
    /// The interval's lower end.
    pub low: f64,
    /// The interval's upper end.
    pub high: f64,
}

/// So many deviations to each side hold 90 % of a normal distribution.
const DEVIATIONS: f64 = 1.645;
/// The latencies that are told.
pub(crate) const SHARES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

/// Intervals that more draws would make wider by less than this are known.
const MUCH_WIDER: f64 = 1.1;

/// The variance of the logarithms of what the draws gave, which have this median.
fn log_variance(drawn: &[f64], median: f64) -> f64 {
    let logs: Vec<f64> =
        drawn.iter().filter(|one| median > 0.0 && **one > 0.0).map(|one| (one / median).ln()).collect();
    let mean = logs.iter().sum::<f64>() / logs.len().max(1) as f64;
    let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    squares / (logs.len().max(2) - 1) as f64
}

/// How many times the variance of so many draws the real one is at most, with 95 % confidence: that of chi-square (Wilson and
/// Hilferty, 1931).
fn most_of_variance(number: usize) -> f64 {
    let freedom = number.saturating_sub(1).max(1) as f64;
    let part = 2.0 / (9.0 * freedom);
    (1.0 - part - 1.645 * part.sqrt()).max(0.05).powi(-3)
}

impl Estimate {
    /// Of a class whose errors were seen on some jobs that nothing was fitted to: what the parameters are uncertain by
    /// is part of those errors, and a further one is spread as Student's t.
    pub(crate) fn seen(value: f64, spread: f64, seen: &Residual) -> Self {
        let freedom = if seen.freedom > 0 { seen.freedom } else { seen.jobs };
        let reach = (student_quantile(0.95, f64::from(freedom.max(1))) * spread).exp();
        Self { value, low: value / reach, high: value * reach }
    }

    /// What becomes of it by a function that only rises or only falls.
    fn map(self, of: impl Fn(f64) -> f64) -> Self {
        let [value, low, high] = [self.value, self.low, self.high].map(of);
        Self { value, low: low.min(high), high: low.max(high) }
    }

    /// The median of what the draws gave, and the interval of their spread and the model's own together.
    ///
    /// Errors of costs multiply, so that the spread is one of logarithms.
    fn of(drawn: &[f64], own: f64) -> Self {
        let value = quantile::median(drawn).unwrap_or(0.0);
        let reach = (DEVIATIONS * (log_variance(drawn, value) + own.powi(2)).sqrt()).exp();
        Self { value, low: value / reach, high: value * reach }
    }

    /// The same where a share of what it depends on is as in another estimate: of times, or of rates, which are their inverse.
    fn between(self, other: Self, share: f64, is_time: bool) -> Self {
        let value = match is_time {
            true => part_of(self.value, other.value, share),
            false => rate_between([self.value, other.value], share),
        };
        let by = value / self.value;
        Self { value, low: self.low * by, high: self.high * by }
    }

    /// The same with an interval that holds those of these, too.
    fn reaching(self, others: impl IntoIterator<Item = Self>) -> Self {
        others.into_iter().fold(self, |wide, other| Self {
            low: wide.low.min(other.low),
            high: wide.high.max(other.high),
            ..wide
        })
    }

    /// Whether a value lies within the interval.
    pub fn holds(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

impl Residual {
    /// The latency that a share of a job's calls does not exceed, for a job of this class from the simulated latency in ns.
    pub(crate) fn latency(&self, share: f64, calls: u64, simulated: f64) -> Estimate {
        if self.held_from_ns.is_some_and(|from| simulated >= from) {
            return Estimate::seen(simulated, self.spread, self);
        }
        match self.tail(level(share, calls)) {
            Some(tail) => Estimate::seen(simulated * tail.factor + tail.added_ns, tail.spread, self),
            None => Estimate::seen(simulated / self.factor, self.spread, self),
        }
    }

    /// How far latencies at a level were off: between those that are known by how rare it is what exceeds them.
    fn tail(&self, level: f64) -> Option<Tail> {
        let (below, above) =
            self.latencies.split_at(self.latencies.partition_point(|tail| tail.share < level));
        let (low, high) = match (below.last(), above.first()) {
            (Some(low), Some(high)) => (low, high),
            (one, other) => return one.or(other).copied(),
        };
        let rarity = |share: f64| -(1.0 - share).ln();
        let part = (rarity(level) - rarity(low.share)) / (rarity(high.share) - rarity(low.share));
        let between = |low: f64, high: f64| low + part * (high - low);
        Some(Tail {
            share: level,
            factor: between(low.factor.ln(), high.factor.ln()).exp(),
            added_ns: between(low.added_ns, high.added_ns),
            spread: between(low.spread, high.spread),
        })
    }
}

/// At which level of all calls the latency lies that a share of so many calls does not exceed: of three calls 99 % is the longest,
/// and one call in five is longer than that. Source: the median of an order statistic (Benard and Bos-Levenbach, 1953).
fn level(share: f64, calls: u64) -> f64 {
    let rank = (share * calls as f64).ceil().max(1.0);
    ((rank - 1.0 / 3.0) / (calls as f64 + 1.0 / 3.0)).min(share)
}

/// What a model made of one job, or of anything.
#[derive(Default)]
pub(super) struct Runs {
    /// As it is, and then with each set of parameters that was drawn.
    pub(super) drawn: Vec<Outcome>,
    /// Where a device is held to a little less or more.
    pub(super) near_limits: Vec<Outcome>,
    /// With free memory where it was not.
    pub(super) other_memory: Vec<Outcome>,
}

/// What a run of the model is for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part {
    Drawn,
    NearLimits,
    OtherMemory,
}

impl Runs {
    pub(super) fn part(&mut self, part: Part) -> &mut Vec<Outcome> {
        match part {
            Part::Drawn => &mut self.drawn,
            Part::NearLimits => &mut self.near_limits,
            Part::OtherMemory => &mut self.other_memory,
        }
    }

    /// Whether no interval of a job would become much wider if more sets of parameters were drawn, as the model's own error is most of it.
    pub(super) fn are_enough(&self, job: &Job, model: &Model) -> bool {
        let class = class(job, &model.parameters);
        let own = own_error(&class, model);
        let is_enough = |figure: &dyn Fn(&Outcome) -> f64| {
            let figures: Vec<_> = self.drawn.iter().map(figure).collect();
            let (variance, number) =
                (log_variance(&figures, quantile::median(&figures).unwrap_or(0.0)), figures.len());
            variance * most_of_variance(number) + own.powi(2) <= MUCH_WIDER.powi(2) * (variance + own.powi(2))
        };
        let latencies = |of: &dyn Fn(&Outcome) -> &Histogram| {
            SHARES.iter().all(|share| is_enough(&|one| of(one).quantile(*share) as f64 * one.ns_per_tick))
        };
        let of_side = |direction: Direction| {
            is_enough(&|one| one.bytes_per_second(direction))
                && latencies(&|one| &one.transfers[direction as usize].latency)
        };
        model.residuals.contains_key(&class)
            || (job.directions().all(of_side) && latencies(&|one| &one.syncs))
    }

    /// What else may be as it is: the intervals hold them all.
    fn others(&self) -> impl Iterator<Item = &Outcome> {
        self.near_limits.iter().chain(&self.other_memory)
    }

    /// What to say where the rate depends on whether free memory is there.
    fn depends_on_memory(&self, job: &Job, model: &Model, share: Option<f64>) -> Option<String> {
        // Less is within what runs differ by anyway.
        const MUCH: f64 = 1.3;
        let rates = [self.drawn.first()?, self.other_memory.first()?].map(|one| one.bytes_per_second_of(job));
        let rate = rate_between(rates, share.unwrap_or(0.0));
        let [mut there, mut taken] = rates.map(|one| one / rate * 100.0);
        if model.parameters.choices.free_memory == FreeMemory::Taken {
            std::mem::swap(&mut there, &mut taken);
        }
        (!(1.0 / MUCH..MUCH).contains(&(rates[1] / rates[0]))).then(|| {
            format!(
                "the rate depends on the free memory that a run finds: with all of it there it is {there:.0} % of the rate above, with all of it taken back by the host of this virtual machine {taken:.0} %"
            )
        })
    }
}

/// What lies between two values, so near to the other as the share says.
fn part_of(own: f64, other: f64, share: f64) -> f64 {
    (1.0 - share) * own + share * other
}

/// The rate where a share of the bytes moves at the second one's.
fn rate_between([own, other]: [f64; 2], share: f64) -> f64 {
    part_of(own.recip(), other.recip(), share).recip()
}

/// The share of free memory that runs of a class found otherwise than the model has it.
fn share_of_other(seen: &Residual, model: &Model) -> Option<f64> {
    seen.taken.map(|taken| match model.parameters.choices.free_memory {
        FreeMemory::There => taken,
        FreeMemory::Taken => 1.0 - taken,
    })
}

/// What is known of a model's own errors.
pub(super) enum Known<'a> {
    /// The measured errors on other jobs of the class, and the share of the memory that their runs found in the other state.
    OfClass(&'a Residual, Option<f64>),
    /// The spread of the errors, for want of jobs of the class.
    Spread(f64),
}

impl Forecast {
    /// Bytes per second in both directions; none where no data are moved.
    pub fn bytes_per_second(&self) -> Option<Estimate> {
        self.sides.iter().map(|side| side.bytes_per_second).reduce(|a, b| Estimate {
            value: a.value + b.value,
            low: a.low + b.low,
            high: a.high + b.high,
        })
    }

    /// Of the outcomes of one job.
    pub(super) fn of(job: &Job, runs: &Runs, model: &Model) -> Self {
        let class = class(job, &model.parameters);
        let caveats = unvalidated(&class, model)
            .into_iter()
            .chain(left_out(job, &model.parameters))
            .chain(states(&class, model));
        let seen = model.residuals.get(&class);
        let share = seen.and_then(|seen| share_of_other(seen, model));
        let caveats = caveats.chain(runs.depends_on_memory(job, model, share)).collect();
        let known = match seen {
            Some(residual) => Known::OfClass(residual, share),
            None => Known::Spread(own_error(&class, model)),
        };
        let directions: Vec<Direction> = job.directions().collect();
        let forecast =
            Self { caveats, ..Self::new(&job.name, class, &known, &directions, runs, Pace::of(job)) };
        match runs.drawn.first() {
            // Its time ends it, however fast it is.
            Some(one) if job.time_based => {
                let elapsed = one.elapsed_ns as f64;
                Self { elapsed_ns: Estimate { value: elapsed, low: elapsed, high: elapsed }, ..forecast }
            }
            _ => forecast,
        }
    }

    /// Of the outcomes of anything.
    pub(super) fn new(
        name: &str,
        class: String,
        known: &Known<'_>,
        directions: &[Direction],
        runs: &Runs,
        pace: Pace<'_>,
    ) -> Self {
        let drawn = &runs.drawn;
        // Times are as much shorter as rates are higher.
        let over_at = |pace: Pace<'_>, figure: &dyn Fn(&Outcome) -> f64, power: i32| {
            let of = |runs: &[Outcome]| match (known, runs.first()) {
                (Known::OfClass(seen, _), Some(one)) => {
                    let faster = Estimate::seen(seen.factor, seen.spread, seen);
                    faster.map(|factor| figure(one) * pace.faster(one, factor).powi(power))
                }
                (Known::OfClass(Residual { spread: own, .. }, _) | Known::Spread(own), _) => {
                    Estimate::of(&runs.iter().map(figure).collect::<Vec<_>>(), *own)
                }
            };
            let own = of(drawn);
            let as_seen = match (known, runs.other_memory.first()) {
                (Known::OfClass(_, Some(share)), Some(other)) => {
                    own.between(of(std::slice::from_ref(other)), *share, power < 0).reaching([own])
                }
                _ => own,
            };
            as_seen.reaching(runs.others().map(|other| of(std::slice::from_ref(other))))
        };
        let over = |figure: &dyn Fn(&Outcome) -> f64, power: i32| over_at(pace, figure, power);
        // What transfers were longer by says nothing of syncs.
        let latencies = |of: &dyn Fn(&Outcome) -> &Histogram, are_transfers: bool| {
            let mut least = 0.0_f64;
            let estimates = SHARES.map(|share| {
                let plain = |one: &Outcome| of(one).quantile(share) as f64 * one.ns_per_tick;
                let estimate = match (known, drawn.first()) {
                    (Known::OfClass(seen, _), Some(one)) if are_transfers => {
                        let of = |one: &Outcome| seen.latency(share, of(one).count(), plain(one));
                        of(one).reaching(runs.others().map(of))
                    }
                    _ => over_at(Pace::default(), &plain, -1),
                };
                // Factors of neighbours differ, and what fewer calls exceed is no shorter.
                least = least.max(estimate.value);
                Estimate { value: least, high: estimate.high.max(least), ..estimate }
            });
            let [median_ns, p90_ns, p99_ns, p999_ns] = estimates;
            let mean_ns = over_at(Pace::default(), &|one| of(one).mean() * one.ns_per_tick, -1);
            Latencies {
                calls: drawn.first().map_or(0, |one| of(one).count()),
                mean_ns,
                median_ns,
                p90_ns,
                p99_ns,
                p999_ns,
            }
        };
        let side = |direction: Direction| Side {
            direction: direction.name().to_owned(),
            bytes: drawn.first().map_or(0, |one| one.transfers[direction as usize].bytes),
            bytes_per_second: over(&|one| one.bytes_per_second(direction), 1),
            calls_per_second: over(&|one| one.iops(direction), 1),
            latency: latencies(&|one| &one.transfers[direction as usize].latency, true),
        };
        let has_syncs = drawn.first().is_some_and(|one| one.syncs.count() > 0);
        Self {
            name: name.to_owned(),
            elapsed_ns: over(&|one| one.elapsed_ns as f64, -1),
            sides: directions.iter().copied().map(side).collect(),
            syncs: has_syncs.then(|| latencies(&|one| &one.syncs, false)),
            class,
            caveats: Vec::new(),
        }
    }
}

/// The spread of a model's errors on jobs of a class. A class that was never checked gets the widest spread of the
/// others.
pub(super) fn own_error(class: &str, model: &Model) -> f64 {
    let worst = model.residuals.values().map(|residual| residual.spread).fold(0.0, f64::max);
    model.residuals.get(class).map_or(worst, |residual| residual.spread)
}

/// What to say of a class whose single runs fell into one of two states.
fn states(class: &str, model: &Model) -> Option<String> {
    let residual = model.residuals.get(class)?;
    let [slow, fast] = residual.states[..] else { return None };
    let of_predicted = |state: State| format!("{:.0} %", state.factor / residual.factor * 100.0);
    Some(format!(
        "a run is in one of two states: of those that were compared, {:.0} % ran at about {} of the rate above, the others at about {}",
        slow.share * 100.0,
        of_predicted(slow),
        of_predicted(fast),
    ))
}

/// What to say of a class that a model was never held against.
pub(super) fn unvalidated(class: &str, model: &Model) -> Option<String> {
    let unknown = !model.residuals.contains_key(class);
    unknown
        .then(|| format!("modelled, not validated: no run was compared with this model in the class {class}"))
}

#[cfg(test)]
mod tests {
    use fathom_program::job::Blocks;

    use super::super::tests::{QUICK, job, silent};
    use super::super::{Settings, predict};
    use super::*;
    use crate::model::{Origin, Parameter, Scalar};

    #[test]
    fn intervals_reach_to_the_rate_with_free_memory_that_a_host_has_taken() {
        let mut model = silent();
        model.set("taken_byte=2").unwrap();
        let forecast = |model: &Model, direct: bool, read_percent: u8| {
            let one = Job { direct, read_percent, ..job("new") };
            predict(&[one], model, QUICK).unwrap().forecasts.remove(0)
        };
        for read_percent in [0, 100] {
            let there = forecast(&model, false, read_percent);
            let mut taken = model.clone();
            taken.set("free_memory=taken").unwrap();
            let taken = forecast(&taken, false, read_percent);
            let [fast, slow] = [&there, &taken].map(|one| one.sides[0].bytes_per_second);
            let bytes = (1 << 20) as f64;
            // Read-ahead goes on meanwhile.
            let most = 2.001e-9 * bytes;
            let longer = bytes / slow.value - bytes / fast.value;
            assert!(
                longer > most * if read_percent == 0 { 0.99 } else { 0.4 } && longer < most,
                "{fast:?} {slow:?}"
            );
            assert!(fast.low <= slow.value && slow.high >= fast.value);
            let says = |forecast: &Forecast, there: f64, taken: f64| {
                let [there, taken] = [there, taken].map(|rate| format!("{:.0} %", rate * 100.0));
                let is_said = |caveat: &&String| {
                    caveat.contains(&format!("there it is {there} of")) && caveat.ends_with(&taken)
                };
                assert!(forecast.caveats.iter().any(|one| is_said(&one)), "{:?}", forecast.caveats);
            };
            says(&there, 1.0, slow.value / fast.value);
            says(&taken, fast.value / slow.value, 1.0);
            let direct = forecast(&model, true, read_percent);
            // A server on this machine has a page cache of its own.
            let mut served = model.clone();
            served.set("write_through=4K").unwrap();
            let large = Job { direct: true, read_percent, blocks: [Blocks::fixed(1 << 18); 2], ..job("new") };
            let fills = predict(&[large], &served, QUICK).unwrap().forecasts.remove(0).caveats;
            assert_eq!(fills.iter().any(|caveat| caveat.contains("free memory")), read_percent == 0);
            assert!(!direct.caveats.iter().any(|caveat| caveat.contains("free memory")));
            // A quarter of it, as the checks of this class found.
            let class = there.class.clone();
            let seen =
                Residual { factor: 1.0, spread: 0.01, taken: Some(0.25), jobs: 4, ..Residual::default() };
            for free_memory in ["there", "taken"] {
                let mut model = model.clone();
                model.set(&format!("free_memory={free_memory}")).unwrap();
                model.residuals.insert(class.clone(), seen.clone());
                let some = forecast(&model, false, read_percent).sides[0].bytes_per_second;
                let wanted = (0.75 / fast.value + 0.25 / slow.value).recip();
                assert!((some.value / wanted - 1.0).abs() < 1e-6, "{some:?} {wanted}");
                assert!(some.low <= slow.value && some.high >= fast.value, "{some:?}");
            }
        }
    }

    #[test]
    fn intervals_carry_those_of_the_parameters_and_the_model_s_own_error() {
        let mut model = silent();
        let call = Parameter { value: 400.0, interval: Some([320.0, 480.0]), origin: Origin::Measured };
        model.parameters.put(Scalar::Call, call);
        let jobs = [Job { pre_read: true, ..job("cached") }];
        let rate = |model: &Model| {
            predict(&jobs, model, Settings { draws: 60, seed: 3 }).unwrap().forecasts[0].sides[0]
                .bytes_per_second
        };
        let narrow = rate(&model);
        // A deviation of the call is 40.8 of 810 ns.
        let reach = (narrow.high / narrow.value).ln();
        assert!((reach - 1.645 * 40.8 / 810.0).abs() < 0.03, "{reach}");
        let tail = |share, factor| Tail { share, factor, added_ns: 0.0, spread: 0.2 };
        let latencies = vec![tail(0.5, 1.0), tail(0.99, 1.5)];
        let residual = Residual {
            jobs: 4,
            mean_error: 0.1,
            factor: 1.0,
            spread: 0.12,
            freedom: 4,
            latencies,
            ..Residual::default()
        };
        model.residuals.insert("cached_sequential_read".to_owned(), residual);
        let seen = rate(&model);
        // Student's t of four freedoms.
        assert!(((seen.high / seen.value).ln() - 2.132 * 0.12).abs() < 1e-3, "{seen:?}");
        let predicted = predict(&jobs, &model, Settings::default()).unwrap();
        let latency = &predicted.forecasts[0].sides[0].latency;
        assert!((latency.p99_ns.value / latency.median_ns.value - 1.5).abs() < 0.02, "{latency:?}");
        assert!(latency.p999_ns.value >= latency.p99_ns.value);
    }

    #[test]
    fn the_longest_of_a_few_calls_is_none_of_a_hundred() {
        let tail = |share, factor, added_ns| Tail { share, factor, added_ns, spread: 0.1 };
        let latencies =
            vec![tail(0.5, 1.0, 0.0), tail(0.9, 1.2, 10.0), tail(0.99, 2.0, 110.0), tail(0.999, 4.0, 210.0)];
        let residual = Residual { latencies, factor: 1.0, ..Residual::default() };
        let predicted = |share, calls| residual.latency(share, calls, 1000.0).value;
        // Among very many calls each level is its own.
        let many = [0.5, 0.9, 0.99, 0.999].map(|share| predicted(share, 100_000_000));
        for (predicted, wanted) in many.into_iter().zip([1000.0, 1210.0, 2110.0, 4210.0]) {
            assert!((predicted / wanted - 1.0).abs() < 1e-4, "{many:?}");
        }
        // Of three the longest lies at 0.8: log(0.5 / 0.2) / log(5) of the way from 0.5 to 0.9.
        let way = 2.5_f64.ln() / 5.0_f64.ln();
        let longest = 1000.0 * (way * 1.2_f64.ln()).exp() + way * 10.0;
        assert!([0.9, 0.99, 0.999].iter().all(|&share| (predicted(share, 3) - longest).abs() < 1e-6));
        // Of 24 it lies between the two levels around it, of 1,000 nearly at its own.
        assert!(predicted(0.99, 24) > 1210.0 && predicted(0.99, 24) < 2110.0);
        assert!((predicted(0.99, 1_000) / 2110.0 - 1.0).abs() < 0.02);
        assert_eq!(
            [predicted(0.99, 1), predicted(0.5, 2), predicted(0.99, 0)].map(f64::round),
            [1000.0, 1000.0, 2110.0]
        );
        let held = Residual { held_from_ns: Some(900.0), ..residual.clone() };
        assert_eq!(held.latency(0.99, 1_000, 1000.0).value, 1000.0, "a wait for the next slice is declared");
        assert_eq!(held.latency(0.99, 1_000, 800.0), residual.latency(0.99, 1_000, 800.0));
    }

    #[test]
    fn the_interval_of_a_job_that_ends_as_a_slice_does_reaches_into_the_next() {
        let mut model = silent();
        [
            "device=token_bucket",
            "limit_slice=100ms",
            "limit_read_rate=10M",
            "submission=0",
            "device_latency=1us",
        ]
        .iter()
        .for_each(|typed| model.set(typed).unwrap());
        let residual = Residual { jobs: 40, spread: 0.001, factor: 1.0, ..Default::default() };
        model.residuals.insert("cold_sequential_read".to_owned(), residual);
        let rate = |kib: u64| {
            let cold = Job { blocks: [Blocks::fixed(16 << 10); 2], size: Some(kib << 10), ..job("cold") };
            predict(&[cold], &model, Settings::default()).unwrap().forecasts[0].sides[0].bytes_per_second
        };
        let wide = |rate: Estimate| (rate.high / rate.low).ln();
        // Slices of one MiB: a job of 4.9 MiB waits for four of them, with a little more or less for the same; one of 5 MiB
        // may wait for five.
        let [within, at_its_end] = [4_500, 5_120].map(rate).map(wide);
        assert!(within < 0.06 && at_its_end > 0.15, "{within} {at_its_end}");
    }
}
