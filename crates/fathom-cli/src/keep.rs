//! Results that are kept in a folder with their page.

use std::path::Path;

use fathom::run_folder;
use serde::Serialize;

use crate::console;
use crate::failure::Failure;

/// Makes sure that `--out`, where it was given, can take a result.
pub(crate) fn check(directory: Option<&Path>) -> Result<(), Failure> {
    directory.map_or(Ok(()), run_folder::check_free).map_err(|error| Failure::Failed(error.to_string()))
}

/// Keeps the result of the command `name`, and says beside standard output where its page is.
pub(crate) fn result(
    directory: Option<&Path>,
    name: &str,
    result: &impl Serialize,
    page: impl FnOnce() -> String,
) -> Result<(), Failure> {
    let Some(directory) = directory else { return Ok(()) };
    let page = run_folder::keep(directory, name, result, &page())
        .map_err(|error| Failure::Failed(error.to_string()))?;
    console::tell(&format!("The report is {}: open it in a browser.\n", page.display()), true)
}
