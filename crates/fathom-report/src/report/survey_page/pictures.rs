//! The figures of one question: its readings, and the answer drawn into them.

mod ages;
mod marks;
mod trials;
mod views;

use crate::report::figure;
use fathom_run::samples::Samples;
use fathom_survey::experiment::Figure;

pub(super) use self::marks::Answer;

/// The figures of an answer from the runs that it rests on.
pub(super) fn of(answer: &Answer<'_>, runs: &[Samples]) -> Vec<figure::Figure> {
    if runs.is_empty() {
        return trials::trials(answer).into_iter().collect();
    }
    let (first, second) = match answer.figure() {
        Figure::Comb => (views::sweep(answer, runs), views::folded(answer, runs)),
        Figure::Interleaved => (views::interleaved(answer, runs), None),
        Figure::Probes => (views::probes(answer, runs), None),
        Figure::CostLine { call, page, page_bytes } => {
            (views::cost_line(answer, runs, [call, page], page_bytes), None)
        }
        Figure::Rates => (views::rates(answer, runs), None),
        Figure::Ages => (ages::ages(answer, runs), views::spread(answer, runs)),
        Figure::Sweep { .. } if views::longest(runs).is_some() => (views::sweep(answer, runs), None),
        Figure::Sweep { .. } | Figure::Spread | Figure::Extents => {
            (views::quantiles(answer), views::spread(answer, runs))
        }
    };
    first.into_iter().chain(second).collect()
}
