//! Values in, strings out.

pub mod comma_separated;
mod curve;
pub mod fio_json;
pub mod google_benchmark;
pub mod hyperfine;
mod jobs;
mod speed;
mod table;
mod text;
mod versus;

pub use curve::curve;
pub use jobs::jobs;
pub use speed::{file_size, syscalls, transfer, xor};
pub use text::{list, survey};
pub use versus::versus;
