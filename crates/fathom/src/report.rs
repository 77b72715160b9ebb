//! Values in, strings out.

mod text;

pub use text::{list, survey};
