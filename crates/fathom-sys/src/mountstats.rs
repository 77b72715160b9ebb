//! What the kernel's NFS client tells of a mount beyond its options. Source: `nfs_show_stats` of `fs/nfs/super.c`.

use std::fs;
use std::path::Path;

/// Everything told of one mount.
fn section<'a>(text: &'a str, point: &Path) -> Option<&'a str> {
    let point = format!(" mounted on {} with fstype nfs", point.display());
    let begin = text.lines().find(|line| line.starts_with("device ") && line.contains(&point))?;
    let from = begin.as_ptr() as usize - text.as_ptr() as usize;
    let section = &text[from..];
    let end = section[begin.len()..].find("\ndevice ").map_or(section.len(), |end| end + begin.len());
    Some(&section[..end])
}

fn options_in(text: &str, point: &Path) -> Option<String> {
    let options = section(text, point)?.lines().find_map(|line| line.trim().strip_prefix("opts:"))?;
    Some(options.trim().to_owned())
}

/// All options that are in force at an NFS mount, also those that have their usual value and stand in no table of
/// mounts.
pub fn options(point: &Path) -> Option<String> {
    options_in(&fs::read_to_string("/proc/self/mountstats").ok()?, point)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "device proc mounted on /proc with fstype proc\n\
        device one:/a mounted on /mnt/a with fstype nfs4 statvers=1.1\n\topts:\trw,vers=4.2,rsize=262144,acregmin=3\n\tage:\t9\n\
        device one:/b mounted on /mnt/b with fstype nfs statvers=1.1\n\topts:\trw,vers=3,rsize=8192,acregmin=7\n";

    #[test]
    fn options_are_those_of_the_mount() {
        let of = |point: &str| options_in(TEXT, Path::new(point));
        assert_eq!(of("/mnt/a").unwrap(), "rw,vers=4.2,rsize=262144,acregmin=3");
        assert_eq!(of("/mnt/b").unwrap(), "rw,vers=3,rsize=8192,acregmin=7");
        assert_eq!((of("/proc"), of("/mnt")), (None, None));
    }
}
