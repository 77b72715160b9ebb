//! Job files, held against fio itself: what it reads in them, what it does with them, and what it
//! writes of that. Without fio these tests say `skipped: NAME: reason`; with `FATHOM_REQUIRE=all` in
//! the environment they fail instead.

mod behaviour;
mod by_fio;
mod drawn;
mod fuzz;
mod generated;
mod logs;
mod replayed;

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use fathom::instrument::Instrument;
use fathom::job::{JobFile, Mistake, parse};
use fathom::load::surroundings;
use fathom_scripted::support::require;

/// Reads a job file as `fathom run` does on this machine.
fn read(text: &str) -> Result<JobFile, Mistake> {
    parse(text, &surroundings(&|name| std::env::var(name).ok()))
}

/// The clock, calibrated once: that takes a third of a second.
fn instrument() -> &'static Instrument {
    static INSTRUMENT: OnceLock<Instrument> = OnceLock::new();
    INSTRUMENT.get_or_init(|| Instrument::calibrate().unwrap())
}

/// A new directory, removed at the end.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("fathom-jobs-{name}-{}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What fio printed, on both streams, and whether it was content.
fn fio(place: &Place, arguments: &[&str], file: &Path) -> (bool, String) {
    let said = fio_within(300, place, arguments, file);
    said.unwrap_or_else(|| panic!("fio did not end within 300 s: {}", file.display()))
}

/// The same; none where fio takes longer: a fio that waits for itself ends the test, not the whole run of tests.
fn fio_within(seconds: u32, place: &Place, arguments: &[&str], file: &Path) -> Option<(bool, String)> {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", &seconds.to_string(), "fio"]).args(arguments).arg(file);
    let output = command.current_dir(&place.0).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    let is_late = matches!(output.status.code(), Some(124 | 137)) || output.status.signal() == Some(9);
    (!is_late).then(|| (output.status.success(), String::from_utf8_lossy(&text).into_owned()))
}

fn has_fio(name: &str) -> bool {
    let there = Command::new("fio").arg("--version").output().is_ok_and(|output| output.status.success());
    require(name, there, "fio is not installed")
}
