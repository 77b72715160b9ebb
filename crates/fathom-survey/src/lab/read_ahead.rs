//! The read-ahead setting of a case's device, and its return to what it was.
//!
//! The setting belongs to the device's number and outlives the image, so that it is the one thing a
//! killed run would leave behind. What stood there is therefore noted in a file before it is
//! changed; the next run finds the note and puts the setting back.

use std::fs;
use std::path::{Path, PathBuf};

use fathom_sys::Error;
use fathom_sys::facts;
use fathom_sys::file::Errno;

use super::build::plain;

/// Where notes are kept: a directory that lives as long as the settings do, until the next start.
const NOTES: &str = "/run/fathom-lab";
const BLOCK: &str = "/sys/block";

/// A changed setting. Dropping it puts back what stood there.
#[derive(Debug)]
pub(super) struct ReadAhead {
    setting: PathBuf,
    before: String,
    note: Option<PathBuf>,
}

/// Why the setting could not be changed: one sentence.
#[derive(Debug)]
pub(super) enum Unset {
    /// Nobody may write it here: many containers see sysfs read-only.
    Forbidden(String),
    /// Something went wrong.
    Failed(String),
}

impl ReadAhead {
    /// Sets the window of the loop device `name`, in KiB.
    pub(super) fn of_device(name: &str, kib: u32) -> Result<Self, Unset> {
        let setting = setting_of(name);
        let note = Path::new(NOTES).join(name);
        // A note that is there already tells what stood there before a run was killed.
        let before = match fs::read_to_string(&note) {
            Ok(noted) => noted,
            Err(_) => read(&setting)?,
        };
        fs::create_dir_all(NOTES)
            .and_then(|()| fs::write(&note, &before))
            .map_err(|error| Unset::of("write", &note, &error))?;
        Self { setting, before, note: Some(note) }.set(kib)
    }

    /// Sets the window of what is mounted at `point`, in KiB, where it has a setting of its own, which it
    /// takes along when it is unmounted: btrfs, which ignores that of the disk, and FUSE.
    pub(super) fn of_mount(point: &Path, kib: u32) -> Result<Self, Unset> {
        let mount = facts::mount_of(point).map_err(|error| Unset::Failed(error.to_string()))?;
        let (_, setting) = facts::declared_read_ahead(&mount).ok_or_else(|| {
            Unset::Failed(Error::new("find the read-ahead setting of", point, Errno::NOENT).to_string())
        })?;
        let before = read(&setting)?;
        Self { setting, before, note: None }.set(kib)
    }

    fn set(self, kib: u32) -> Result<Self, Unset> {
        fs::write(&self.setting, kib.to_string())
            .map_err(|error| Unset::of("write", &self.setting, &error))?;
        let after = read(&self.setting)?;
        let page_kib = facts::page_size() / 1024;
        if after.parse() == Ok(u64::from(kib) / page_kib * page_kib) {
            return Ok(self);
        }
        Err(Unset::Failed(format!("{} says {after} after {kib} was written", self.setting.display())))
    }
}

impl Drop for ReadAhead {
    fn drop(&mut self) {
        let restored = fs::write(&self.setting, &self.before).is_ok();
        if let (true, Some(note)) = (restored, &self.note) {
            let _ = fs::remove_file(note);
        }
    }
}

/// Puts back the settings that killed runs have left on devices that nobody uses now.
pub(super) fn restore_leftovers() {
    let Ok(notes) = fs::read_dir(NOTES) else { return };
    for note in notes.flatten() {
        let name = note.file_name().to_string_lossy().into_owned();
        // While an image is attached, its owner puts the setting back. A device that is being detached has no file
        // any more, though its directory is still there for a moment.
        let attached = fs::read_to_string(Path::new(BLOCK).join(&name).join("loop/backing_file"));
        if attached.is_ok_and(|file| !file.trim().is_empty()) {
            continue;
        }
        let restored =
            fs::read_to_string(note.path()).and_then(|before| fs::write(setting_of(&name), before));
        if restored.is_ok() {
            let _ = fs::remove_file(note.path());
        }
    }
    // Goes once it is empty, which is the usual case.
    let _ = fs::remove_dir(NOTES);
}

impl Unset {
    fn of(operation: &str, path: &Path, error: &std::io::Error) -> Self {
        let reason = format!("{operation} {}: {}", path.display(), plain(error));
        match Errno::from_io_error(error) {
            Some(Errno::ROFS | Errno::ACCESS | Errno::PERM) => Unset::Forbidden(reason),
            _ => Unset::Failed(reason),
        }
    }
}

fn setting_of(name: &str) -> PathBuf {
    Path::new(BLOCK).join(name).join("queue/read_ahead_kb")
}

fn read(setting: &Path) -> Result<String, Unset> {
    let text = fs::read_to_string(setting).map_err(|error| Unset::of("read", setting, &error))?;
    Ok(text.trim().to_owned())
}
