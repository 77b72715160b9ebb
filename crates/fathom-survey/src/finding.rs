//! What was found: evidence of each kind side by side, and one answer drawn from it.
//!
//! "Cannot tell" is an ordinary value here. Field names and words are those of the published schema.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use fathom_program::units::{Bytes, Nanos};

/// The answer to one question, with everything that speaks for or against it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The parameter: `block_size`.
    pub parameter: String,
    /// The unit of the value: `bytes`, `ns`, `count`, `word`.
    pub unit: String,
    /// Whether there is an answer.
    pub status: Status,
    /// The answer, where there is one.
    pub value: Option<Value>,
    /// The lowest and highest value that the evidence allows, for a number.
    pub interval: Option<[f64; 2]>,
    /// Whether the evidence agrees.
    pub agreement: Agreement,
    /// The pieces of evidence.
    pub evidence: Vec<Evidence>,
    /// One or two sentences for a reader.
    pub explanation: String,
    /// What the reader must know before relying on the answer; for a refusal, the reason.
    pub caveats: Vec<String>,
}

/// One piece of evidence for or against an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// The kind of the evidence.
    pub kind: Kind,
    /// The method that gave it: `append_comb`, `sparse_st_blocks`, `statfs_bsize`.
    pub method: String,
    /// Whether it gives an answer.
    pub status: Status,
    /// The answer, where there is one.
    pub value: Option<Value>,
    /// The lowest and highest value that this evidence allows, for a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
    /// The probability that the answer is not due to chance; timing only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// The number of timed operations behind the answer; timing only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<u64>,
    /// The distributions of the latencies, where the value is one figure of many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub distributions: Vec<Distribution>,
    /// Single trials or observations, where the answer rests on those and not on times.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trials: Vec<Trial>,
    /// What weakens the evidence; where there is no answer, the reason.
    #[serde(default)]
    pub caveats: Vec<String>,
}

/// One trial or observation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trial {
    /// What was tried or seen: `offset`, `set aside`.
    pub case: String,
    /// The size that was tried, or the length of what was seen.
    pub bytes: u64,
    /// The result: `direct`, `inline`, `extent`.
    pub outcome: String,
}

/// The distribution of the latencies of one kind of operation, in ns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Distribution {
    /// What was timed: `fsync after append`.
    pub case: String,
    /// The number of timed operations.
    pub samples: u64,
    /// The shortest latency.
    pub shortest_ns: f64,
    /// The median latency.
    pub median_ns: f64,
    /// The lowest and the highest median that the samples allow, where an interval is stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median_interval_ns: Option<[f64; 2]>,
    /// The latency that 90 % of the operations do not exceed.
    pub p90_ns: f64,
    /// The latency that 99 % of the operations do not exceed.
    pub p99_ns: f64,
    /// The longest latency.
    pub longest_ns: f64,
}

/// Whether a question was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[derive(strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum Status {
    /// There is an answer.
    Measured,
    /// The question was asked, and the evidence does not decide.
    Inconclusive,
    /// The question makes no sense here.
    #[strum(to_string = "not applicable")]
    NotApplicable,
    /// The question was not asked: a privilege, a permission or budget is missing.
    Refused,
}

/// The kinds of evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[derive(strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum Kind {
    /// Durations of system calls, and nothing else.
    Timing,
    /// Side effects that a program can see.
    Witness,
    /// What the kernel says of itself.
    Declared,
}

/// Whether pieces of evidence say the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[derive(strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum Agreement {
    /// Two or more pieces, which all give the same answer.
    Agree,
    /// Two or more pieces, which give different answers.
    Disagree,
    /// At most one piece gives an answer.
    Single,
}

/// An answer: a number, a list of numbers, or a word.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Value {
    /// A whole number: bytes or a count.
    Whole(u64),
    /// A real number: nanoseconds.
    Real(f64),
    /// A sequence: the windows of a ramp.
    List(Vec<u64>),
    /// A name: a policy or a scheme.
    Word(String),
}

/// The highest confidence that is ever stated.
const MOST_CONFIDENT: f64 = 0.999_999;

impl Trial {
    /// A trial of `bytes` with its outcome.
    pub fn new(case: &str, bytes: u64, outcome: &str) -> Self {
        Self { case: case.to_owned(), bytes, outcome: outcome.to_owned() }
    }
}

impl Evidence {
    /// Evidence that gives an answer.
    pub fn measured(kind: Kind, method: &str, value: Value) -> Self {
        Self {
            kind,
            method: method.to_owned(),
            status: Status::Measured,
            value: Some(value),
            interval: None,
            confidence: None,
            samples: None,
            distributions: Vec::new(),
            trials: Vec::new(),
            caveats: Vec::new(),
        }
    }

    /// Evidence that gives no answer, with the reason.
    pub fn silent(kind: Kind, method: &str, status: Status, reason: impl Into<String>) -> Self {
        Self {
            status,
            value: None,
            caveats: vec![reason.into()],
            ..Self::measured(kind, method, Value::Whole(0))
        }
    }

    /// Evidence that was gathered and does not decide, with the reason.
    pub fn inconclusive(kind: Kind, method: &str, reason: impl Into<String>) -> Self {
        Self::silent(kind, method, Status::Inconclusive, reason)
    }

    /// Evidence that the question makes no sense, with the reason.
    pub fn not_applicable(kind: Kind, method: &str, reason: impl Into<String>) -> Self {
        Self::silent(kind, method, Status::NotApplicable, reason)
    }

    /// The same evidence with an interval.
    #[must_use]
    pub fn within(self, low: u64, high: u64) -> Self {
        self.within_real([low as f64, high as f64])
    }

    /// The same evidence with an interval of real numbers.
    #[must_use]
    pub fn within_real(mut self, interval: [f64; 2]) -> Self {
        self.interval = Some(interval);
        self
    }

    /// The same evidence with a confidence and the number of timed operations behind it.
    #[must_use]
    pub fn resting_on(mut self, confidence: f64, samples: usize) -> Self {
        // No finite number of samples makes anything certain.
        self.confidence = Some(confidence.min(MOST_CONFIDENT));
        self.samples = Some(samples as u64);
        self
    }

    /// The same evidence with distributions of latencies.
    #[must_use]
    pub fn spread(mut self, distributions: Vec<Distribution>) -> Self {
        self.distributions = distributions;
        self
    }

    /// The same evidence with single trials or observations.
    #[must_use]
    pub fn tried(mut self, trials: Vec<Trial>) -> Self {
        self.trials = trials;
        self
    }

    /// The same evidence with one more caveat.
    #[must_use]
    pub fn caveat(mut self, text: impl Into<String>) -> Self {
        self.caveats.push(text.into());
        self
    }

    /// Whether this evidence allows `value`: its answer is the same, or its interval contains it.
    pub fn allows(&self, value: &Value) -> bool {
        if self.value.as_ref() == Some(value) {
            return true;
        }
        match (self.interval, value.as_number()) {
            (Some([low, high]), Some(number)) => (low..=high).contains(&number),
            _ => false,
        }
    }

    fn is_exact(&self) -> bool {
        self.interval.is_none_or(|[low, high]| low >= high)
    }
}

impl Value {
    /// The value as a number, if it is one.
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Value::Whole(number) => Some(*number as f64),
            Value::Real(number) => Some(*number),
            Value::List(_) | Value::Word(_) => None,
        }
    }

    /// The value in words, with this unit: `4 KiB`, `16 32 64 KiB`.
    pub fn in_words(&self, unit: &str) -> String {
        match self {
            Value::Whole(whole) => number(*whole as f64, unit),
            Value::Real(real) => number(*real, unit),
            Value::List(list) => {
                let words: Vec<String> = list.iter().map(|&one| number(one as f64, unit)).collect();
                // One unit for all of them where that is possible.
                let shared = words.last().and_then(|word| word.split_once(' ')).map(|(_, unit)| unit);
                match shared {
                    Some(unit) if words.iter().all(|word| word.ends_with(&format!(" {unit}"))) => {
                        let numbers: Vec<&str> =
                            words.iter().filter_map(|word| word.split(' ').next()).collect();
                        format!("{} {unit}", numbers.join(" "))
                    }
                    _ => words.join(", "),
                }
            }
            Value::Word(word) => word.clone(),
        }
    }
}

/// A number in words, with this unit.
pub fn number(value: f64, unit: &str) -> String {
    match unit {
        "bytes" => Bytes(value as u64).to_string(),
        "ns" => Nanos(value).to_string(),
        _ => format!("{value}"),
    }
}

impl Finding {
    /// Draws one answer from the evidence.
    ///
    /// The value that most pieces allow wins; among equals the one that a witness gives, then a
    /// timing, then a declaration, and an exact one before one with room. Evidence that gives no
    /// answer has no vote; its reasons become caveats where nothing else answers. Declarations alone do not
    /// stand against a witness that has seen that the question makes no sense.
    pub fn from_evidence(parameter: &str, unit: &str, evidence: Vec<Evidence>) -> Self {
        let mut answers: Vec<&Evidence> =
            evidence.iter().filter(|piece| piece.status == Status::Measured).collect();
        if answers.iter().all(|piece| piece.kind == Kind::Declared) && makes_no_sense(&evidence) {
            answers.clear();
        }
        let rank = |piece: &&&Evidence| {
            let votes = piece
                .value
                .as_ref()
                .map_or(0, |value| answers.iter().filter(|other| other.allows(value)).count());
            let kind = match piece.kind {
                Kind::Witness => 2,
                Kind::Timing => 1,
                Kind::Declared => 0,
            };
            (votes, piece.is_exact(), kind)
        };
        // The first of equals wins, so that the order of evidence decides and not the iterator.
        let best = answers.iter().rev().max_by_key(rank);
        let value = best.and_then(|piece| piece.value.clone());
        let agreement = match (&value, answers.len()) {
            (Some(value), 2..) if answers.iter().all(|piece| piece.allows(value)) => Agreement::Agree,
            (_, 2..) => Agreement::Disagree,
            _ => Agreement::Single,
        };
        let status = if best.is_some() { Status::Measured } else { silent_status(&evidence) };
        let interval = best.and_then(|piece| piece.interval.or_else(|| point(piece.value.as_ref())));
        let caveats = match best {
            Some(_) => evidence
                .iter()
                .filter(|piece| piece.kind == Kind::Timing)
                .flat_map(|piece| piece.caveats.clone())
                .collect(),
            None => {
                // First the reasons for the status, and among those what was tried.
                let mut silent: Vec<&Evidence> = evidence.iter().collect();
                silent.sort_by_key(|piece| (piece.status != status, piece.method == "none"));
                silent.into_iter().flat_map(|piece| piece.caveats.clone()).collect()
            }
        };
        Self {
            parameter: parameter.to_owned(),
            unit: unit.to_owned(),
            status,
            value,
            interval,
            agreement,
            explanation: String::new(),
            caveats: without_repeats(caveats),
            evidence,
        }
    }

    /// The answer, if it is a whole number.
    pub fn whole(&self) -> Option<u64> {
        match self.value {
            Some(Value::Whole(whole)) => Some(whole),
            _ => None,
        }
    }

    /// The answer, if it is a number.
    pub fn number(&self) -> Option<f64> {
        self.value.as_ref().and_then(Value::as_number)
    }

    /// The answer, if it is a word.
    pub fn word(&self) -> Option<&str> {
        match &self.value {
            Some(Value::Word(word)) => Some(word),
            _ => None,
        }
    }

    /// The evidence that a method gave.
    pub fn by(&self, method: &str) -> Option<&Evidence> {
        self.evidence.iter().find(|piece| piece.method == method)
    }

    /// The first answer that evidence of a kind gives.
    pub fn answer(&self, kind: Kind) -> Option<&Value> {
        self.answers(kind).next()
    }

    /// The answer of a kind of evidence, if all evidence of that kind that answers gives the same.
    pub fn sole_answer(&self, kind: Kind) -> Option<&Value> {
        let mut answers = self.answers(kind);
        let first = answers.next()?;
        answers.all(|other| other == first).then_some(first)
    }

    fn answers(&self, kind: Kind) -> impl Iterator<Item = &Value> {
        let answered = move |piece: &&Evidence| piece.kind == kind && piece.status == Status::Measured;
        self.evidence.iter().filter(answered).filter_map(|piece| piece.value.as_ref())
    }
}

/// Whether every witness that could be asked says that the question makes no sense.
fn makes_no_sense(evidence: &[Evidence]) -> bool {
    let asked = |piece: &&Evidence| piece.kind == Kind::Witness && piece.status != Status::Refused;
    let mut asked = evidence.iter().filter(asked).peekable();
    asked.peek().is_some() && asked.all(|piece| piece.status == Status::NotApplicable)
}

fn point(value: Option<&Value>) -> Option<[f64; 2]> {
    value.and_then(Value::as_number).map(|number| [number, number])
}

/// Of several silences the one that says most about the question: that it makes no sense, then that
/// it was asked in vain, then that it was not asked.
fn silent_status(evidence: &[Evidence]) -> Status {
    [Status::NotApplicable, Status::Inconclusive]
        .into_iter()
        .find(|&status| evidence.iter().any(|piece| piece.status == status))
        .unwrap_or(Status::Refused)
}

fn without_repeats(texts: Vec<String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::with_capacity(texts.len());
    for text in texts {
        if !kept.contains(&text) {
            kept.push(text);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(kind: Kind, value: u64) -> Evidence {
        Evidence::measured(kind, "m", Value::Whole(value))
    }

    #[test]
    fn the_majority_wins_and_dissent_is_told() {
        let finding = Finding::from_evidence(
            "block_size",
            "bytes",
            vec![says(Kind::Timing, 4096), says(Kind::Witness, 65536), says(Kind::Declared, 4096)],
        );
        assert_eq!(finding.value, Some(Value::Whole(4096)));
        assert_eq!(finding.agreement, Agreement::Disagree);
    }

    #[test]
    fn one_against_one_the_witness_wins() {
        let finding =
            Finding::from_evidence("x", "bytes", vec![says(Kind::Timing, 1), says(Kind::Witness, 2)]);
        assert_eq!(finding.value, Some(Value::Whole(2)));
        assert_eq!(finding.agreement, Agreement::Disagree);
    }

    #[test]
    fn witnesses_that_differ_are_no_judge() {
        let of = |values: [u64; 2]| {
            let seen = values.map(|value| says(Kind::Witness, value));
            Finding::from_evidence("x", "bytes", seen.into_iter().chain([says(Kind::Timing, 1)]).collect())
        };
        assert_eq!(of([2, 2]).sole_answer(Kind::Witness), Some(&Value::Whole(2)));
        assert_eq!(of([2, 3]).sole_answer(Kind::Witness), None);
        assert_eq!(of([2, 3]).sole_answer(Kind::Declared), None);
    }

    #[test]
    fn an_interval_that_holds_the_value_agrees_and_the_exact_one_is_taken() {
        let finding = Finding::from_evidence(
            "x",
            "bytes",
            vec![says(Kind::Timing, 0).within(0, 4096), says(Kind::Declared, 4096)],
        );
        assert_eq!(finding.value, Some(Value::Whole(4096)));
        assert_eq!(finding.agreement, Agreement::Agree);
        assert_eq!(finding.interval, Some([4096.0, 4096.0]));
    }

    #[test]
    fn silence_is_no_vote_and_its_reason_is_kept_where_nothing_answers() {
        let silent = Evidence::silent(Kind::Timing, "m", Status::Inconclusive, "too noisy");
        let answered = Finding::from_evidence("x", "bytes", vec![silent.clone(), says(Kind::Declared, 7)]);
        assert_eq!((answered.status, answered.agreement), (Status::Measured, Agreement::Single));
        let unanswered = Finding::from_evidence("x", "bytes", vec![silent]);
        assert_eq!((unanswered.status, unanswered.value), (Status::Inconclusive, None));
        assert_eq!(unanswered.caveats, ["too noisy"]);
        let untried = Evidence::inconclusive(Kind::Timing, "none", "no times tell");
        let silent = Evidence::inconclusive(Kind::Declared, "m", "it can't be read");
        let pointless = Evidence::not_applicable(Kind::Declared, "m", "there is none");
        let caveats = |evidence| Finding::from_evidence("x", "bytes", evidence).caveats;
        assert_eq!(caveats(vec![untried.clone(), silent]), ["it can't be read", "no times tell"]);
        assert_eq!(caveats(vec![untried, pointless]), ["there is none", "no times tell"]);
    }

    #[test]
    fn a_declaration_alone_does_not_stand_against_a_witness_that_sees_no_sense() {
        let of = |seen: &[Status], more: Option<Evidence>| {
            let seen =
                seen.iter().map(|&status| Evidence::silent(Kind::Witness, "m", status, "nothing there"));
            let all = seen.chain([says(Kind::Declared, 7)]).chain(more).collect();
            Finding::from_evidence("x", "bytes", all).status
        };
        assert_eq!(of(&[Status::NotApplicable], None), Status::NotApplicable);
        assert_eq!(of(&[Status::NotApplicable, Status::Refused], None), Status::NotApplicable);
        for seen in [&[][..], &[Status::Refused], &[Status::NotApplicable, Status::Inconclusive]] {
            assert_eq!(of(seen, None), Status::Measured, "{seen:?}");
        }
        assert_eq!(of(&[Status::NotApplicable], Some(says(Kind::Timing, 7))), Status::Measured);
    }

    #[test]
    fn json_has_the_names_of_the_contract() {
        let text = serde_json::to_value(says(Kind::Timing, 1024).within(1024, 1024).resting_on(0.999, 9600))
            .unwrap();
        let expected = serde_json::json!({"kind": "timing", "method": "m", "status": "measured", "value": 1024,
            "interval": [1024.0, 1024.0], "confidence": 0.999, "samples": 9600, "caveats": []});
        assert_eq!(text, expected);
    }
}
