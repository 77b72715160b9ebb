//! The options of everything that keeps its result with a page.

use std::path::PathBuf;

use clap::Args;

use crate::keep::Destination;

#[derive(Debug, Args)]
pub(crate) struct KeepOptions {
    /// Keep the result and its page in this new folder. Without this option they are kept below
    /// ~/.local/state/fathom ($XDG_STATE_HOME/fathom), which holds the last 10, unless standard output is JSON or CSV.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Keep neither the result nor its page.
    #[arg(long, conflicts_with = "out")]
    pub(crate) no_report: bool,
}

impl KeepOptions {
    /// Where the result goes; `for_people` says that standard output carries text.
    pub(crate) fn destination(&self, for_people: bool) -> Destination<'_> {
        // A program that reads the result has it, and looks at no page.
        Destination::of(self.out.as_deref(), for_people && !self.no_report)
    }
}
