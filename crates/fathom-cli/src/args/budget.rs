//! The options of how far a command may go.

use std::time::Duration;

use clap::Args;
use fathom::units::{parse_bytes, parse_duration};

/// What a command may write, and how long it may take. Other defaults are set where this is flattened.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct LimitOptions {
    /// Write at most this much in all.
    #[arg(long, default_value = "256MiB", value_parser = parse_bytes, value_name = "SIZE")]
    pub(crate) max_write: u64,
    /// Take at most this long.
    #[arg(long, default_value = "60s", value_parser = parse_duration, value_name = "TIME")]
    pub(crate) max_time: Duration,
}

/// What a command may write, how long it may take, and the seed of the random orders in which it measures.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct BudgetOptions {
    #[command(flatten)]
    pub(crate) limits: LimitOptions,
    /// Seed of the random orders.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}
