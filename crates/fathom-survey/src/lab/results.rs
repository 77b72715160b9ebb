//! The lab's report as it is written to a file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Surveyed;
use super::score::{ParameterScore, Score, Scored};
use super::unbuilt::Unbuilt;
use crate::case::Case;
use crate::finding::{Finding, Kind};

/// The schema of a written [`LabReport`].
pub const SCHEMA: &str = "fathom.lab/1";

/// Every case with its scores, and the totals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "fathom.lab/1")]
pub struct LabReport {
    /// Always `fathom.lab/1`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// The version of Fathom that wrote it.
    pub version: String,
    /// When the first case began: RFC 3339.
    pub started: String,
    /// Name and release of the kernel.
    pub kernel: String,
    /// The kinds of evidence that were gathered.
    pub evidence: Vec<Kind>,
    /// Every case, in the order in which they were run.
    pub cases: Vec<CaseReport>,
    /// The scores of the findings, by parameter.
    pub totals: Vec<Total>,
    /// The scores of timing alone, by parameter; empty where timing was not asked.
    pub timing_totals: Vec<Total>,
}

/// One case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaseReport {
    /// The case's name.
    pub name: String,
    /// The file system's type.
    pub fs_type: String,
    /// What came of the case.
    pub outcome: OutcomeName,
    /// Why the case was not surveyed, in one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The time from building the file system to removing it, in ns; zero where it was not surveyed.
    pub duration_ns: u64,
    /// The score of each parameter.
    pub parameters: Vec<ParameterScore>,
    /// The findings with all their evidence.
    pub findings: Vec<Finding>,
}

/// What came of a case, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeName {
    /// The file system was built and surveyed.
    Surveyed,
    /// Something that could be installed or freed is missing.
    Skipped,
    /// The kernel can't mount the file system.
    Unsupported,
    /// Building or surveying the file system failed.
    Failed,
}

/// How often a parameter was found over all surveyed cases.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Total {
    /// The parameter.
    pub parameter: String,
    /// The number of right answers.
    pub right: u32,
    /// The number of wrong answers.
    pub wrong: u32,
    /// The number of cases without an answer.
    pub silent: u32,
    /// The number of answers that cannot be judged.
    pub not_scored: u32,
    /// Answers, judged or not, as a share of all; 1 where nothing was asked.
    pub answered_share: f64,
}

impl LabReport {
    /// A report of `cases`, begun at `started` (RFC 3339).
    pub fn new(started: String, kernel: String, evidence: &[Kind], cases: Vec<CaseReport>) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started,
            kernel,
            evidence: evidence.to_vec(),
            totals: totals(&cases, |parameter| Some(&parameter.finding)),
            timing_totals: totals(&cases, |parameter| parameter.timing.as_ref()),
            cases,
        }
    }

    /// Whether any finding is wrong or any case failed.
    pub fn has_wrong(&self) -> bool {
        self.totals.iter().any(|total| total.wrong > 0)
            || self.cases.iter().any(|case| case.outcome == OutcomeName::Failed)
    }
}

impl CaseReport {
    pub(super) fn of(case: &Case, surveyed: Result<Surveyed, Unbuilt>) -> Self {
        let mut report = Self {
            name: case.name.clone(),
            fs_type: case.fs_type.clone(),
            outcome: OutcomeName::Surveyed,
            reason: None,
            duration_ns: 0,
            parameters: Vec::new(),
            findings: Vec::new(),
        };
        (report.outcome, report.reason) = match surveyed {
            Ok((answers, scores, duration)) => {
                report.duration_ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
                report.parameters = scores;
                report.findings = answers.into_iter().map(|answer| answer.finding).collect();
                (OutcomeName::Surveyed, None)
            }
            Err(Unbuilt::Skipped(reason)) => (OutcomeName::Skipped, Some(reason)),
            Err(Unbuilt::Unsupported(reason)) => (OutcomeName::Unsupported, Some(reason)),
            Err(Unbuilt::Failed(reason)) => (OutcomeName::Failed, Some(reason)),
        };
        report
    }
}

impl Total {
    fn of<'a>(parameter: &str, scores: impl Iterator<Item = &'a Score>) -> Self {
        let mut total = Self {
            parameter: parameter.to_owned(),
            right: 0,
            wrong: 0,
            silent: 0,
            not_scored: 0,
            answered_share: 1.0,
        };
        for score in scores {
            match score {
                Score::Right => total.right += 1,
                Score::Wrong => total.wrong += 1,
                Score::Silent => total.silent += 1,
                Score::NotScored(_) => total.not_scored += 1,
            }
        }
        let answered = total.right + total.wrong + total.not_scored;
        if answered + total.silent > 0 {
            total.answered_share = f64::from(answered) / f64::from(answered + total.silent);
        }
        total
    }
}

/// One total per parameter that some case was scored for, in the order of the first such case.
fn totals(cases: &[CaseReport], scored: impl Fn(&ParameterScore) -> Option<&Scored>) -> Vec<Total> {
    let all: Vec<(&str, &Score)> = cases
        .iter()
        .flat_map(|case| &case.parameters)
        .filter_map(|parameter| Some((parameter.parameter.as_str(), &scored(parameter)?.score)))
        .collect();
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in &all {
        if !names.contains(name) {
            names.push(name);
        }
    }
    let of_name =
        |name: &str| Total::of(name, all.iter().filter(|(other, _)| *other == name).map(|(_, score)| *score));
    names.into_iter().map(of_name).collect()
}
