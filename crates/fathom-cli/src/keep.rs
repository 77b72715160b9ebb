//! Results that are kept in a folder with their page.

use std::path::Path;

use fathom::report;
use fathom::run_folder::{self, Kept};

use crate::console;
use crate::failure::Failure;

/// Makes sure that `--out`, where it was given, can take a result.
pub(crate) fn check(directory: Option<&Path>) -> Result<(), Failure> {
    directory.map_or(Ok(()), run_folder::check_free).map_err(|error| Failure::Failed(error.to_string()))
}

/// Keeps a result, where there is a folder for it, and says beside standard output where its page is.
pub(crate) fn result(directory: Option<&Path>, kept: impl FnOnce() -> Kept) -> Result<(), Failure> {
    let Some(directory) = directory else {
        console::hint("For figures add '--out DIR'.");
        return Ok(());
    };
    let kept = kept();
    let page = run_folder::keep(directory, &kept, &report::kept_page(&kept))
        .map_err(|error| Failure::Failed(error.to_string()))?;
    console::tell(&whereabouts(&page, directory), true)
}

/// Where a page is, and how to make it anew.
pub(crate) fn whereabouts(page: &Path, directory: &Path) -> String {
    format!(
        "\nThe report is {}: open it in a browser. 'fathom report {}' writes it again.\n",
        page.display(),
        directory.display()
    )
}
