//! An answer as marks: what each kind of evidence says, where a figure can show it.

use crate::report::figure::{Mark, Origin, Rounded, Shape};
use fathom_survey::experiment::{About, Along, Experiment, Figure};
use fathom_survey::finding::{Evidence, Finding, Kind, Status, Value};
use fathom_survey::survey::Survey;

/// A finding next to the others of its survey, and what is known of its question.
pub(in super::super) struct Answer<'a> {
    survey: &'a Survey,
    pub(super) finding: &'a Finding,
    experiment: Option<&'static dyn Experiment>,
}

/// Pieces of evidence that say the same.
pub(super) struct Said<'a> {
    value: &'a Value,
    /// The value and the kinds of evidence that say it.
    name: String,
    origin: Origin,
    interval: Option<[f64; 2]>,
}

/// Upright lines that a figure can hold without becoming a wall.
const MOST_TEETH: usize = 4000;

impl<'a> Answer<'a> {
    pub(in super::super) fn new(
        survey: &'a Survey,
        finding: &'a Finding,
        experiment: Option<&'static dyn Experiment>,
    ) -> Self {
        Self { survey, finding, experiment }
    }

    /// How the readings are drawn.
    pub(super) fn figure(&self) -> Figure {
        self.experiment.map_or(About::USUAL.figure, |experiment| experiment.about().figure)
    }

    /// The name of the finding's next figure.
    pub(super) fn id(&self, number: usize) -> String {
        format!("{}-{number}", self.finding.parameter)
    }

    /// What was said, each value once, with all that say it.
    pub(super) fn said(&self) -> Vec<Said<'a>> {
        let mut said: Vec<(&Value, Vec<&Evidence>)> = Vec::new();
        let measured = self.finding.evidence.iter().filter(|piece| piece.status == Status::Measured);
        for (piece, value) in measured.filter_map(|piece| Some((piece, piece.value.as_ref()?))) {
            match said.iter_mut().find(|(known, _)| *known == value) {
                Some((_, pieces)) => pieces.push(piece),
                None => said.push((value, vec![piece])),
            }
        }
        said.into_iter()
            .map(|(value, pieces)| {
                let mut kinds: Vec<String> = pieces.iter().map(|piece| piece.kind.to_string()).collect();
                kinds.dedup();
                let kinds = kinds.join(", ");
                let name = match value {
                    // A legend has no room for a list, which stands above the figure.
                    Value::List(_) => kinds,
                    value => format!("{}: {kinds}", value.in_words(&self.finding.unit)),
                };
                let interval =
                    pieces.iter().find_map(|piece| piece.interval.filter(|[low, high]| low < high));
                Said { value, name, origin: origin(pieces[0].kind), interval }
            })
            .collect()
    }

    /// The number that another question of the survey found.
    pub(super) fn other(&self, parameter: &str) -> Option<f64> {
        self.survey.finding(parameter)?.value.as_ref()?.as_number()
    }

    /// The period of a comb or of windows: as timing found it, else the finding's value.
    pub(super) fn period(&self) -> Option<f64> {
        let value = self.finding.answer(Kind::Timing).or(self.finding.value.as_ref());
        value.and_then(Value::as_number).filter(|&period| period > 0.0)
    }

    /// The answer along a file of `length` bytes; `slowest` is where the slowest readings of a period stand.
    pub(super) fn along(&self, length: f64, slowest: &dyn Fn(f64) -> f64) -> Vec<Mark> {
        let others = |parameter: &str| self.other(parameter);
        let place = |said: Said<'_>| -> Vec<Mark> {
            let Said { value, name, origin, interval } = said;
            let along = self.experiment.and_then(|it| it.along(value, self.finding, &others));
            let Some(along) = along else { return Vec::new() };
            match along {
                Along::At(at) => edges(name, origin, at, interval),
                Along::FromEnd(at) => {
                    let band = interval.map(|ends| ends.map(|end| length - end));
                    edges(name, origin, length - at, band)
                }
                Along::Every { first, period } => teeth(name, origin, first, period, length),
                Along::EveryWait { period } => teeth(name, origin, slowest(period), period, length),
                Along::Ends { what, at } => vec![Mark::at(format!("{what} end: {name}"), origin, at)],
            }
        };
        let marks = self.said().into_iter().flat_map(place);
        // What lies outside of what was looked at can't be drawn there.
        marks
            .filter(|mark| !matches!(&mark.shape, Shape::At { x } if x.iter().all(|x| x.0 > length)))
            .collect()
    }

    /// The answer as a size, upright.
    pub(super) fn upright(&self) -> Vec<Mark> {
        let numbers = self.said().into_iter().filter_map(|said| Some((said.value.as_number()?, said)));
        numbers.flat_map(|(value, said)| edges(said.name, said.origin, value, said.interval)).collect()
    }
}

fn origin(kind: Kind) -> Origin {
    match kind {
        Kind::Timing => Origin::Timing,
        Kind::Witness => Origin::Witness,
        Kind::Declared => Origin::Declared,
    }
}

fn teeth(name: String, origin: Origin, first: f64, period: f64, length: f64) -> Vec<Mark> {
    let count = ((length - first) / period).floor();
    if period <= 0.0 || count < 0.0 {
        return Vec::new();
    }
    let count = (count as usize).min(MOST_TEETH);
    vec![Mark::at(format!("every {name}"), origin, (0..=count).map(|tooth| first + tooth as f64 * period))]
}

/// An upright line with the band of its interval.
fn edges(name: String, origin: Origin, at: f64, interval: Option<[f64; 2]>) -> Vec<Mark> {
    let band = interval.map(|[low, high]| {
        let x = [low.min(high), low.max(high)].map(Rounded);
        Mark::new(format!("interval of {name}"), origin, Shape::Between { x })
    });
    band.into_iter().chain([Mark::at(name, origin, [at])]).collect()
}
