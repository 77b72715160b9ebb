//! The shelf: where results stand that were given no folder of their own. It holds the last few; older ones go.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use chrono::{DateTime, Utc};

use super::Error;

/// The most results that the shelf holds.
pub const SHELVED: usize = 10;

/// What results are of; the name of a folder on the shelf begins with it.
const COMMANDS: [&str; 10] =
    ["survey", "curve", "syscalls", "versus", "run", "predict", "sweep", "calibrate", "validate", "trace"];

/// Makes a folder on the shelf for a result of `command`, fills it by `fill`, and removes the oldest folders beyond [`SHELVED`].
/// Returns the folder and the result of `fill`. A folder that could not be filled is removed.
///
/// # Errors
/// [`Error::File`] where the folder can't be made, and what `fill` says.
pub fn shelve<T>(
    shelf: &Path,
    command: &str,
    now: SystemTime,
    fill: impl FnOnce(&Path) -> Result<T, Error>,
) -> Result<(PathBuf, T), Error> {
    let folder = new_folder(shelf, command, now)?;
    let filled = fill(&folder);
    if filled.is_err() {
        // Made here a moment ago. What can't be removed goes when its turn comes.
        let _ = fs::remove_dir_all(&folder);
    }
    let filled = filled?;
    take_down(shelf);
    Ok((folder, filled))
}

/// Others need not see what somebody's files are called.
fn new_folder(shelf: &Path, command: &str, now: SystemTime) -> Result<PathBuf, Error> {
    let mut private = DirBuilder::new();
    private.mode(0o700);
    private.recursive(true).create(shelf).map_err(|error| Error::file("make", shelf, &error))?;
    let name = format!("{command}-{}", DateTime::<Utc>::from(now).format("%Y%m%d-%H%M%S"));
    let mut folder = shelf.join(&name);
    for number in 2.. {
        match private.recursive(false).create(&folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                folder = shelf.join(format!("{name}-{number}"));
            }
            made => {
                return made.map(|()| folder.clone()).map_err(|error| Error::file("make", &folder, &error));
            }
        }
    }
    Ok(folder)
}

/// Removes the oldest folders that [`shelve`] made; nothing else that may be there.
fn take_down(shelf: &Path) {
    let Ok(entries) = fs::read_dir(shelf) else { return };
    let folders = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let names = folders.filter_map(|entry| entry.file_name().into_string().ok());
    let mut shelved: Vec<(String, String)> =
        names.filter_map(|name| Some((moment(&name)?.to_owned(), name))).collect();
    shelved.sort();
    for (_, name) in shelved.iter().rev().skip(SHELVED) {
        // What stays is tried again next time.
        let _ = fs::remove_dir_all(shelf.join(name));
    }
}

/// The moment in a name that [`new_folder`] gave, as text that sorts by time.
fn moment(name: &str) -> Option<&str> {
    let (command, moment) = name.split_once('-')?;
    let digits = |part: Option<&str>, count: usize| {
        part.is_some_and(|part| part.len() == count && part.bytes().all(|one| one.is_ascii_digit()))
    };
    let mut parts = moment.splitn(3, '-');
    (COMMANDS.contains(&command) && digits(parts.next(), 8) && digits(parts.next(), 6)).then_some(moment)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    struct Place(PathBuf);

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn place(test: &str) -> Place {
        Place(std::env::temp_dir().join(format!("fathom-shelf-{test}-{}", std::process::id())))
    }

    fn names(shelf: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(shelf)
            .unwrap()
            .flatten()
            .filter_map(|one| one.file_name().into_string().ok())
            .collect();
        names.sort();
        names
    }

    fn at(second: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + second)
    }

    #[test]
    fn the_last_ones_stand_there_and_nothing_else_is_touched() {
        let place = place("last");
        let shelf = &place.0;
        fs::create_dir_all(shelf.join("mine-20200101-000000")).unwrap();
        fs::create_dir_all(shelf.join("survey-of-mine")).unwrap();
        fs::write(shelf.join("survey-20200101-000000"), "a file").unwrap();
        for second in 0..30 {
            let command = if second % 2 == 0 { "trace" } else { "curve" };
            let (folder, ()) = shelve(shelf, command, at(second), |folder| {
                fs::write(folder.join("report.html"), "page")
                    .map_err(|error| Error::file("write", folder, &error))
            })
            .unwrap();
            assert!(folder.join("report.html").exists());
        }
        let left = names(shelf);
        assert_eq!(left.len(), SHELVED + 3, "{left:?}");
        assert!(left.contains(&"curve-20231114-221349".to_owned()), "the newest: {left:?}");
        assert!(!left.contains(&"trace-20231114-221320".to_owned()), "the oldest: {left:?}");
    }

    #[test]
    fn two_of_one_moment_have_folders_of_their_own_and_a_failure_leaves_none() {
        let place = place("moment");
        let shelf = &place.0;
        let made = |_: &Path| Ok(());
        let (first, ()) = shelve(shelf, "survey", at(0), made).unwrap();
        let (second, ()) = shelve(shelf, "survey", at(0), made).unwrap();
        assert_ne!(first, second);
        let full = Error::Taken(shelf.clone());
        assert_eq!(shelve(shelf, "survey", at(0), |_| Err::<(), _>(full.clone())), Err(full));
        assert_eq!(names(shelf), ["survey-20231114-221320", "survey-20231114-221320-2"]);
    }
}
