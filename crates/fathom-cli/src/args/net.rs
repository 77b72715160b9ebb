//! The options of `fathom net`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::args::model::OnOptions;

#[derive(Debug, Subcommand)]
pub(crate) enum NetCommand {
    /// List the modules.
    List,
    /// List the parameters of a model, as --set takes them: docs/parameters.md.
    Parameters,
    /// Draw a module, or the top level.
    Show(ShowOptions),
}

#[derive(Debug, Args)]
pub(crate) struct ShowOptions {
    /// The module; the top level if none is named.
    #[arg(default_value = "", conflicts_with = "flat")]
    pub(crate) module: String,
    /// Draw everything at once, with the modules as frames.
    #[arg(long)]
    pub(crate) flat: bool,
    /// Show the tokens after so many firings, while a cold file of 1 MiB is read in order.
    #[arg(long, value_name = "FIRINGS")]
    pub(crate) marking: Option<u64>,
    /// The language of the drawing.
    #[arg(long, default_value = "dot", value_name = "FORMAT")]
    pub(crate) format: DrawingFormat,
    /// Write to this file instead of standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) on: OnOptions,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum DrawingFormat {
    /// For Graphviz.
    Dot,
    /// A picture by itself.
    Svg,
}
