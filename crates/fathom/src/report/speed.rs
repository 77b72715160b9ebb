//! What was timed, as text.

use crate::speed::xor::Xor;
use crate::units::{Bytes, Nanos};

/// The XOR first, as checksums are printed; then how fast, and why so.
pub fn xor(xor: &Xor) -> String {
    let threads = if xor.threads == 1 { "1 thread".to_owned() } else { format!("{} threads", xor.threads) };
    let trials: Vec<String> =
        xor.trials.iter().map(|trial| format!("{} {}", trial.method, rate(trial.bytes_per_second))).collect();
    let tried = if trials.is_empty() { String::new() } else { format!(" ({})", trials.join(", ")) };
    format!(
        "{}  {}\n{} in {}, {}: {}, {threads}; {}{tried}\n",
        xor.xor,
        xor.path,
        Bytes(xor.bytes),
        Nanos(xor.duration_ns as f64),
        rate(xor.bytes_per_second),
        xor.method,
        xor.reason
    )
}

/// Bytes per second as people read them.
fn rate(bytes_per_second: f64) -> String {
    format!("{}/s", Bytes(bytes_per_second as u64))
}
