//! Values in, strings out.

pub mod comma_separated;
mod comparison;
mod curve;
mod figure;
pub mod fio_json;
pub mod google_benchmark;
pub mod hyperfine;
mod jobs;
mod limits;
mod page;
mod prediction;
mod speed;
mod speed_page;
mod survey_page;
mod table;
mod text;
mod validation;
mod versus;

pub use comparison::{comparison, comparison_page};
pub use curve::curve;
pub use jobs::jobs;
pub use prediction::prediction;
pub use speed::{file_size, syscalls, transfer, xor};
pub use speed_page::{curve_page, syscalls_page};
pub use survey_page::{Runs, survey_page};
pub use text::{list, survey, survey_in_colour};
pub use validation::{calibration, validation};
pub use versus::versus;
