//! How steady a job was, as fio tells it.

use std::fmt::Write as _;

use serde::Serialize;

use super::Entry;
use fathom_run::load::Steadiness;

#[derive(Serialize)]
pub(super) struct SteadyState {
    /// The option, as fio writes it again.
    ss: String,
    duration: u64,
    attained: u8,
    criterion: String,
    max_deviation: f64,
    slope: f64,
    data: Rates,
}

#[derive(Serialize)]
struct Rates {
    bw_mean: u64,
    iops_mean: u64,
    iops: Vec<u64>,
    bw: Vec<u64>,
}

impl SteadyState {
    pub(super) fn of(state: &Steadiness) -> Self {
        let rule = state.rule;
        let [iops_mean, bw_mean] = state.means();
        let rates = |kind: usize| state.rates.iter().map(|rate| rate[kind]).collect();
        let percent = if rule.percent { "%" } else { "" };
        let [kind, slope] = words(state);
        Self {
            ss: format!("{kind}{}:{:.6}{percent}", slope.replace(' ', "_"), rule.limit),
            duration: rule.duration.as_secs(),
            attained: state.is_attained.into(),
            criterion: format!("{:.6}{percent}", state.criterion),
            max_deviation: state.deviation,
            slope: state.slope,
            data: Rates { bw_mean, iops_mean, iops: rates(0), bw: rates(1) },
        }
    }
}

/// What must be steady, and whether by its slope.
fn words(state: &Steadiness) -> [&'static str; 2] {
    [if state.rule.bandwidth { "bw" } else { "iops" }, if state.rule.slope { " slope" } else { "" }]
}

impl Entry {
    pub(super) fn normal_steady_state(&self, text: &mut String) {
        let Some(state) = &self.about.steadiness else { return };
        let [iops, bytes] = state.means();
        // fio takes thousands of the one kind for those of the other.
        let base = u64::from(self.about.reporting.kb_base);
        let thousands = bytes / base;
        let [rate, _] = self.rate(thousands * base);
        let [_, other] = self.rate(thousands * if base == 1024 { 1000 } else { 1024 });
        let iops = self.shortened().text(iops, "");
        let [kind, slope] = words(state);
        let how = if slope.is_empty() { " mean dev" } else { slope };
        let _ = writeln!(
            text,
            "  steadystate  : attained={}, bw={rate} ({other}), iops={iops}, {kind}{how}={:.3}{}",
            if state.is_attained { "yes" } else { "no" },
            state.criterion,
            if state.rule.percent { "%" } else { "" }
        );
    }
}
