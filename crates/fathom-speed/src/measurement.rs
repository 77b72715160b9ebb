//! One thing timed again and again: the shape that every output format is written from.

use std::collections::BTreeMap;

use fathom_stats::interval::median_interval;
use fathom_stats::quantile;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use fathom_run::load::Histogram;

/// The confidence level of every interval of a [`Measurement`].
pub const LEVEL: f64 = 0.95;

/// One thing timed again and again under the same settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measurement {
    /// What was timed: `read`, `lseek`, `sequential read`.
    pub name: String,
    /// What tells it from others of the same name. A key that carries a unit ends in it: `file_bytes`.
    pub settings: BTreeMap<String, String>,
    /// Threads that shared the work.
    pub threads: u32,
    /// Calls that one sample is the time of.
    pub calls: u64,
    /// Bytes that one sample moved; zero where nothing is moved.
    pub bytes: u64,
    /// Wall time of each sample in ns, in the order in which they were taken, the clock's own cost taken out.
    pub samples_ns: Vec<f64>,
    /// Processor time that all threads together spent in each sample, in the program and in the kernel,
    /// in ns; empty where it was not measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpu_ns: Vec<[f64; 2]>,
    /// The latencies of all calls together, where each was timed by itself; in no JSON but fio's.
    #[serde(skip)]
    pub latencies: Option<Latencies>,
    /// The median of the samples in ns per call.
    pub call_ns: f64,
    /// The 95 % interval of that median; nothing where there are fewer than 6 samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_ns_interval: Option<[f64; 2]>,
}

/// Latencies of calls that were timed one by one.
#[derive(Debug, Clone, PartialEq)]
pub struct Latencies {
    /// In ticks.
    pub histogram: Histogram,
    /// What a tick is worth.
    pub ns_per_tick: f64,
}

impl Measurement {
    /// The measurement of `samples_ns`, each the wall time in ns of `calls` calls that moved `bytes` bytes.
    /// Nothing without samples or calls.
    pub fn new(name: &str, calls: u64, bytes: u64, samples_ns: Vec<f64>) -> Option<Self> {
        let middle = quantile::median(&samples_ns)?;
        let per_call = |ns: f64| ns / calls as f64;
        let interval = median_interval(&samples_ns, LEVEL)
            .map(|estimate| [per_call(estimate.interval.low), per_call(estimate.interval.high)]);
        (calls > 0).then(|| Self {
            name: name.to_owned(),
            settings: BTreeMap::new(),
            threads: 1,
            calls,
            bytes,
            samples_ns,
            cpu_ns: Vec::new(),
            latencies: None,
            call_ns: per_call(middle),
            call_ns_interval: interval,
        })
    }

    /// The same measurement with one more setting.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl ToString) -> Self {
        self.settings.insert(key.to_owned(), value.to_string());
        self
    }

    /// The same measurement, shared by a number of threads.
    #[must_use]
    pub fn threads(mut self, threads: u32) -> Self {
        self.threads = threads;
        self
    }

    /// The same measurement with the processor time of each sample.
    #[must_use]
    pub fn cpu_ns(mut self, cpu_ns: Vec<[f64; 2]>) -> Self {
        self.cpu_ns = cpu_ns;
        self
    }

    /// The same measurement with the latencies of its calls.
    #[must_use]
    pub fn latencies(mut self, latencies: Option<Latencies>) -> Self {
        self.latencies = latencies;
        self
    }

    /// Name and settings in one word, as benchmark libraries write it: `read/file_bytes:10240`.
    pub fn label(&self) -> String {
        let settings = self.settings.iter().map(|(key, value)| format!("/{key}:{value}"));
        std::iter::once(self.name.clone()).chain(settings).collect()
    }

    /// Calls per second at the median.
    pub fn calls_per_second(&self) -> f64 {
        1e9 / self.call_ns
    }

    /// Bytes per second at the median.
    pub fn bytes_per_second(&self) -> f64 {
        self.bytes as f64 / self.calls as f64 * self.calls_per_second()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_per_call_and_has_an_interval() {
        let samples = (1..=11).map(|sample| f64::from(sample) * 1000.0).collect();
        let read =
            Measurement::new("read", 10, 20, samples).unwrap().with("file_bytes", 4096).with("block", 2);
        assert_eq!(read.call_ns, 600.0);
        let [low, high] = read.call_ns_interval.unwrap();
        assert!(200.0 < low && low < 600.0 && 600.0 < high && high < 1000.0, "{low} {high}");
        assert_eq!(read.label(), "read/block:2/file_bytes:4096");
        assert_eq!(
            (read.calls_per_second().round(), read.bytes_per_second().round()),
            (1_666_667.0, 3_333_333.0)
        );
    }

    #[test]
    fn few_samples_have_no_interval_and_none_no_measurement() {
        assert_eq!(Measurement::new("read", 1, 1, vec![5.0]).unwrap().call_ns_interval, None);
        assert_eq!(Measurement::new("read", 1, 1, Vec::new()), None);
        assert_eq!(Measurement::new("read", 0, 0, vec![5.0]), None);
    }
}
