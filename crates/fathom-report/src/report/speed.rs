//! What was timed, as text.

use super::table::{or_dash, rate, spent};
use fathom_program::units::{Bytes, Nanos};
use fathom_speed::file_size::FileSize;
use fathom_speed::measurement::Measurement;
use fathom_speed::syscalls::{self, Syscalls};
use fathom_speed::transfer::{Operation, Transfer};
use fathom_speed::xor::Xor;

/// The result of an XOR as text: the XOR as checksums are printed, its speed, and the reason for the speed.
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

/// The transfer of a file as text: the number of blocks, the speed, and anything odd.
pub fn transfer(transfer: &Transfer) -> String {
    let (block, blocks) = (Bytes(transfer.block_bytes), transfer.whole_blocks);
    let last = match transfer.last_block_bytes {
        0 => String::new(),
        bytes => format!(" and one of {bytes} B"),
    };
    let state = match (transfer.synced, transfer.cached_share) {
        (Some(true), _) => "; the device has it".to_owned(),
        (Some(false), _) => "; the page cache has it, the device perhaps not yet".to_owned(),
        (None, Some(share)) => format!("; {:.0} % of it was in the page cache", share * 100.0),
        (None, None) => String::new(),
    };
    let check = match (transfer.operation, transfer.declared_bytes) {
        (Operation::Count, Some(declared)) if declared == transfer.bytes => "fstat agrees\n".to_owned(),
        (Operation::Count, None) => "fstat gives no size: it is not a regular file\n".to_owned(),
        _ => String::new(),
    };
    let caveats: String = transfer.caveats.iter().map(|caveat| format!("{caveat}\n")).collect();
    format!(
        "{}: {blocks} blocks of {block}{last}, {} bytes in {}, {}{state}\n{check}{caveats}",
        transfer.path,
        transfer.bytes,
        Nanos(transfer.duration_ns as f64),
        rate(transfer.bytes_per_second)
    )
}

/// The size of a file that takes a given time to read, as text, or why there is none.
pub fn file_size(answer: &FileSize) -> String {
    let wanted = Nanos(answer.wanted_ns as f64);
    let state = if answer.cold { "cold" } else { "cached" };
    let found = match answer.bytes {
        Some(bytes) => format!("{bytes} bytes ({}) take {wanted} to read", Bytes(bytes)),
        None => format!("no size was found that takes {wanted} to read"),
    };
    let readings = answer.measurement.samples_ns.len();
    let caveats: String = answer.caveats.iter().map(|caveat| format!("{caveat}\n")).collect();
    format!(
        "{found}, {state}, {} at a time\n{} took {}{} in {readings} readings, {}\n{caveats}{} written; nothing was left behind.\n",
        Bytes(answer.block_bytes),
        Bytes(answer.measurement.bytes),
        Nanos(answer.measurement.call_ns),
        interval(answer.measurement.call_ns_interval),
        rate(answer.bytes_per_second),
        Bytes(answer.bytes_written)
    )
}

/// The costs of calls as text: each call on each file, and whether the file's size matters.
pub fn syscalls(syscalls: &Syscalls) -> String {
    let (mount, clock) = (&syscalls.provenance.mount, &syscalls.provenance.instrument);
    let mut text = format!(
        "{} on {} ({})\n{}, {}; clock {}, {} per sample taken out\n\n{:8} {:>9} {:>12} {:>20} {:>12} {:>8}\n",
        mount.fs_type,
        mount.path,
        mount.source,
        syscalls.provenance.machine.kernel,
        syscalls.provenance.machine.arch,
        clock.clock,
        Nanos(syscalls.clock_ns),
        "call",
        "file",
        "ns per call",
        "95 % interval",
        "calls/s",
        "MiB/s"
    );
    for one in &syscalls.measurements {
        let file = or_dash(one.settings.get("file_bytes").and_then(|size| size.parse().ok()).map(Bytes));
        let interval = or_dash(one.call_ns_interval.map(|[low, high]| format!("{low:.1} to {high:.1}")));
        let rate = one.bytes_per_second() / f64::from(1 << 20);
        let moved = or_dash((one.bytes > 0).then(|| format!("{rate:.2}")));
        text.push_str(&format!(
            "{:8} {file:>9} {:>12.1} {interval:>20} {:>12.0} {moved:>8}\n",
            one.name,
            one.call_ns,
            one.calls_per_second()
        ));
    }
    text.push_str(&format!("\n{}", spreads(&syscalls.measurements)));
    for caveat in &syscalls.caveats {
        text.push_str(&format!("{caveat}\n"));
    }
    text.push_str(&format!(
        "{} rounds, {}\n",
        syscalls.rounds,
        spent(syscalls.bytes_written, syscalls.duration_ns)
    ));
    text
}

fn interval(interval: Option<[f64; 2]>) -> String {
    interval.map_or_else(String::new, |[low, high]| format!(" ({} to {})", Nanos(low), Nanos(high)))
}

/// How far apart the medians of each call are over all sizes of the file.
fn spreads(measurements: &[Measurement]) -> String {
    let of = |call: syscalls::Call| {
        let medians = measurements.iter().filter(|one| one.name == call.name()).map(|one| one.call_ns);
        let (low, high) =
            medians.clone().fold((f64::INFINITY, 0.0_f64), |(low, high), ns| (low.min(ns), high.max(ns)));
        (medians.count() > 1).then(|| format!("{} {:.1} %", call.name(), (high / low - 1.0) * 100.0))
    };
    let spreads: Vec<String> = syscalls::ALL.iter().copied().filter_map(of).collect();
    if spreads.is_empty() {
        String::new()
    } else {
        format!(
            "From the file size with the fastest calls to that with the slowest: {}.\n",
            spreads.join(", ")
        )
    }
}
