//! The options of `fathom net`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::args::changed;
use crate::args::model::OnOptions;

#[derive(Debug, Subcommand)]
pub(crate) enum NetCommand {
    /// List the modules of the net.
    List,
    /// List the parameters of a model, with units and meaning, as --set takes them.
    Parameters,
    /// Draw one module of the net, or its top level.
    Show(ShowOptions),
}

#[derive(Debug, Args)]
#[command(mut_args(changed("on", |arg| arg.help(
    "Draw the net of this model (a file that 'fathom calibrate' wrote); without this option, that of the built-in example \
     'assumed'",
))))]
pub(crate) struct ShowOptions {
    /// The module to draw ('fathom net list' names them); the top level if none is named.
    #[arg(default_value = "", hide_default_value = true, conflicts_with = "flat")]
    pub(crate) module: String,
    /// Draw the whole net at once, with a frame around each module.
    #[arg(long)]
    pub(crate) flat: bool,
    /// Show where the net's tokens are after this many steps (firings) of reading a cold file of 1 MiB in order.
    #[arg(long, value_name = "FIRINGS")]
    pub(crate) marking: Option<u64>,
    /// The file format of the drawing.
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
    /// Graphviz's language.
    Dot,
    /// A picture.
    Svg,
}
