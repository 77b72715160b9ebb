//! What differs between results of different kernels, mounts or days, and whether that is more than noise.
//!
//! What a format or a setting fixes (a block, a window, a scheme) is compared as it is: such an answer is exact
//! or silent. What a machine takes or holds (times, rates, capacities) is compared by its ratio. The interval of
//! one result does not hold what moves from one run to the next, such as where memory lies, the processor's
//! pace or the neighbours of a virtual machine; no single run can see that. So a difference is told only where
//! the ratio is proven to leave a margin. All ratios together share the stated rate of false alarms (Bonferroni).

use std::collections::BTreeMap;

use fathom_stats::{Estimate, Interval, difference};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use fathom_program::units::Bytes;
use fathom_run::provenance::Provenance;
use fathom_speed::curve::{Curve, Point};
use fathom_survey::experiment::{self, Experiment, Nature};
use fathom_survey::finding::{Evidence, Finding, Kind, Value};
use fathom_survey::survey::Survey;

/// The schema of a written [`Comparison`].
pub const SCHEMA: &str = "fathom.comparison/1";

/// A result that can be compared with another of its kind.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// A survey.
    Survey(Box<Survey>),
    /// Curves.
    Curve(Box<Curve>),
}

/// How sure and how large a difference must be to be reported.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// The share of comparisons of equal things that may report any difference: 0.05.
    pub rate: f64,
    /// The least difference of a quantity, as a share: 0.5 is half as much again, or a third less. For sizes that also depend on
    /// free memory: [`DRIFT`] of that.
    pub margin: f64,
}

/// A whole comparison, as it is written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "fathom.comparison/1")]
pub struct Comparison {
    /// Always `fathom.comparison/1`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// The version of Fathom that wrote it.
    pub version: String,
    /// The share of comparisons of equal things that may report any difference.
    pub rate: f64,
    /// The least difference of a quantity, as a share.
    pub margin: f64,
    /// The number of ratios that shared the rate.
    pub ratios: u64,
    /// The compared results; the others are compared with the first.
    pub results: Vec<Side>,
    /// Other differences between the results: kernel, mount, device.
    pub circumstances: Vec<Circumstance>,
    /// One entry per parameter or point and result.
    pub items: Vec<Item>,
}

/// One of the compared results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Side {
    /// The path that the result was read from.
    pub path: String,
    /// When the measurement began.
    pub started: String,
    /// The directory that was measured.
    pub mount: String,
}

/// A difference in the machine or mount of a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Circumstance {
    /// The result, by its place.
    pub result: u64,
    /// What differs: `kernel`.
    pub what: String,
    /// Its value in the first result.
    pub first: String,
    /// Its value in this result.
    pub other: String,
}

/// One parameter or point compared with that of the first result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Item {
    /// The result, by its place.
    pub result: u64,
    /// The parameter, or the point in words.
    pub what: String,
    /// The unit of the values.
    pub unit: String,
    /// Whether the two results differ in it.
    pub verdict: Verdict,
    /// The pairs that were compared, each of the same kind.
    pub pairs: Vec<Pair>,
}

/// Whether something differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The values are the same, or within the margin.
    Same,
    /// The two results have nothing of the same kind.
    Incomparable,
    /// The intervals allow both.
    Unclear,
    /// The values differ.
    Different,
}

/// A value that both results found in the same way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pair {
    /// The kind of evidence; nothing for a point of a curve.
    pub kind: Option<Kind>,
    /// The method that found it.
    pub method: String,
    /// The value of the first result.
    pub first: Value,
    /// The value of this result.
    pub other: Value,
    /// The value of this result divided by the first: the estimate and the interval at the shared rate; nothing where values are
    /// fixed.
    pub ratio: Option<[f64; 3]>,
    /// Whether the values differ.
    pub verdict: Verdict,
}

/// Figures that drift have this part of the margin: from one run to the next they move by a twenty-fifth, and times by a
/// fifth (standard deviations of logarithms, docs/notes/2026-11-repeatability.md).
pub const DRIFT: f64 = 0.5;

/// Unsteady figures have this many times the margin: on a loop device in memory one moved by a factor of seven from one run to
/// the next (docs/notes/2026-11-repeatability.md), and a single run does not show whether its device is unsteady.
pub const UNREST: f64 = 10.0;

/// The confidence of the intervals in results.
const LEVEL: f64 = 0.95;

/// Two of the same that were found in the same way.
struct Like {
    kind: Option<Kind>,
    method: String,
    nature: Nature,
    values: [Value; 2],
    intervals: [Option<[f64; 2]>; 2],
}

/// What is compared under one name.
struct Topic {
    result: u64,
    what: String,
    unit: String,
    likes: Vec<Like>,
}

/// Compares every result with the first; `registry` knows how answers to its questions are compared.
///
/// # Errors
/// One sentence where there are fewer than two, or not all of one kind.
pub fn compare(
    outcomes: &[(String, Outcome)],
    rules: Rules,
    registry: &[&'static dyn Experiment],
) -> Result<Comparison, String> {
    let [(first_path, first), others @ ..] = outcomes else {
        return Err("there is nothing to compare".to_owned());
    };
    if others.is_empty() {
        return Err("one result alone can't be compared: name another".to_owned());
    }
    let mut topics = Vec::new();
    for (result, (path, other)) in (1..).zip(others) {
        topics.extend(match (first, other) {
            (Outcome::Survey(first), Outcome::Survey(other)) => of_surveys(result, first, other, registry),
            (Outcome::Curve(first), Outcome::Curve(other)) => of_curves(result, first, other),
            _ => return Err(format!("{first_path} and {path} are results of different commands")),
        });
    }
    let ratios = topics.iter().flat_map(|topic| &topic.likes).filter(|like| like.numbers().is_some()).count();
    let confidence = 1.0 - rules.rate / ratios.max(1) as f64;
    Ok(Comparison {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        rate: rules.rate,
        margin: rules.margin,
        ratios: ratios as u64,
        results: outcomes.iter().map(|(path, outcome)| side(path, outcome.provenance())).collect(),
        circumstances: (1..)
            .zip(others)
            .flat_map(|(result, (_, other))| circumstances(result, first.provenance(), other.provenance()))
            .collect(),
        items: topics.into_iter().map(|topic| topic.judged(confidence, rules.margin)).collect(),
    })
}

impl Comparison {
    /// Whether anything that was compared differs.
    pub fn has_differences(&self) -> bool {
        self.items.iter().any(|item| item.verdict == Verdict::Different)
    }

    /// Whether anything could be compared at all.
    pub fn is_empty(&self) -> bool {
        self.items.iter().all(|item| item.verdict == Verdict::Incomparable)
    }
}

impl Outcome {
    fn provenance(&self) -> &Provenance {
        match self {
            Outcome::Survey(survey) => &survey.provenance,
            Outcome::Curve(curve) => &curve.provenance,
        }
    }
}

fn of_surveys(
    result: u64,
    first: &Survey,
    other: &Survey,
    registry: &[&'static dyn Experiment],
) -> Vec<Topic> {
    let topic = |finding: &Finding| {
        let same = other.finding(&finding.parameter)?;
        let experiment = experiment::find(registry, &finding.parameter);
        let nature = experiment.map_or(Nature::Moving, |experiment| experiment.about().nature);
        let likes = finding.evidence.iter().filter_map(|piece| like(nature, piece, same)).collect();
        Some(Topic { result, what: finding.parameter.clone(), unit: finding.unit.clone(), likes })
    };
    first.findings.iter().filter_map(topic).collect()
}

/// The same method's answer in both. A declaration counts where its question was refused, too: it was not
/// weighed then, but it was read.
fn like(nature: Nature, piece: &Evidence, other: &Finding) -> Option<Like> {
    let same = other.evidence.iter().find(|one| one.kind == piece.kind && one.method == piece.method)?;
    Some(Like {
        kind: Some(piece.kind),
        method: piece.method.clone(),
        nature,
        values: [piece.value.clone()?, same.value.clone()?],
        intervals: [piece.interval, same.interval],
    })
}

fn of_curves(result: u64, first: &Curve, other: &Curve) -> Vec<Topic> {
    let points: BTreeMap<_, &Point> = other.points.iter().map(|point| (point.setting, point)).collect();
    let topic = |point: &Point| {
        let setting = point.setting;
        let same = points.get(&setting)?;
        let pair = point.bytes_per_second.zip(same.bytes_per_second);
        let likes = pair.map(|(one, two)| Like {
            kind: None,
            method: "median_rate".to_owned(),
            nature: Nature::Moving,
            values: [Value::Real(one), Value::Real(two)],
            intervals: [point.bytes_per_second_interval, same.bytes_per_second_interval],
        });
        let what = format!(
            "{}, file of {}, {}",
            setting.family().name(),
            Bytes(setting.file_bytes),
            Bytes(setting.block_bytes)
        );
        Some(Topic { result, what, unit: "bytes_per_second".to_owned(), likes: likes.into_iter().collect() })
    };
    first.points.iter().filter_map(topic).collect()
}

impl Like {
    /// Both as numbers with intervals, where they are quantities.
    fn numbers(&self) -> Option<[Estimate; 2]> {
        if matches!(self.nature, Nature::Fixed | Nature::Incidental) {
            return None;
        }
        let number = |at: usize| {
            let value = self.values[at].as_number().filter(|&value| value > 0.0)?;
            let [low, high] = self.intervals[at].unwrap_or([value, value]);
            Some(Estimate { value, interval: Interval { low, high }, level: LEVEL })
        };
        Some([number(0)?, number(1)?])
    }

    fn judged(self, confidence: f64, margin: f64) -> Pair {
        let ratio = self.numbers().and_then(|[first, other]| difference::ratio(&first, &other, confidence));
        let margin = match self.nature {
            Nature::Drifting => DRIFT * margin,
            Nature::Unsteady => UNREST * margin,
            Nature::Fixed | Nature::Incidental | Nature::Moving => margin,
        };
        let verdict = match &ratio {
            Some(ratio) => beyond(ratio.interval, 1.0 + margin),
            None if self.values[0] == self.values[1] => Verdict::Same,
            None if self.nature == Nature::Incidental => Verdict::Unclear,
            None => Verdict::Different,
        };
        let [first, other] = self.values;
        let ratio = ratio.map(|ratio| [ratio.value, ratio.interval.low, ratio.interval.high]);
        Pair { kind: self.kind, method: self.method, first, other, ratio, verdict }
    }
}

/// Whether an interval lies outside of, inside of or across the factors that count as none.
fn beyond(Interval { low, high }: Interval, factor: f64) -> Verdict {
    if low > factor || high < 1.0 / factor {
        Verdict::Different
    } else if high <= factor && low >= 1.0 / factor {
        Verdict::Same
    } else {
        Verdict::Unclear
    }
}

impl Topic {
    fn judged(self, confidence: f64, margin: f64) -> Item {
        let pairs: Vec<Pair> = self.likes.into_iter().map(|like| like.judged(confidence, margin)).collect();
        // The order of verdicts is that of what they weigh.
        let verdict = pairs.iter().map(|pair| pair.verdict).max().unwrap_or(Verdict::Incomparable);
        Item { result: self.result, what: self.what, unit: self.unit, verdict, pairs }
    }
}

fn side(path: &str, provenance: &Provenance) -> Side {
    Side {
        path: path.to_owned(),
        started: provenance.started.clone(),
        mount: format!("{} on {}", provenance.mount.fs_type, provenance.mount.path),
    }
}

fn circumstances(result: u64, first: &Provenance, other: &Provenance) -> Vec<Circumstance> {
    let facts = |from: &Provenance| {
        let (machine, mount) = (&from.machine, &from.mount);
        let device = serde_json::to_string(&mount.device).unwrap_or_default();
        [
            ("version of Fathom", from.version.clone()),
            ("kernel", machine.kernel.clone()),
            ("processor", format!("{}, {} CPUs", machine.arch, machine.cpus)),
            ("memory", Bytes(machine.memory_bytes).to_string()),
            ("virtualisation", machine.virtualisation.clone()),
            ("file system", mount.fs_type.clone()),
            ("mounted from", mount.source.clone()),
            ("mount options", mount.options.clone()),
            ("device", device),
            ("clock", from.instrument.clock.clone()),
        ]
    };
    let pairs = facts(first).into_iter().zip(facts(other));
    pairs
        .filter(|((_, one), (_, two))| one != two)
        .map(|((what, first), (_, other))| Circumstance { result, what: what.to_owned(), first, other })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn like(is_fixed: bool, values: [f64; 2], widths: f64) -> Like {
        let interval = |value: f64| Some([value / (1.0 + widths), value * (1.0 + widths)]);
        Like {
            kind: Some(Kind::Timing),
            method: "m".to_owned(),
            nature: if is_fixed { Nature::Fixed } else { Nature::Moving },
            values: values.map(Value::Real),
            intervals: values.map(interval),
        }
    }

    fn verdict(is_fixed: bool, values: [f64; 2], widths: f64) -> Verdict {
        like(is_fixed, values, widths).judged(0.99, 0.5).verdict
    }

    #[test]
    fn what_is_fixed_differs_or_not_and_a_quantity_must_leave_the_margin() {
        assert_eq!(verdict(true, [4096.0, 4096.0], 0.0), Verdict::Same);
        assert_eq!(verdict(true, [4096.0, 4097.0], 0.0), Verdict::Different);
        assert_eq!(verdict(false, [100.0, 140.0], 0.01), Verdict::Same);
        assert_eq!(verdict(false, [100.0, 160.0], 0.01), Verdict::Different);
        assert_eq!(verdict(false, [160.0, 100.0], 0.01), Verdict::Different);
        assert_eq!(verdict(false, [100.0, 160.0], 0.2), Verdict::Unclear);
        assert_eq!(verdict(false, [100.0, 100.0], 0.6), Verdict::Unclear);
    }

    #[test]
    fn a_size_that_a_setting_fixes_but_for_what_is_free_has_a_narrower_margin() {
        let drifting = |other: f64| Like { nature: Nature::Drifting, ..like(false, [100.0, other], 0.0) };
        assert_eq!(drifting(110.0).judged(0.99, 0.75).verdict, Verdict::Same);
        assert_eq!(drifting(150.0).judged(0.99, 0.75).verdict, Verdict::Different);
    }

    #[test]
    fn a_sync_differs_where_it_takes_many_times_as_long() {
        let syncs = |other: f64| Like { nature: Nature::Unsteady, ..like(false, [121.0, other], 0.0) };
        assert_eq!(syncs(879.0).judged(0.99, 0.75).verdict, Verdict::Same);
        assert_eq!(syncs(1210.0).judged(0.99, 0.75).verdict, Verdict::Different);
    }

    #[test]
    fn what_free_space_decides_is_no_difference() {
        let runs = |other: f64| Like { nature: Nature::Incidental, ..like(false, [80.0, other], 0.0) };
        assert_eq!(runs(80.0).judged(0.99, 0.75).verdict, Verdict::Same);
        assert_eq!(runs(120.0).judged(0.99, 0.75).verdict, Verdict::Unclear);
    }

    #[test]
    fn nothing_and_something_differ_where_a_ratio_has_no_meaning() {
        assert_eq!(verdict(false, [0.0, 0.0], 0.0), Verdict::Same);
        assert_eq!(verdict(false, [0.0, 5.0], 0.0), Verdict::Different);
    }
}
