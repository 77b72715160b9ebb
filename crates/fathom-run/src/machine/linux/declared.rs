//! What the real kernel declares of a mount.

use std::path::Path;
use std::time::Duration;

use fathom_sys::cgroup::MemoryLimit;
use fathom_sys::facts::Mount;
use fathom_sys::{cgroup, dirty, facts, mountstats, stripes};

use crate::fault::Fault;
use crate::witness::{Commits, Declared, MemoryBound, Server, Stripes};

/// What jbd2 does unless it is told otherwise: `JBD2_DEFAULT_MAX_COMMIT_AGE`, and `BTRFS_DEFAULT_COMMIT_INTERVAL`.
const JBD2_COMMIT: u64 = 5;
const BTRFS_COMMIT: u64 = 30;

/// What the kernel declares of the mount at `path` and of a file there, which may or may not have been seen in the cache.
pub(super) fn declared(path: &Path, file: &Path, caches_files: bool) -> Result<Declared, Fault> {
    let mount = facts::mount_of(path)?;
    let read_ahead =
        facts::declared_read_ahead(&mount).map(|(bytes, file)| (bytes, file.display().to_string()));
    let direct = fathom_sys::layout::direct_alignment(file)?;
    Ok(Declared {
        page_size: facts::page_size(),
        block_size: facts::space(path)?.block_size,
        read_ahead,
        cpu_caches: facts::cpu_caches(),
        fs_type: mount.fs_type.clone(),
        direct_alignment: direct.map(|direct| (u64::from(direct.memory), u64::from(direct.offset))),
        memory: memory_bound(),
        generations: facts::keeps_generations(),
        dirty_thresholds: dirty::declared_thresholds(),
        strict_share: facts::strict_share(&mount),
        flusher: dirty::flusher_delays(),
        commits: commits(&mount),
        caches_files,
        writes_through: mount.options.split(',').any(|option| option == "sync"),
        server: server(&mount, file),
    })
}

/// What is declared of the server of the mount's files, of which `file` is one, where they have one. A FUSE file system over
/// a block device has one too: it is a process of this machine.
fn server(mount: &Mount, file: &Path) -> Option<Server> {
    let is_served = ["fuse", "nfs", "cifs", "smb", "ceph", "lustre", "9p", "virtiofs", "afs"];
    if mount.fs_type == "overlay" {
        return facts::upper_of(mount).and_then(|below| server(&below, file));
    }
    if !is_served.iter().any(|kind| mount.fs_type.starts_with(kind)) {
        return None;
    }
    let options = format!("{},{}", mount.options, mountstats::options(&mount.point).unwrap_or_default());
    let option = |key: &'static str| {
        let value: u64 = facts::option_value(&options, key)?.parse().ok()?;
        Some((value, key.to_owned()))
    };
    let seconds = |key| option(key).map(|(value, key)| (Duration::from_secs(value), key));
    Some(Server {
        attributes: seconds("acregmin").or_else(|| seconds("actimeo")),
        names: seconds("acdirmin").or_else(|| seconds("actimeo")),
        read_request: option("max_read").or_else(|| option("rsize")),
        write_request: option("wsize"),
        in_flight: facts::fuse_background(mount).map(|limit| (limit, "max_background".to_owned())),
        stripes: stripes::declared(mount, file).map(|found| Stripes {
            source: found.source.to_owned(),
            size: found.size.map_err(str::to_owned),
            count: found.count.map_err(str::to_owned),
        }),
    })
}

/// The limit of the group that this process is in now, or all the memory there is.
fn memory_bound() -> MemoryBound {
    let total = facts::memory_bytes();
    match cgroup::memory_limit().filter(|limit| limit.bytes < total) {
        Some(MemoryLimit { bytes, file }) => {
            let source = file.file_name().map(|name| name.to_string_lossy().into_owned());
            MemoryBound { bytes, source: source.unwrap_or_default(), limited: true }
        }
        None => MemoryBound { bytes: total, source: "MemTotal".to_owned(), limited: false },
    }
}

/// How often the file system of `mount` commits unasked.
fn commits(mount: &Mount) -> Commits {
    let option = facts::option_value(&mount.options, "commit").and_then(|seconds| seconds.parse().ok());
    let seconds = |usual: u64| Duration::from_secs(option.unwrap_or(usual));
    match mount.fs_type.as_str() {
        "ext3" | "ext4" => match facts::device_of(mount) {
            // The root file system is named /dev/root in some tables, and its device is known by its number.
            Some(device) if !facts::has_journal(&device.name) => Commits::Never,
            _ => Commits::Every(seconds(JBD2_COMMIT)),
        },
        // Source: `transaction_kthread`.
        "btrfs" => Commits::About(seconds(BTRFS_COMMIT)),
        "xfs" => dirty::xfs_log_period().map_or(Commits::Unknown, Commits::Within),
        "ext2" | "vfat" | "exfat" | "squashfs" | "iso9660" | "tmpfs" | "ramfs" => Commits::Never,
        "overlay" => facts::upper_of(mount).map_or(Commits::Unknown, |below| commits(&below)),
        _ => Commits::Unknown,
    }
}
