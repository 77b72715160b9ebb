//! How a report draws an experiment's readings, and where its answer lies among them.

/// The figure of an experiment's readings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// Latency against the place in the file, of the pass with the most places; a distribution of latencies where no pass has many.
    Sweep {
        /// What the passes over these places are, in order; passes beyond them are named by their calls.
        passes: &'static [&'static str],
    },
    /// Latency against the place in the file, and folded at four times the period.
    Comb,
    /// Latency against the place in the file, over all runs, which begin at different bytes.
    Interleaved,
    /// Latency of single reads against the distance from what was read first.
    Probes,
    /// Latency against the size of a call, with the fitted line, from which two questions take their answers.
    CostLine {
        /// The parameter that is the cost at size zero.
        call: &'static str,
        /// The parameter that is the cost of so many bytes more.
        page: &'static str,
        /// Those bytes.
        page_bytes: u64,
    },
    /// Throughput against the size of a call.
    Rates,
    /// Time of a sync against the age of the data that it writes.
    Ages,
    /// The distribution of latencies.
    Spread,
    /// The extents of the file, one after the other.
    Extents,
}

/// Where an answer lies along a file. All values in bytes from the start of the file.
#[derive(Debug, Clone, PartialEq)]
pub enum Along {
    /// At one place.
    At(f64),
    /// At one place, given by its distance from the end.
    FromEnd(f64),
    /// At every `period` bytes, from `first` on.
    Every {
        /// The first place.
        first: f64,
        /// The distance from one to the next.
        period: f64,
    },
    /// At every `period` bytes, where the slowest calls are.
    EveryWait {
        /// The distance from one to the next.
        period: f64,
    },
    /// At the ends of some parts of the file.
    Ends {
        /// What ends there: `windows`.
        what: &'static str,
        /// Where.
        at: Vec<f64>,
    },
}

/// The numbers that other questions of the same survey found, by parameter.
pub type Others<'a> = dyn Fn(&str) -> Option<f64> + 'a;
