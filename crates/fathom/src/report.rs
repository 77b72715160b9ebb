//! Values in, strings out.

pub mod comma_separated;
pub mod google_benchmark;
pub mod hyperfine;
mod speed;
mod text;

pub use speed::xor;
pub use text::{list, survey};
