//! The command line as its users meet it: the built binary, its output, its exit codes and what it
//! leaves behind. Nothing here depends on what a clock shows.

mod bad_input;
mod compare;
mod completions;
mod exercise;
mod faults;
mod fio_formats;
mod io;
mod json;
mod kept;
mod limits;
mod model;
mod mounts;
#[path = "../../../fathom/tests/published/mod.rs"]
mod published;
mod run;
mod signals;
mod speed;
mod support;
mod sweep;
mod trace;
mod user_space;
mod xor;
