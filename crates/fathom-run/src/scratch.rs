//! A private directory for scratch files, and the removal of what a killed run left behind.
//!
//! The directory is made with `mkdir(2)` in the surveyed one, so it can't be somebody else's, and a
//! lock on a file inside tells the living from the dead: the kernel drops the lock with the process.

use std::fs::{self, DirBuilder};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use fathom_sys::{Error, Result, file};
use rand::RngExt;

const PREFIX: &str = ".fathom-";
const LOCK: &str = "lock";

/// The directories, and files outside of them, that this process has made and not removed yet.
static LIVING: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A private directory below the surveyed one. Dropping it removes it and everything in it.
#[derive(Debug)]
pub struct Scratch {
    directory: PathBuf,
    /// None once the directory is removed, or about to be.
    lock: Option<OwnedFd>,
}

impl Scratch {
    /// Makes a private directory below `parent`, readable by its owner alone.
    ///
    /// # Errors
    /// What `mkdir(2)` and `open(2)` give: no permission, read-only, full, no such directory.
    pub fn create(parent: &Path) -> Result<Self> {
        let mut generator = rand_pcg::Pcg64Mcg::new(
            u128::from(fathom_sys::clock::monotonic_raw_ns()) << 64 | u128::from(std::process::id()),
        );
        for _ in 0..100 {
            let name = format!("{PREFIX}{:08x}", generator.random::<u32>());
            let directory = parent.join(name);
            match DirBuilder::new().mode(0o700).create(&directory) {
                Ok(()) => match Self::lock(directory)? {
                    Some(scratch) => return Ok(scratch),
                    None => continue,
                },
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::from_io("make a scratch directory in", parent, &error)),
            }
        }
        Err(Error::new("make a scratch directory in", parent, file::Errno::EXIST))
    }

    /// None where another run has taken the new directory for one that a killed run left behind, before it was locked.
    fn lock(directory: PathBuf) -> Result<Option<Self>> {
        let path = directory.join(LOCK);
        let locked = file::create_new(&path).map(|lock| (file::lock_exclusive(&lock), lock));
        let error = match locked {
            Ok((Err(file::Errno::AGAIN), _)) => return Ok(None),
            Ok((Ok(()), _)) | Err(_) if !directory.exists() => return Ok(None),
            Ok((Ok(()), lock)) => {
                living().push(directory.clone());
                return Ok(Some(Self { directory, lock: Some(lock) }));
            }
            Ok((Err(errno), _)) => Error::new("lock", &path, errno),
            Err(error) => error,
        };
        // The first error is what the user must hear of; the directory is as good as empty.
        let _ = remove_all(&directory);
        Err(error)
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.directory
    }
}

impl Scratch {
    /// Removes the directory and everything in it. Dropping does the same, but ignores what can't be removed.
    ///
    /// # Errors
    /// The first removal that failed, and failed again.
    pub fn remove(mut self) -> Result<()> {
        self.unlock_and_remove()
    }

    /// The lock goes first: FUSE and NFS only rename a file that is removed while it is open.
    fn unlock_and_remove(&mut self) -> Result<()> {
        self.lock.take().map_or(Ok(()), |lock| {
            drop(lock);
            remove_living(&self.directory)
        })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What can't be removed now is found and removed by the next run.
        let _ = self.unlock_and_remove();
    }
}

/// Registers the file at `path` as unfinished: it is removed with this process, unless [`keep`] is called.
pub fn begin(path: &Path) {
    living().push(path.to_owned());
}

/// Registers the file at `path` as complete, or gone.
pub fn keep(path: &Path) {
    living().retain(|other| other != path);
}

/// The files that this process has made and not removed yet: what a run that hangs leaves behind.
pub fn left() -> Vec<PathBuf> {
    living().clone()
}

/// Removes the files that [`left`] lists, as far as possible, even if other threads still use them.
pub fn abandon() {
    for directory in left() {
        let _ = remove_living(&directory);
    }
}

fn living() -> MutexGuard<'static, Vec<PathBuf>> {
    LIVING.lock().unwrap_or_else(PoisonError::into_inner)
}

fn remove_living(directory: &Path) -> Result<()> {
    remove_all(directory).inspect(|()| living().retain(|other| other != directory))
}

/// The pauses between the tries of a removal that fails: a fault may have hit this one call alone, and a server of
/// files learns only some time after it that the last user of a file has closed it.
const PAUSES_MS: [u64; 7] = [0, 1, 10, 50, 100, 300, 0];

/// Removes a directory with all that can be removed in it, and reports the first that can't.
fn remove_all(directory: &Path) -> Result<()> {
    if fs::symlink_metadata(directory).is_ok_and(|about| about.is_file()) {
        return gone("remove", directory, fs::remove_file(directory));
    }
    let mut outcome = Ok(());
    for pause in PAUSES_MS {
        outcome =
            remove_inside(directory).and_then(|()| gone("remove", directory, fs::remove_dir(directory)));
        if outcome.is_ok() {
            break;
        }
        thread::sleep(Duration::from_millis(pause));
    }
    outcome
}

fn remove_inside(directory: &Path) -> Result<()> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) => return gone("list", directory, Err(error)),
    };
    let mut outcome = Ok(());
    for entry in entries {
        let removed = match entry {
            Ok(entry) if entry.file_type().is_ok_and(|kind| kind.is_dir()) => remove_all(&entry.path()),
            Ok(entry) => gone("remove", &entry.path(), fs::remove_file(entry.path())),
            Err(error) => gone("list", directory, Err(error)),
        };
        // The others still go: what stays behind takes space.
        outcome = outcome.and(removed);
    }
    outcome
}

/// What is gone already is as good as removed.
fn gone(operation: &'static str, path: &Path, outcome: std::io::Result<()>) -> Result<()> {
    match outcome {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::from_io(operation, path, &error))
        }
        _ => Ok(()),
    }
}

/// Removes scratch directories below `parent` whose owner process is gone, and lists them.
///
/// It touches only directories that have Fathom's name, belong to this user and have a lock that no process holds.
pub fn remove_leftovers(parent: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(parent) else { return Vec::new() };
    entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX))
        .map(|entry| entry.path())
        .filter(|path| remove_abandoned(path))
        .collect()
}

/// Removes a directory whose owner process is gone; returns whether it did.
fn remove_abandoned(directory: &Path) -> bool {
    let Some(lock) = lock_of_abandoned(directory) else { return false };
    // A process that is just making it no longer finds it under its name, and makes another.
    let renamed = directory.with_extension("left");
    let directory = if fs::rename(directory, &renamed).is_ok() { &renamed } else { directory };
    // FUSE and NFS only rename a file that is removed while it is open.
    drop(lock);
    remove_all(directory).is_ok()
}

/// The lock of a directory whose owner is gone, as far as it has one.
fn lock_of_abandoned(directory: &Path) -> Option<Option<OwnedFd>> {
    let about = fs::symlink_metadata(directory).ok()?;
    if !about.is_dir() || about.uid() != fathom_sys::facts::user_id() {
        return None;
    }
    match file::open(&directory.join(LOCK)) {
        Ok(lock) => file::lock_exclusive(&lock).is_ok().then_some(Some(lock)),
        // Killed between making the directory and its lock, unless it is being made right now.
        Err(_) => {
            let age = about.modified().ok().and_then(|time| time.elapsed().ok());
            age.is_some_and(|age| age > Duration::from_secs(2)).then_some(None)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_living_directory_stays_and_a_dead_one_goes() {
        let parent = Scratch::create(&std::env::temp_dir()).unwrap();
        let living = Scratch::create(parent.path()).unwrap();
        let dead = parent.path().join(".fathom-dead");
        fs::create_dir(&dead).unwrap();
        fs::write(dead.join(LOCK), "").unwrap();
        fs::write(dead.join("data"), [1; 100]).unwrap();
        let foreign = parent.path().join("mine");
        fs::create_dir(&foreign).unwrap();
        assert_eq!(remove_leftovers(parent.path()), [dead]);
        assert!(living.path().exists() && foreign.exists());
        let path = living.path().to_owned();
        drop(living);
        assert!(!path.exists());
    }

    #[test]
    fn a_new_directory_is_never_taken_for_a_leftover() {
        let parent = Scratch::create(&std::env::temp_dir()).unwrap();
        thread::scope(|scope| {
            let cleaning = scope.spawn(|| {
                for _ in 0..300 {
                    remove_leftovers(parent.path());
                    thread::sleep(Duration::from_micros(100));
                }
            });
            while !cleaning.is_finished() {
                let one = Scratch::create(parent.path()).unwrap();
                fs::write(one.path().join("file"), "data").unwrap();
            }
        });
    }

    #[test]
    fn everything_in_it_goes_with_it() {
        let scratch = Scratch::create(&std::env::temp_dir()).unwrap();
        let (path, inner) = (scratch.path().to_owned(), scratch.path().join("inner"));
        fs::create_dir(&inner).unwrap();
        fs::write(inner.join("file"), [1; 10]).unwrap();
        scratch.remove().unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn a_missing_parent_is_named() {
        let error = Scratch::create(Path::new("/nonexistent/here")).unwrap_err();
        assert!(error.to_string().starts_with("make a scratch directory in /nonexistent/here: No such file"));
    }
}
