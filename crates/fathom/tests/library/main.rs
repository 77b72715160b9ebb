//! The library as those who call it meet it: in one binary, because to link each of these by itself took longer than
//! most of them run.
#![allow(clippy::print_stdout, reason = "a test that is skipped says so, and others show their figures")]

mod comparison;
mod formats;
mod jobs;
#[path = "../published/mod.rs"]
mod published;
mod run_folder;
mod same_calls;
mod scripted;
mod session;
mod simulated;
