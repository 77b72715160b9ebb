//! Values in, strings out.

pub mod comma_separated;
pub mod google_benchmark;
pub mod hyperfine;
mod text;

pub use text::{list, survey};
