//! Answers compared with the truth.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::case::Truth;
use crate::finding::{Finding, Kind, Status, Value};

/// How an answer compares with the truth.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Score {
    /// The answer is the truth, or an interval that contains it.
    Right,
    /// The answer is something else.
    Wrong,
    /// There is no answer: inconclusive or refused.
    Silent,
    /// The answer can't be judged, for this reason.
    NotScored(String),
}

/// One question in one case: the truth, the answer and the score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ParameterScore {
    /// The parameter: `block_size`.
    pub parameter: String,
    /// The right answer, and what makes it right.
    pub truth: Truth,
    /// The answer from all evidence that was asked for, with its score.
    #[serde(flatten)]
    pub finding: Scored,
    /// The answer from timing alone, where timing was asked, with its score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timing: Option<Scored>,
    /// How long asking took, in ns.
    pub duration_ns: u64,
}

/// An answer with its score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Scored {
    /// Whether there is an answer.
    pub status: Status,
    /// The answer.
    pub value: Option<Value>,
    /// The lowest and highest value that it allows.
    pub interval: Option<[f64; 2]>,
    /// How it compares with the truth.
    pub score: Score,
}

/// Compares an answer with the truth.
///
/// An interval that holds more than one value is right if it holds the true one.
pub fn score(truth: &Truth, status: Status, value: Option<&Value>, interval: Option<[f64; 2]>) -> Score {
    let right = match (truth, status) {
        (_, Status::Inconclusive | Status::Refused) => return Score::Silent,
        (Truth::Unknown, _) => {
            return Score::NotScored("neither a rule nor a witness tells the truth here".to_owned());
        }
        (Truth::NotApplicable { .. }, status) => status == Status::NotApplicable,
        (Truth::Known { .. } | Truth::Within { .. }, Status::NotApplicable) => false,
        (Truth::Within { interval: [low, high], .. }, Status::Measured) => {
            value.and_then(Value::as_number).is_some_and(|number| (*low..=*high).contains(&number))
        }
        (Truth::Known { value: truth, .. }, Status::Measured) => {
            value == Some(truth) || holds(interval, truth)
        }
    };
    if right { Score::Right } else { Score::Wrong }
}

impl ParameterScore {
    /// Scores a finding, and the timing in it.
    pub fn of(finding: &Finding, truth: Truth, duration: Duration) -> Self {
        let scored = |status, value: &Option<Value>, interval| Scored {
            status,
            value: value.clone(),
            interval,
            score: score(&truth, status, value.as_ref(), interval),
        };
        let timing = finding.evidence.iter().find(|piece| piece.kind == Kind::Timing);
        Self {
            parameter: finding.parameter.clone(),
            finding: scored(finding.status, &finding.value, finding.interval),
            timing: timing.map(|piece| scored(piece.status, &piece.value, piece.interval)),
            truth,
            duration_ns: u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX),
        }
    }
}

fn holds(interval: Option<[f64; 2]>, truth: &Value) -> bool {
    match (interval, truth.as_number()) {
        (Some([low, high]), Some(number)) => low < high && (low..=high).contains(&number),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::Basis;

    fn known(value: u64) -> Truth {
        Truth::Known { value: Value::Whole(value), basis: Basis::Made }
    }

    #[test]
    fn equal_values_and_intervals_around_the_truth_are_right() {
        let measured =
            |value, interval| score(&known(4096), Status::Measured, Some(&Value::Whole(value)), interval);
        assert_eq!(measured(4096, None), Score::Right);
        assert_eq!(measured(1024, None), Score::Wrong);
        assert_eq!(measured(1024, Some([1024.0, 1024.0])), Score::Wrong);
        assert_eq!(measured(0, Some([0.0, 4096.0])), Score::Right);
        assert_eq!(measured(8192, Some([8000.0, 9000.0])), Score::Wrong);
    }

    #[test]
    fn silence_is_not_wrong_and_a_question_without_sense_has_one_right_answer() {
        let not_applicable = Truth::NotApplicable { basis: Basis::Memory };
        assert_eq!(score(&not_applicable, Status::NotApplicable, None, None), Score::Right);
        assert_eq!(score(&not_applicable, Status::Measured, Some(&Value::Whole(1)), None), Score::Wrong);
        assert_eq!(score(&known(1), Status::NotApplicable, None, None), Score::Wrong);
        for silent in [Status::Inconclusive, Status::Refused] {
            assert_eq!(score(&known(1), silent, None, None), Score::Silent);
            assert_eq!(score(&not_applicable, silent, None, None), Score::Silent);
        }
        assert!(matches!(score(&Truth::Unknown, Status::NotApplicable, None, None), Score::NotScored(_)));
    }

    #[test]
    fn lists_are_compared_whole() {
        let truth = Truth::Known { value: Value::List(vec![1, 2, 4]), basis: Basis::Witness };
        let list =
            |values: &[u64]| score(&truth, Status::Measured, Some(&Value::List(values.to_vec())), None);
        assert_eq!(list(&[1, 2, 4]), Score::Right);
        assert_eq!(list(&[1, 2]), Score::Wrong);
    }
}
