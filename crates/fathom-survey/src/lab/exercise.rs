//! Exercises: programs that find a parameter of file systems that are made with values they do not know.

use std::path::Path;
use std::process::{Command, Stdio};

use fathom_program::units::{parse_bytes, parse_duration};

use super::build::Testbed;
use super::report::truth_in_words;
use super::unbuilt::Unbuilt;
use super::{Lab, Score, kernel, score};
use crate::case::{Case, Truth};
use crate::experiment::Experiment;
use crate::finding::{Status, Value};
use fathom_run::fault::plain;

/// What a program answered in one case.
#[derive(Debug)]
pub struct Examined {
    /// How the answer compares with the truth. A program that fails is wrong, and a case that can't be made is not scored.
    pub score: Score,
    /// One line for people.
    pub line: String,
}

impl Lab {
    /// Builds one case, lets a program answer a question in it, and compares the answer with the truth.
    ///
    /// The program gets the mount point as its last argument. Its answer is the last line that it writes to standard
    /// output: a size, a time, a number or a word, `none` where the question does not apply, `?` where it cannot tell.
    pub fn examine(&self, case: &Case, question: &dyn Experiment, program: &[String]) -> Examined {
        let unit = question.about().unit;
        let truth = question.truth(case, &kernel());
        // The name of the mount point would tell.
        let hidden = Case { name: "exercise".to_owned(), ..case.clone() };
        let (score, said) = match Testbed::build(&hidden, &self.base, &self.images, &self.host) {
            Ok(testbed) => match ask(program, testbed.point()) {
                Ok(answer) => judged(&answer, &truth, unit),
                Err(reason) => failed(&reason),
            },
            Err(Unbuilt::Skipped(reason) | Unbuilt::Unsupported(reason) | Unbuilt::Failed(reason)) => {
                let said = format!("skipped: {reason}");
                (Score::NotScored(reason), said)
            }
        };
        Examined { score, line: format!("{}: {said}", case.name) }
    }
}

/// The last line that the program prints when it is run on `point`.
fn ask(program: &[String], point: &Path) -> Result<String, String> {
    let [name, arguments @ ..] = program else { return Err("no program was given".to_owned()) };
    let done = Command::new(name).args(arguments).arg(point).stderr(Stdio::inherit()).output();
    let done = done.map_err(|error| format!("can't run {name}: {}", plain(&error)))?;
    if !done.status.success() {
        return Err(format!("{name}: {}", done.status));
    }
    let text = String::from_utf8_lossy(&done.stdout);
    Ok(text.trim_end().lines().next_back().unwrap_or_default().trim().to_owned())
}

fn judged(answer: &str, truth: &Truth, unit: &str) -> (Score, String) {
    let (status, value) = match answer {
        "?" => (Status::Inconclusive, None),
        "none" => (Status::NotApplicable, None),
        _ => match read(answer, unit) {
            Ok(value) => (Status::Measured, Some(value)),
            Err(reason) => return failed(&reason),
        },
    };
    let said = value.as_ref().map_or_else(|| answer.to_owned(), |value| value.in_words(unit));
    let score = score(truth, status, value.as_ref(), None);
    let line = match (&score, truth_in_words(truth, unit)) {
        (Score::Right, _) => format!("right: {said}"),
        (Score::Wrong, Some(truth)) if truth.split(" to ").any(|end| end == said) => {
            format!("WRONG: the answer is {said}, just outside of the truth, {truth}")
        }
        (Score::Wrong, Some(truth)) => format!("WRONG: the answer is {said}, the truth is {truth}"),
        (Score::Silent, Some(truth)) => format!("no answer: the truth is {truth}"),
        _ => format!("not judged: {said}; the truth is not known beforehand"),
    };
    (score, line)
}

fn failed(reason: &str) -> (Score, String) {
    (Score::Wrong, format!("FAILED: {reason}"))
}

/// Reads an answer in the parameter's unit.
fn read(answer: &str, unit: &str) -> Result<Value, String> {
    match unit {
        "bytes" => parse_bytes(answer).map(Value::Whole),
        "ns" => parse_duration(answer).map(|time| Value::Real(time.as_nanos() as f64)),
        "count" => answer.parse().map(Value::Whole).map_err(|_| format!("'{answer}' is not a whole number")),
        _ if answer.is_empty() => Err("the program printed no answer".to_owned()),
        _ => Ok(Value::Word(answer.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Basis;

    fn said(answer: &str, truth: &Truth, unit: &str) -> String {
        judged(answer, truth, unit).1
    }

    #[test]
    fn an_answer_is_right_wrong_missing_or_no_answer_at_all() {
        let truth = Truth::known(1024, Basis::Made);
        assert_eq!(said("1K", &truth, "bytes"), "right: 1 KiB");
        assert_eq!(said("1024", &truth, "bytes"), "right: 1 KiB");
        assert_eq!(said("4096", &truth, "bytes"), "WRONG: the answer is 4 KiB, the truth is 1 KiB");
        assert_eq!(said("none", &truth, "bytes"), "WRONG: the answer is none, the truth is 1 KiB");
        assert_eq!(said("?", &truth, "bytes"), "no answer: the truth is 1 KiB");
        assert!(said("", &truth, "bytes").starts_with("FAILED"));
        assert!(said("one block", &truth, "count").starts_with("FAILED"));
        assert_eq!(said("none", &Truth::NotApplicable { basis: Basis::Format }, "count"), "right: none");
        let within = Truth::Within { interval: [90.0, 110.0], basis: Basis::Set };
        assert_eq!(said("100ns", &within, "ns"), "right: 100 ns");
        assert_eq!(said("1us", &within, "ns"), "WRONG: the answer is 1 us, the truth is 90 ns to 110 ns");
        let rounded = "WRONG: the answer is 110 ns, just outside of the truth, 90 ns to 110 ns";
        assert_eq!(
            said("110ns", &Truth::Within { interval: [90.0, 109.9], basis: Basis::Set }, "ns"),
            rounded
        );
        assert!(said("7", &Truth::Unknown, "count").starts_with("not judged"));
    }

    #[test]
    fn the_answer_is_the_last_line_of_a_program_that_succeeds() {
        let run = |script: &str| {
            ask(&["sh", "-c", script].map(str::to_owned), Path::new("/the/mount"))
                .map_err(|reason| reason.contains("sh: "))
        };
        assert_eq!(run("echo thinking; echo ' 4K '; echo").as_deref(), Ok("4K"));
        assert_eq!(run("echo $0").as_deref(), Ok("/the/mount"));
        assert_eq!(run("echo 4K; exit 3"), Err(true));
        assert!(ask(&["/no/such/program".to_owned()], Path::new("/")).is_err());
    }
}
