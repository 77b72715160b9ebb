//! The `fathom` command.
fn main() {}
