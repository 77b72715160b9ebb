//! Building one case and letting it go again.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fathom_sys::file::Errno;
use fathom_sys::loop_device::LoopDevice;
use fathom_sys::{Error, facts, mount};

use super::fuse::Host;
use super::holes;
use super::throttle::{self, READS, Throttle, WRITTEN};
use super::unbuilt::{PATIENCE, Unbuilt};
use crate::case::{Case, Conditions, Layout};
use fathom_run::fault::plain;
use fathom_run::intrusion::{self, Change, Group, Settings};

/// A mounted case. Dropping it unmounts it and gives the device and its image back.
#[derive(Debug)]
pub(super) struct Testbed {
    point: PathBuf,
    mounted: bool,
    device: Option<LoopDevice>,
    /// Where the layers of an overlay are mounted.
    below: Option<PathBuf>,
    group: Option<Group>,
    settings: Vec<Settings>,
}

impl Testbed {
    /// Makes an image, formats and mounts it below `base`, and sets the read-ahead window.
    pub(super) fn build(case: &Case, base: &Path, images: &Path, host: &Host) -> Result<Self, Unbuilt> {
        let point = base.join(&case.name);
        fs::create_dir_all(&point).map_err(|error| {
            Unbuilt::Failed(format!("make the mount point {}: {}", point.display(), plain(&error)))
        })?;
        let mut testbed =
            Self { point, mounted: false, device: None, below: None, group: None, settings: Vec::new() };
        let source = match &case.mkfs {
            Some(words) => {
                let program = program_of(words, case.package)?;
                let device = LoopDevice::over_nameless_file(images, case.image_bytes, case.sector_size)
                    .map_err(no_device)?;
                let path = device.path().to_owned();
                testbed.device = Some(device);
                format(&program, &placed(words, &testbed.point), &path)?;
                path.display().to_string()
            }
            None => "fathom-case".to_owned(),
        };
        if case.fs_type == "overlay" {
            testbed.mount_layers(&source, base, case)?;
        } else if case.fs_type == "fuse" {
            host.mount(&testbed.point, &case.mount_options)?;
        } else {
            mount::mount(&source, &testbed.point, &case.fs_type, &case.mount_options).map_err(unmountable)?;
        }
        testbed.mounted = true;
        if let (Layout::Holes(bytes), Some(device)) = (case.layout, &testbed.device) {
            holes::leave(&testbed.point, &device.name(), bytes)
                .map_err(|error| Unbuilt::Failed(error.to_string()))?;
        }
        if let Some(kib) = case.read_ahead_kib {
            testbed.set_read_ahead(case, kib)?;
        }
        testbed.slow_down(case)?;
        // Last of all, so that making the file system is not charged to it.
        testbed.group = case.conditions.memory.map(Group::of_memory).transpose().map_err(Unbuilt::Skipped)?;
        Ok(testbed)
    }

    /// Mounts ext4, and an overlay with both of its layers in it.
    fn mount_layers(&mut self, source: &str, base: &Path, case: &Case) -> Result<(), Unbuilt> {
        let below = base.join(format!("{}.below", case.name));
        let make = |path: &Path| {
            let made = fs::create_dir_all(path);
            made.map_err(|error| Unbuilt::Failed(format!("make {}: {}", path.display(), plain(&error))))
        };
        make(&below)?;
        mount::mount(source, &below, "ext4", "").map_err(unmountable)?;
        let layers = ["lower", "upper", "work"].map(|layer| below.join(layer));
        self.below = Some(below);
        layers.iter().try_for_each(|layer| make(layer))?;
        let [lower, upper, work] = layers.each_ref().map(|layer| layer.display());
        let options = format!("lowerdir={lower},upperdir={upper},workdir={work}");
        mount::mount("fathom-case", &self.point, "overlay", &options).map_err(unmountable)
    }

    /// Limits the device and dirty data, and sets how long they wait.
    fn slow_down(&mut self, case: &Case) -> Result<(), Unbuilt> {
        let Conditions { write_rate, read_rate, .. } = case.conditions;
        for (what, rate) in [(WRITTEN, write_rate), (READS, read_rate)] {
            let (Some(device), Some(rate)) = (&self.device, rate) else { continue };
            match throttle::of_device(&device.name(), what, rate)? {
                Throttle::Setting(settings) => self.settings.push(settings),
                Throttle::Group(group) => self.group = Some(group),
            }
        }
        if let Some([background, limit]) = case.conditions.dirty {
            // What is dirty already counts, whosever it is.
            fathom_sys::dirty::sync();
            self.settings.push(intrusion::limit_dirty_data(background, limit).map_err(Unbuilt::Skipped)?);
        }
        if let Some(delays) = case.conditions.flusher {
            self.settings.push(intrusion::set_flusher(delays).map_err(Unbuilt::Skipped)?);
        }
        Ok(())
    }

    /// Where the case is mounted.
    pub(super) fn point(&self) -> &Path {
        &self.point
    }

    /// Sets the read-ahead window. The setting belongs to the device's number and outlives the image; btrfs, which
    /// ignores that of the disk, and FUSE have one of their own.
    fn set_read_ahead(&mut self, case: &Case, kib: u32) -> Result<(), Unbuilt> {
        let failed = |reason: String| Unbuilt::Failed(reason);
        let (name, setting) = match (case.fs_type.as_str(), &self.device) {
            ("btrfs" | "fuse", _) => {
                let mount = facts::mount_of(&self.point).map_err(|error| failed(error.to_string()))?;
                let declared = facts::declared_read_ahead(&mount);
                let (_, setting) = declared
                    .ok_or_else(|| failed(format!("{} has no read-ahead setting", self.point.display())))?;
                (case.name.clone(), setting)
            }
            (_, Some(device)) => {
                let name = device.name();
                let setting = Path::new("/sys/block").join(&name).join("queue/read_ahead_kb");
                (name, setting)
            }
            (_, None) => return Ok(()),
        };
        let now = || {
            let text = fs::read_to_string(&setting);
            text.map_err(|error| failed(format!("read {}: {}", setting.display(), plain(&error))))
        };
        let change = |kib: &str| [Change::new(&setting, kib)];
        let (before, wanted) = (now()?, kib.to_string());
        let settings =
            Settings::change(&format!("read-ahead-{name}"), &change(&wanted), &change(before.trim()));
        self.settings.push(settings.map_err(Unbuilt::Skipped)?);
        let (after, page_kib) = (now()?, facts::page_size() / 1024);
        match after.trim().parse() == Ok(u64::from(kib) / page_kib * page_kib) {
            true => Ok(()),
            false => Err(failed(format!("{} says {after} after {kib} was written", setting.display()))),
        }
    }
}

impl Drop for Testbed {
    fn drop(&mut self) {
        self.group = None;
        // Before the device is given back, or the setting of its next owner would be changed.
        self.settings.clear();
        let mounted = self.mounted.then_some(&self.point);
        for point in mounted.into_iter().chain(&self.below) {
            if !until(PATIENCE, || mount::unmount(point).is_ok()) {
                // Somebody still looks at it: out of sight now, gone when they are done.
                let _ = mount::detach(point);
            }
        }
        let Some(device) = self.device.take() else { return };
        let backing = Path::new("/sys/block").join(device.name()).join("loop/backing_file");
        let image = fs::read_to_string(&backing);
        drop(device);
        // The kernel detaches the device at its last close, which may be that of a process that was
        // told of a new disk. The next case must find the memory free.
        if let Ok(image) = image {
            until(PATIENCE, || fs::read_to_string(&backing).ok().as_ref() != Some(&image));
        }
    }
}

/// Asks again and again until `done` or the time is up; says which.
fn until(patience: Duration, mut done: impl FnMut() -> bool) -> bool {
    let started = Instant::now();
    loop {
        if done() {
            return true;
        }
        if started.elapsed() > patience {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The image was made a moment ago and is sound, so what the kernel refuses is the format.
fn unmountable(error: Error) -> Unbuilt {
    match error.errno {
        Errno::INVAL | Errno::NODEV | Errno::NOSYS | Errno::OPNOTSUPP => {
            Unbuilt::Unsupported(error.to_string())
        }
        _ => Unbuilt::Failed(error.to_string()),
    }
}

fn no_device(error: Error) -> Unbuilt {
    match error.errno {
        Errno::NOENT | Errno::NXIO | Errno::NODEV => {
            Unbuilt::Skipped(format!("the kernel has no loop devices (module 'loop'): {error}"))
        }
        Errno::OPNOTSUPP | Errno::ISDIR => {
            Unbuilt::Skipped(format!("nameless files can't be made where images are kept: {error}"))
        }
        _ => Unbuilt::Failed(error.to_string()),
    }
}

/// Finds the program, also where the search path of a plain user leaves out the administrator's.
fn program_of(words: &[String], package: Option<&str>) -> Result<PathBuf, Unbuilt> {
    let name = words.first().map(String::as_str).unwrap_or_default();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/sbin", "/sbin", "/usr/local/sbin"].map(PathBuf::from);
    let found = std::env::split_paths(&path).chain(usual).map(|directory| directory.join(name));
    found.into_iter().find(|program| program.is_file()).ok_or_else(|| {
        let package = package.unwrap_or("its package");
        Unbuilt::Skipped(format!("{name} is missing: install {package}"))
    })
}

/// The words with the empty directory of the mount point in them, where a program wants one.
fn placed(words: &[String], empty: &Path) -> Vec<String> {
    words
        .iter()
        .map(|word| if word == "EMPTY" { empty.display().to_string() } else { word.clone() })
        .collect()
}

fn format(program: &Path, words: &[String], device: &Path) -> Result<(), Unbuilt> {
    // The device comes last, unless the words say where.
    let is_placed = words.iter().any(|word| word == "DEVICE");
    let word = |word: &String| if word == "DEVICE" { device.into() } else { OsString::from(word) };
    let last = (!is_placed).then(|| device.into());
    let arguments = words.iter().skip(1).map(word).chain(last);
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .map_err(|error| Unbuilt::Failed(format!("run {}: {}", program.display(), plain(&error))))?;
    if output.status.success() {
        return Ok(());
    }
    const LONGEST: usize = 300;
    let said = String::from_utf8_lossy(&output.stderr);
    let said: Vec<&str> = said.split_whitespace().collect();
    let said: String = said.join(" ").chars().take(LONGEST).collect();
    Err(Unbuilt::Failed(format!("{} failed ({}): {said}", words.join(" "), output.status)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_named_with_its_package() {
        let words = ["mkfs.nothing".to_owned()];
        let Err(Unbuilt::Skipped(reason)) = program_of(&words, Some("nothing-progs")) else {
            panic!("found a program that does not exist");
        };
        assert_eq!(reason, "mkfs.nothing is missing: install nothing-progs");
    }

    #[test]
    fn a_program_that_fails_is_quoted() {
        let words = ["sh", "-c", "echo it is  broken >&2; exit 3"].map(str::to_owned);
        let Err(Unbuilt::Failed(reason)) = format(Path::new("/bin/sh"), &words, Path::new("/dev/null"))
        else {
            panic!("a failure went unseen");
        };
        assert!(reason.ends_with("failed (exit status: 3): it is broken"), "{reason}");
    }

    #[test]
    fn waiting_ends_with_success_or_with_time() {
        let mut asked = 0;
        assert!(until(PATIENCE, || {
            asked += 1;
            asked == 3
        }));
        assert!(!until(Duration::from_millis(1), || false));
    }
}
