//! A program in C that is compiled here, waits for orders and answers each with a number.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

pub(crate) struct Bare {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Bare {
    /// Compiles `source` in `directory` and starts it with these words.
    pub(crate) fn start(
        directory: &Path,
        source: &str,
        flags: &[&str],
        words: &[&str],
    ) -> Result<Self, String> {
        let (file, program) = (directory.join("bare.c"), directory.join("bare"));
        std::fs::write(&file, source).map_err(|error| error.to_string())?;
        let compiled = Command::new("cc").arg(&file).args(flags).arg("-o").arg(&program).status();
        if !compiled.map_err(|error| format!("cc can't be run: {error}"))?.success() {
            return Err("cc failed".to_owned());
        }
        let started = Command::new(&program).args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = started.map_err(|error| format!("the bare loop can't be run: {error}"))?;
        let (Some(orders), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("the bare loop has no pipes".to_owned());
        };
        Ok(Self { child, orders, answers: BufReader::new(answers) })
    }

    /// The answer to one order.
    pub(crate) fn ask(&mut self, order: &str) -> Result<f64, String> {
        writeln!(self.orders, "{order}").map_err(|error| format!("the bare loop is gone: {error}"))?;
        let mut line = String::new();
        self.answers.read_line(&mut line).map_err(|error| error.to_string())?;
        line.trim().parse().map_err(|_| format!("the bare loop said '{line}'"))
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        // It may have ended by itself already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
