//! The options of `fathom completions` and `fathom man`.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

#[derive(Debug, Args)]
pub(crate) struct CompletionsOptions {
    /// The shell to print a script for.
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManOptions {
    /// Write the manual pages of the command and of each subcommand into this folder, instead of printing one.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}
