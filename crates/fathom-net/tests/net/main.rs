//! Nets as those who build them see them, held against queueing theory, SNAKES and SimPN.
#![allow(clippy::print_stdout, reason = "says what was compared, or why nothing was")]

mod drawing;
mod log;
mod oracle;
mod queueing;
mod simpn;
