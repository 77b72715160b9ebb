//! A control group of this process's own: a limit on memory, or one on what a device does in a second.
//!
//! The group ends with its owner. One that a killed run has left is empty, and the next run removes it.

use std::fs;
use std::path::{Path, PathBuf};

use fathom_sys::Error;
use fathom_sys::cgroup::{self, Version};

const PREFIX: &str = "fathom-";

/// A group that this process is in. Dropping it moves the process back and removes the group.
#[derive(Debug)]
pub(crate) struct Group {
    directory: PathBuf,
    /// Where the process came from.
    before: PathBuf,
}

impl Group {
    /// Moves this process into a new group that may take `bytes` of memory.
    ///
    /// # Errors
    /// One sentence: no hierarchy has the controller, or what can't be written in it.
    pub(crate) fn of_memory(bytes: u64) -> Result<Self, String> {
        let (group, version) = Self::make("memory")?;
        let setting = match version {
            Version::One => "memory.limit_in_bytes",
            Version::Two => "memory.max",
        };
        group.set(setting, &bytes.to_string())?;
        group.enter()?;
        Ok(group)
    }

    /// Moves this process into a new group of the unified hierarchy with this limit on a device: a line of `io.max`.
    ///
    /// # Errors
    /// As [`of_memory`](Self::of_memory).
    pub(crate) fn of_device(limit: &str) -> Result<Self, String> {
        let (group, _) = Self::make("io")?;
        group.set("io.max", limit)?;
        group.enter()?;
        Ok(group)
    }

    fn make(controller: &str) -> Result<(Self, Version), String> {
        let hierarchy = cgroup::hierarchy(controller).ok_or_else(|| {
            format!("no control groups for '{controller}' are mounted: mount /sys/fs/cgroup")
        })?;
        remove_leftovers(&hierarchy.mount);
        if hierarchy.version == Version::Two {
            // Written data are charged to the group of their writer only where both are controlled.
            let control = hierarchy.mount.join("cgroup.subtree_control");
            let wanted = if controller == "io" { "+memory +io" } else { "+memory" };
            fs::write(&control, wanted).map_err(|error| unset(&control, &error))?;
        }
        let directory = hierarchy.mount.join(format!("{PREFIX}{}", std::process::id()));
        fs::create_dir(&directory)
            .map_err(|error| Error::from_io("make the control group", &directory, &error).to_string())?;
        Ok((Self { directory, before: hierarchy.own }, hierarchy.version))
    }

    /// The directory of the group.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    fn set(&self, setting: &str, value: &str) -> Result<(), String> {
        let file = self.directory.join(setting);
        fs::write(&file, value).map_err(|error| unset(&file, &error))
    }

    fn enter(&self) -> Result<(), String> {
        self.set("cgroup.procs", &std::process::id().to_string())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::write(self.before.join("cgroup.procs"), std::process::id().to_string());
        let _ = fs::remove_dir(&self.directory);
    }
}

/// Removes the groups of runs that are gone: the kernel refuses to remove one that somebody is in.
fn remove_leftovers(mount: &Path) {
    for entry in fs::read_dir(mount).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(process) = name.strip_prefix(PREFIX) else { continue };
        let is_number = process.parse::<u32>().is_ok();
        if is_number && !Path::new("/proc").join(process).exists() {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// A container's root may see the groups and change none.
fn unset(file: &Path, error: &std::io::Error) -> String {
    Error::from_io("write", file, error).to_string()
}
