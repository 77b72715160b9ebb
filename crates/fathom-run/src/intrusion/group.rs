//! A control group of this process's own: a limit on memory, or one on what a device does in a second.
//!
//! The group ends with its owner. One that a killed run has left is empty, and the next run removes it.

use std::fs;
use std::path::{Path, PathBuf};

use fathom_sys::Error;
use fathom_sys::cgroup::{self, Hierarchy, Version};

use super::setting::{Change, Settings, unset};

const PREFIX: &str = "fathom-";

/// A control group that this process is in. Dropping it moves the process back and removes the group.
#[derive(Debug)]
pub struct Group {
    directory: PathBuf,
    /// Where the process came from.
    before: PathBuf,
    /// Controllers that the hierarchy did not hand on before.
    _handed_on: Option<Settings>,
}

impl Group {
    /// Moves this process into a new group that may take `bytes` of memory.
    ///
    /// # Errors
    /// One sentence: no hierarchy has the controller, or what can't be written in it.
    pub fn of_memory(bytes: u64) -> Result<Self, String> {
        Self::of_memory_in(&mounted("memory")?, bytes)
    }

    fn of_memory_in(hierarchy: &Hierarchy, bytes: u64) -> Result<Self, String> {
        let group = Self::make(hierarchy, &["memory"])?;
        let setting = match hierarchy.version {
            Version::One => "memory.limit_in_bytes",
            Version::Two => "memory.max",
        };
        group.set(setting, &bytes.to_string())?;
        group.enter()?;
        Ok(group)
    }

    /// Moves this process into a new group of the unified hierarchy with this limit on a device. The limit is a line of `io.max`.
    ///
    /// # Errors
    /// As [`of_memory`](Self::of_memory).
    pub fn of_device(limit: &str) -> Result<Self, String> {
        // Written data are charged to the group of their writer only where both are controlled.
        let group = Self::make(&mounted("io")?, &["memory", "io"])?;
        group.set("io.max", limit)?;
        group.enter()?;
        Ok(group)
    }

    fn make(hierarchy: &Hierarchy, controllers: &[&str]) -> Result<Self, String> {
        remove_leftovers(&hierarchy.mount);
        let handed_on = match hierarchy.version {
            Version::One => None,
            Version::Two => hand_on(&hierarchy.mount.join("cgroup.subtree_control"), controllers)?,
        };
        let directory = hierarchy.mount.join(format!("{PREFIX}{}", std::process::id()));
        fs::create_dir(&directory)
            .map_err(|error| Error::from_io("make the control group", &directory, &error).to_string())?;
        Ok(Self { directory, before: hierarchy.own.clone(), _handed_on: handed_on })
    }

    /// The directory of the group.
    pub fn directory(&self) -> &Path {
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

fn mounted(controller: &str) -> Result<Hierarchy, String> {
    cgroup::hierarchy(controller)
        .ok_or_else(|| format!("no control groups for '{controller}' are mounted: mount /sys/fs/cgroup"))
}

/// Lets the groups of the unified hierarchy have these controllers, until what is given is dropped; nothing where
/// they have them already. Source: `cgroups(7)`, cgroup.subtree_control.
fn hand_on(control: &Path, controllers: &[&str]) -> Result<Option<Settings>, String> {
    let handed_on = fs::read_to_string(control).unwrap_or_default();
    let lacking = |name: &&&str| handed_on.split_whitespace().all(|had| had != **name);
    let change = |sign: char| -> Vec<Change> {
        let lacking = controllers.iter().filter(lacking);
        lacking.map(|name| Change::new(control, format!("{sign}{name}"))).collect()
    };
    let (given, taken_back) = (change('+'), change('-'));
    (!given.is_empty()).then(|| Settings::change("controllers", &given, &taken_back)).transpose()
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A hierarchy in plain files, whose unified version hands these controllers on.
    fn planted(version: Version, handed_on: &str) -> Hierarchy {
        let name = format!("fathom-group-{version:?}-{}-{}", handed_on.len(), std::process::id());
        let mount = std::env::temp_dir().join(name);
        fs::create_dir_all(mount.join("own")).unwrap();
        fs::write(mount.join("cgroup.subtree_control"), handed_on).unwrap();
        Hierarchy { version, own: mount.join("own"), mount }
    }

    #[test]
    fn each_version_has_its_own_file_and_the_process_goes_back() {
        let me = std::process::id().to_string();
        for (version, limit) in [(Version::One, "memory.limit_in_bytes"), (Version::Two, "memory.max")] {
            let hierarchy = planted(version, "cpu memory pids\n");
            let group = Group::of_memory_in(&hierarchy, 64 << 20).unwrap();
            let written = |directory: &Path, file: &str| fs::read_to_string(directory.join(file)).unwrap();
            let directory = group.directory().to_owned();
            assert_eq!(directory.parent(), Some(hierarchy.mount.as_path()));
            assert_eq!(written(&directory, limit), (64 << 20).to_string());
            assert_eq!(written(&directory, "cgroup.procs"), me);
            drop(group);
            assert_eq!(written(&hierarchy.own, "cgroup.procs"), me, "it goes back where it came from");
            assert_eq!(written(&hierarchy.mount, "cgroup.subtree_control"), "cpu memory pids\n");
            fs::remove_dir_all(&hierarchy.mount).unwrap();
        }
    }

    #[test]
    fn controllers_that_are_handed_on_for_a_group_are_taken_back() {
        let hierarchy = planted(Version::Two, "cpu\n");
        let control = hierarchy.mount.join("cgroup.subtree_control");
        match hand_on(&control, &["memory", "io"]) {
            Ok(settings) => {
                assert_eq!(
                    fs::read_to_string(&control).unwrap(),
                    "+io",
                    "one write for each, the last one stays"
                );
                drop(settings);
                assert_eq!(fs::read_to_string(&control).unwrap(), "-io");
            }
            // Notes are kept where only root may write.
            Err(reason) => assert!(reason.contains("/run/fathom") || reason.contains("notes"), "{reason}"),
        }
        fs::write(&control, "io memory\n").unwrap();
        assert!(hand_on(&control, &["memory", "io"]).unwrap().is_none());
        fs::remove_dir_all(&hierarchy.mount).unwrap();
    }
}
