//! What the kernel writes by itself, by timing alone, on machines whose delays are planted.

use fathom::finding::{Status, Value};
use fathom_scripted::{Noise, Quiet, Script};

use super::{SIGMAS, ask, is_silent_on_noise, show};

/// Delays in seconds, as a script has them.
fn quiet(expiry: f64, wakeup: f64, commit: f64) -> Quiet {
    Quiet { expiry: expiry * 1e9, wakeup: wakeup * 1e9, commit: commit * 1e9, rounding: 1e9 }
}

#[test]
fn the_delay_of_data_is_found_between_expiry_and_the_next_wakeup() {
    let (mut all, mut silent) = (0, Vec::new());
    for seed in 0..60 {
        let expiry = [1.0, 2.0, 5.0, 7.3, 15.0, 30.0][seed as usize % 6];
        let wakeup = [0.1, 0.5, 1.0, 5.0][seed as usize / 6 % 4];
        let noise = Noise::usual(SIGMAS[seed as usize % 3]);
        let quiet = Some(quiet(expiry, wakeup, 5.0));
        let finding = ask(Script { quiet, noise, ..Script::new(seed) }, "writeback_delay");
        all += 1;
        let case = format!("{expiry} s, {wakeup} s, seed {seed}");
        match finding.interval {
            Some([low, high]) => {
                let due = [expiry * 1e9, (expiry + wakeup) * 1e9];
                assert!(low <= due[1] && high >= due[0], "{case}: {low} to {high}");
                let value = finding.value.as_ref().and_then(Value::as_number).unwrap();
                assert!(value > 0.95 * due[0] && value < 1.05 * due[1], "{case}: {value}");
            }
            None => silent.push(format!("{case}: {}", finding.caveats.join("; "))),
        }
    }
    show(&format!("writeback_delay: {} of {all} silent\n{}", silent.len(), silent.join("\n")));
    // Where the kernel looks more rarely than data expire, their delay may be anything.
    assert!(silent.len() * 10 <= all, "{silent:#?}");
}

#[test]
fn the_delay_of_data_is_silent_on_noise() {
    is_silent_on_noise("writeback_delay", 60);
}

#[test]
fn where_nothing_is_written_by_itself_nothing_is_said() {
    let finding = ask(Script { noise: Noise::usual(0.15), ..Script::new(1) }, "writeback_delay");
    assert_eq!(finding.status, Status::Inconclusive);
    assert!(finding.caveats[0].starts_with("nothing was written within"), "{finding:?}");
}

#[test]
fn commit_intervals_are_found_and_their_phases_do_not_matter() {
    let (mut right, mut silent, mut wrong) = (0, Vec::new(), Vec::new());
    for seed in 0..40 {
        let seconds = [1.0, 2.0, 3.0, 5.0, 7.0][seed as usize % 5];
        let noise = Noise::usual(SIGMAS[seed as usize % 3]);
        let mut quiet = quiet(30.0, 5.0, seconds);
        // A kernel that does not wait for whole seconds is measured as well.
        quiet.rounding = if seed % 4 == 3 { 0.0 } else { 1e9 };
        let finding = ask(Script { quiet: Some(quiet), noise, ..Script::new(seed) }, "commit_interval");
        let case = format!("{seconds} s, seed {seed}");
        match finding.interval {
            Some([low, high]) if low <= seconds * 1e9 && seconds * 1e9 <= high && high - low < 1.2e9 => {
                right += 1
            }
            Some([low, high]) => wrong.push(format!("{case}: {low} to {high}")),
            None => silent.push(format!("{case}: {}", finding.caveats.join("; "))),
        }
    }
    show(&format!("commit_interval: {right} right, {} silent\n{}", silent.len(), silent.join("\n")));
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(right >= 36, "{silent:#?}");
}

#[test]
fn commit_intervals_are_silent_on_noise() {
    is_silent_on_noise("commit_interval", 60);
}
