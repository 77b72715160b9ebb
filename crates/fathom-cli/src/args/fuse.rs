//! The options of `fathom lab fuse`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct FuseOptions {
    /// An empty directory to mount it on.
    pub(crate) dir: PathBuf,
    /// What it is like, as words separated by commas: block=BYTES, size=BYTES; latencies call=TIME,
    /// page=TIME (per page read), new_block=TIME; faults at the Nth call since the mount, or with N+
    /// from then on: eio=CALL@N, eintr=CALL@N, short=CALL@N, hang=CALL@N:TIME, enospc=BYTES.
    #[arg(long, default_value = "", value_name = "WORDS")]
    pub(crate) plan: String,
}
