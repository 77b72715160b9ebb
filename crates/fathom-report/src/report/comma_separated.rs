//! Measurements as comma-separated values: one line per sample under a header with the units.

use std::collections::BTreeSet;

use fathom_speed::measurement::Measurement;

/// The lines of all samples. Settings are columns of their own, empty where a measurement has none of that name.
///
/// ```
/// use fathom_report::report::comma_separated;
/// use fathom_speed::measurement::Measurement;
///
/// let read = Measurement::new("read", 10, 5120, vec![2500.0]).unwrap().with("block_bytes", 512);
/// let text = comma_separated::of(&[read]);
/// let header = "name,block_bytes,threads,sample,calls,bytes,elapsed_ns,user_ns,system_ns,call_ns,bytes_per_second";
/// assert_eq!(text, format!("{header}\nread,512,1,0,10,5120,2500,,,250,2048000000\n"));
/// ```
pub fn of(measurements: &[Measurement]) -> String {
    let settings: BTreeSet<&str> =
        measurements.iter().flat_map(|one| one.settings.keys()).map(String::as_str).collect();
    let mut writer = csv::Writer::from_writer(Vec::new());
    let tail = ["threads", "sample", "calls", "bytes", "elapsed_ns", "user_ns", "system_ns", "call_ns"];
    let header = ["name"].into_iter().chain(settings.iter().copied()).chain(tail).chain(["bytes_per_second"]);
    // Memory takes everything, so writing to it can't fail.
    let _ = writer.write_record(header);
    for one in measurements {
        for (index, &elapsed) in one.samples_ns.iter().enumerate() {
            let cpu = one.cpu_ns.get(index);
            let part = |of: usize| cpu.map_or_else(String::new, |cpu| cpu[of].to_string());
            let known = settings.iter().map(|&key| one.settings.get(key).cloned().unwrap_or_default());
            let values = [
                one.threads.to_string(),
                index.to_string(),
                one.calls.to_string(),
                one.bytes.to_string(),
                elapsed.to_string(),
                part(0),
                part(1),
                (elapsed / one.calls as f64).to_string(),
                (one.bytes as f64 / elapsed * 1e9).to_string(),
            ];
            let _ = writer.write_record([one.name.clone()].into_iter().chain(known).chain(values));
        }
    }
    writer.into_inner().ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}
