//! Raw observations with their provenance. Durations, outlier labels and everything else are derived elsewhere.

use std::io;

use serde::{Deserialize, Serialize};

use fathom_program::units::Ticks;
use fathom_program::workload::{CacheState, CallKind, Workload};

/// What a machine returns for a workload. Its JSON lacks the readings, which a table holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Samples {
    /// The workload that was run.
    pub workload: Workload,
    /// Which machine ran it: `linux`, `scripted`, `recorded`.
    pub machine: String,
    /// Ticks per second of the clock.
    pub ticks_per_second: f64,
    /// One entry per timed operation, in the order they were done. Rounds that were cut short are left out entirely.
    #[serde(skip)]
    pub readings: Vec<Reading>,
    /// Bytes that reads returned, timed or not.
    pub bytes_read: u64,
    /// Bytes that were written, timed or not, including those that filled the scratch files.
    pub bytes_written: u64,
    /// The bytes that the run was still allowed to write when it began, by which an experiment chose its size.
    pub write_budget: u64,
    /// How long the run took, in nanoseconds of the machine's own time.
    pub elapsed_ns: u64,
    /// Notes to the reader of the samples: rounds that were cut short, a clock that was not pinned.
    pub notes: Vec<String>,
}

/// One timed operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// The file offset in bytes.
    #[serde(rename = "offset_bytes")]
    pub offset: u64,
    /// The difference of the two clock readings around the call, including the clock's own cost.
    #[serde(rename = "latency_ticks")]
    pub latency: Ticks,
    /// The round, counted from zero after the warm-up.
    pub round: u32,
    /// The cache state before the pass, where the pass depends on it.
    #[serde(rename = "cached")]
    pub cache: Option<CacheState>,
    /// The operation.
    pub op: CallKind,
    /// The pass, by its place in the workload.
    pub pass: u32,
    /// The operation's place in the pass.
    pub step: u32,
    /// The index of the position in the region, whatever order they were visited in.
    pub position: u32,
    /// The first clock reading.
    #[serde(rename = "start_ticks")]
    pub start: Ticks,
}

/// Notes on a measurement in rounds: whether its thread was bound to a CPU, and how many of the wanted rounds it completed.
pub fn notes(is_bound: bool, done: u32, wanted: u32) -> Vec<String> {
    let unbound = (!is_bound).then(|| "the thread could not be bound to one CPU".to_owned());
    let short = (done < wanted).then(|| format!("time ran out after {done} of {wanted} rounds"));
    unbound.into_iter().chain(short).collect()
}

impl Samples {
    /// The passes with a label, by their place in the workload.
    pub fn labelled(&self, label: &str) -> impl Iterator<Item = usize> {
        let passes = self.workload.passes.iter().enumerate();
        passes.filter(move |(_, pass)| pass.label == label).map(|(index, _)| index)
    }

    /// The latencies of one operation of the first pass with a label, as [`matrix`](Self::matrix) orders them.
    pub fn latencies(&self, label: &str, step: usize) -> Vec<f64> {
        self.labelled(label).next().map_or_else(Vec::new, |pass| self.matrix(pass, step))
    }

    /// The positions of the first pass with a label; none where there is no such pass.
    pub fn positions(&self, label: &str) -> usize {
        self.labelled(label).next().map_or(0, |pass| self.workload.passes[pass].region.count as usize)
    }

    /// The latencies of one operation of one pass in ticks: rounds by positions, row-major.
    ///
    /// Empty where nothing was kept. Every row has as many entries as the region has positions.
    pub fn matrix(&self, pass: usize, step: usize) -> Vec<f64> {
        let positions = self.workload.passes.get(pass).map_or(0, |pass| pass.region.count as usize);
        let chosen = |reading: &&Reading| reading.pass as usize == pass && reading.step as usize == step;
        let rounds =
            self.readings.iter().filter(chosen).map(|reading| reading.round + 1).max().unwrap_or(0) as usize;
        let mut matrix = vec![0.0; rounds * positions];
        for reading in self.readings.iter().filter(chosen) {
            matrix[reading.round as usize * positions + reading.position as usize] = reading.latency.0 as f64;
        }
        matrix
    }

    /// The number of completed rounds.
    pub fn rounds(&self) -> u32 {
        self.readings.iter().map(|reading| reading.round + 1).max().unwrap_or(0)
    }

    /// The number of readings taken in another cache state than their pass asked for.
    pub fn wrong_state(&self) -> usize {
        let wrong = |reading: &&Reading| {
            let needed = self.workload.passes.get(reading.pass as usize).and_then(|pass| pass.needs);
            needed.is_some_and(|needed| matches!(reading.cache, Some(state) if state != needed && state != CacheState::Unknown))
        };
        self.readings.iter().filter(wrong).count()
    }

    /// The number of readings that needed a cache state which could not be proven.
    pub fn unproven(&self) -> usize {
        self.readings.iter().filter(|reading| reading.cache == Some(CacheState::Unknown)).count()
    }

    /// A span of ticks in nanoseconds.
    pub fn nanoseconds(&self, ticks: f64) -> f64 {
        ticks / self.ticks_per_second * 1e9
    }
}

/// Sentences on how many readings of some runs were taken in the wrong cache state, and of how many the state is not proven; none
/// where there are no such readings.
pub fn state_caveats(runs: &[Samples]) -> [Option<String>; 2] {
    let [wrong, unproven] =
        [Samples::wrong_state, Samples::unproven].map(|count| runs.iter().map(count).sum::<usize>());
    [
        (wrong > 0).then(|| format!("{wrong} readings were taken in the wrong cache state")),
        (unproven > 0).then(|| format!("the cache state of {unproven} readings could not be proven")),
    ]
}

/// Writes readings as comma-separated values under a header line with the units.
///
/// # Errors
/// What the writer gives.
pub fn write_csv<'a>(readings: impl IntoIterator<Item = &'a Reading>, to: impl io::Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(to);
    for reading in readings {
        writer.serialize(reading).map_err(io::Error::other)?;
    }
    writer.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_program::workload::{Pass, Region, ScratchFile};

    fn reading(round: u32, position: u32, latency: u64, cache: Option<CacheState>) -> Reading {
        let offset = u64::from(position) * 512;
        Reading {
            offset,
            latency: Ticks(latency),
            round,
            cache,
            op: CallKind::Pread,
            pass: 0,
            step: 0,
            position,
            start: Ticks(9),
        }
    }

    fn samples(readings: Vec<Reading>) -> Samples {
        let region = Region { offset: 0, size: 512, step: 512, count: 2 };
        let workload = Workload::new(vec![ScratchFile::filled("a", 1024)])
            .pass(Pass::timed(0, &[CallKind::Pread], region).needs(CacheState::Cold));
        Samples {
            workload,
            machine: "scripted".to_owned(),
            ticks_per_second: 2e9,
            readings,
            bytes_read: 0,
            bytes_written: 0,
            write_budget: 0,
            elapsed_ns: 0,
            notes: Vec::new(),
        }
    }

    #[test]
    fn the_matrix_is_ordered_by_position_whatever_the_order_of_time() {
        let kept = samples(vec![
            reading(0, 1, 11, None),
            reading(0, 0, 10, None),
            reading(1, 0, 20, None),
            reading(1, 1, 21, None),
        ]);
        assert_eq!(kept.matrix(0, 0), [10.0, 11.0, 20.0, 21.0]);
        assert!(kept.matrix(0, 1).is_empty());
        assert!((kept.nanoseconds(4.0) - 2.0).abs() < 1e-12);
    }

    #[test]
    fn wrong_states_are_counted_and_unknown_ones_apart() {
        let states = [Some(CacheState::Cold), Some(CacheState::Cached), Some(CacheState::Unknown), None];
        let kept = samples(states.iter().map(|&state| reading(0, 0, 1, state)).collect());
        assert_eq!((kept.wrong_state(), kept.unproven()), (1, 1));
        let [wrong, unproven] = state_caveats(&[kept.clone(), kept]).map(Option::unwrap_or_default);
        assert!(wrong.starts_with("2 ") && unproven.contains(" 2 "), "{wrong}; {unproven}");
        assert_eq!(state_caveats(&[samples(vec![reading(0, 0, 1, None)])]), [None, None]);
    }

    #[test]
    fn readings_survive_csv_and_the_header_has_units() {
        let readings = vec![reading(0, 0, 10, Some(CacheState::Cold)), reading(1, 1, 20, None)];
        let mut text = Vec::new();
        write_csv(&readings, &mut text).unwrap();
        let header = String::from_utf8_lossy(&text).lines().next().unwrap().to_owned();
        assert_eq!(header, "offset_bytes,latency_ticks,round,cached,op,pass,step,position,start_ticks");
        let read: Result<Vec<Reading>, _> =
            csv::Reader::from_reader(text.as_slice()).into_deserialize().collect();
        assert_eq!(read.unwrap(), readings);
    }
}
