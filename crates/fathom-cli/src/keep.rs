//! Results that are kept in a folder with their page.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use fathom::results::{self, Report};
use fathom::run_folder::{self, Error};

use crate::console;
use crate::failure::Failure;

/// Where a result goes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Destination<'a> {
    /// A folder that was named: a result that can't be kept there is a failure.
    Folder(&'a Path),
    /// The shelf of the last results, as a service: where it can't be had, a line says why.
    Shelf,
    /// It is printed and that is all.
    Nowhere,
}

impl<'a> Destination<'a> {
    /// A folder that was named; without one the shelf, if the result `is_kept` there.
    pub(crate) fn of(folder: Option<&'a Path>, is_kept: bool) -> Self {
        match folder {
            Some(folder) => Self::Folder(folder),
            None if is_kept => Self::Shelf,
            None => Self::Nowhere,
        }
    }
}

/// Makes sure that a folder that was named can take a result.
pub(crate) fn check(destination: Destination<'_>) -> Result<(), Failure> {
    match destination {
        Destination::Folder(folder) => Ok(results::check_free(folder)?),
        Destination::Shelf | Destination::Nowhere => Ok(()),
    }
}

/// Keeps a result of `command`, and says on standard error where its page is and what comes `next`.
pub(crate) fn result(
    destination: Destination<'_>,
    command: &str,
    next: &str,
    result: &dyn Report,
) -> Result<(), Failure> {
    put(destination, command, next, |folder| results::keep(folder, result))
}

/// The same for a result that `write` puts into a folder; it gives the path of the page.
pub(crate) fn put(
    destination: Destination<'_>,
    command: &str,
    next: &str,
    write: impl FnOnce(&Path) -> Result<PathBuf, Error>,
) -> Result<(), Failure> {
    let where_kept = match destination {
        Destination::Nowhere => return Ok(()),
        Destination::Folder(folder) => whereabouts(&write(folder)?, folder),
        Destination::Shelf => match shelved(command, write) {
            Ok((folder, page)) => whereabouts(&page, &folder),
            // The result is printed already: for want of a place nothing of it has failed.
            Err(reason) => format!(
                "\nNo report is kept: {reason}; name a folder with --out, or ask for none with --no-report.\n"
            ),
        },
    };
    console::advise(&format!("{where_kept}{next}"));
    Ok(())
}

fn shelved(
    command: &str,
    write: impl FnOnce(&Path) -> Result<PathBuf, Error>,
) -> Result<(PathBuf, PathBuf), String> {
    run_folder::shelve(&shelf()?, command, SystemTime::now(), write).map_err(|error| error.to_string())
}

/// Where programs keep what outlasts them and is not missed when it is gone
/// (<https://specifications.freedesktop.org/basedir-spec/latest/>).
fn shelf() -> Result<PathBuf, String> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    // A home that is named and not there is none: users of services have such.
    let home = || absolute("HOME").filter(|home| home.is_dir()).map(|home| home.join(".local/state"));
    let state = absolute("XDG_STATE_HOME").or_else(home);
    state.map(|state| state.join("fathom")).ok_or_else(|| "this user has no home directory".to_owned())
}

/// Where a page is, and how to make it anew.
pub(crate) fn whereabouts(page: &Path, folder: &Path) -> String {
    format!(
        "\nThe report is {}: open it in a browser.\n'fathom report {}' writes it again.\n",
        page.display(),
        folder.display()
    )
}
