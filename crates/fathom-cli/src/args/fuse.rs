//! The options of `fathom lab fuse`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct FuseOptions {
    /// An empty directory to mount it on.
    pub(crate) dir: PathBuf,
    /// How the file system behaves, as settings separated by commas. Sizes: block=BYTES, size=BYTES.
    /// Latencies: call=TIME, page=TIME (per page read), new_block=TIME, rtt=TIME (per request), flush=TIME (per close).
    /// What the kernel may believe, and for how long: attr=TIME, entry=TIME, negative=TIME. Requests:
    /// max_read=BYTES, max_write=BYTES, threads=N (served at once), background=N (sent at once by the kernel for reading
    /// ahead and writing back). Writes wait at each call, or with cache=writeback in the kernel until the file is closed,
    /// or with write=late in the server until then. Faults at the Nth call since the mount, or with N+ at every call from then on: eio=CALL@N, eintr=CALL@N, short=CALL@N,
    /// hang=CALL@N:TIME. No space after so many bytes: enospc=BYTES.
    #[arg(long, default_value = "", hide_default_value = true, value_name = "WORDS")]
    pub(crate) plan: String,
}
