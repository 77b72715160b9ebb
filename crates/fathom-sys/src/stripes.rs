//! How the servers of CephFS, Lustre and GlusterFS divide a file among themselves, as the mount declares it.

use std::fs;
use std::path::Path;

use crate::facts::Mount;

/// What a mount declares of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stripes {
    /// What declares it: an extended attribute of the file, or an option of the client.
    pub source: &'static str,
    /// Bytes of a file that lie in one object before it goes on in another; none where parts have no such size. An error is
    /// the reason why it is not known.
    pub size: Result<Option<u64>, &'static str>,
    /// Objects among which the parts alternate; none where their number is not fixed.
    pub count: Result<Option<u64>, &'static str>,
}

impl Stripes {
    fn unknown(source: &'static str, reason: &'static str) -> Self {
        Self { source, size: Err(reason), count: Err(reason) }
    }
}

/// What is declared of the file at `path` on `mount`; none where the mount declares no stripes.
pub fn declared(mount: &Mount, path: &Path) -> Option<Stripes> {
    let found = match mount.fs_type.as_str() {
        "fuse.glusterfs" => return gluster(mount),
        _ => ceph(path).or_else(|| attribute(path, LOV).map(|layout| of_lustre(&layout))),
    };
    let has_stripes = ["ceph", "fuse.ceph", "lustre"].iter().any(|kind| mount.fs_type.starts_with(kind));
    found
        .or_else(|| has_stripes.then(|| Stripes::unknown("xattr", "the mount does not tell a file's layout")))
}

fn attribute(path: &Path, name: &str) -> Option<Vec<u8>> {
    // XATTR_SIZE_MAX.
    let mut value = vec![0; 65536];
    let length = rustix::fs::getxattr(path, name, value.as_mut_slice()).ok()?;
    value.truncate(length);
    Some(value)
}

/// Source: Ceph's documentation, "File layouts", and `ceph_vxattrs` of `fs/ceph/xattr.c`.
fn ceph(path: &Path) -> Option<Stripes> {
    const NAMES: [&str; 3] =
        ["ceph.file.layout.stripe_unit", "ceph.file.layout.stripe_count", "ceph.file.layout.object_size"];
    let fields = NAMES.map(|name| attribute(path, name));
    fields.iter().any(Option::is_some).then(|| of_ceph(fields))
}

/// From the texts of the unit, the count and the size of an object.
fn of_ceph(fields: [Option<Vec<u8>>; 3]) -> Stripes {
    const SOURCE: &str = "ceph.file.layout";
    let numbers = fields.map(|text| std::str::from_utf8(&text?).ok()?.trim().parse().ok());
    match numbers {
        [Some(unit @ 1..), Some(count @ 1..), Some(object @ 1u64..)] if object % unit == 0 => {
            // With one object at a time a file fills an object before it goes on in the next one.
            let size = if count == 1 { object } else { unit };
            Stripes { source: SOURCE, size: Ok(Some(size)), count: Ok(Some(count)) }
        }
        _ => Stripes::unknown(SOURCE, "the layout that CephFS declares can't be read"),
    }
}

const LOV: &str = "lustre.lov";
const UNREADABLE: &str = "the layout that Lustre declares can't be read";

/// The stripes of one component of a layout: bytes and objects, where it says how many.
type Component = [Option<u64>; 2];

/// From a `lov_user_md` or a `lov_comp_md_v1` in the byte order of this machine. Source: `lustre_user.h`.
fn of_lustre(layout: &[u8]) -> Stripes {
    let components = match components(layout) {
        Ok(components) => components,
        Err(reason) => return Stripes::unknown(LOV, reason),
    };
    // Only the first ones exist while a file is short: all of them must agree.
    let agreed = |at: usize, differ, open| {
        let first = components[0][at];
        match components.iter().all(|component| component[at] == first) {
            true => first.map(Some).ok_or(open),
            false => Err(differ),
        }
    };
    Stripes {
        source: LOV,
        size: agreed(
            0,
            "stripes differ in size from one part of a file to the next",
            "the layout leaves the size of a stripe open",
        ),
        count: agreed(
            1,
            "the number of stripes differs from one part of a file to the next",
            "the layout leaves the number of stripes open",
        ),
    }
}

/// All components of a layout, of which there is at least one.
fn components(layout: &[u8]) -> Result<Vec<Component>, &'static str> {
    const COMPOSITE: u64 = 0x0BD6_0BD0;
    const HEADER: usize = 32;
    const ENTRY: usize = 48;
    if field(layout, 0, 4) != Some(COMPOSITE) {
        return Ok(vec![component(layout)?]);
    }
    let count = field(layout, 14, 2).filter(|&count| count > 0).ok_or(UNREADABLE)? as usize;
    let of = |index: usize| {
        let entry = HEADER + index * ENTRY;
        let [from, length] =
            [24, 28].map(|at| field(layout, entry + at, 4).map_or(usize::MAX, |at| at as usize));
        component(layout.get(from..from.saturating_add(length)).ok_or(UNREADABLE)?)
    };
    (0..count).map(of).collect()
}

/// A component from a `lov_user_md_v1` or `lov_user_md_v3`.
fn component(layout: &[u8]) -> Result<Component, &'static str> {
    const MAGICS: [u64; 2] = [0x0BD1_0BD0, 0x0BD3_0BD0];
    // Stripes (RAID0) on servers of data, several on one server (0x200) or compressed (0x800).
    const STRIPED: [u64; 3] = [0x001, 0x201, 0x801];
    // All there are: LOV_ALL_STRIPES_WIDE and above.
    const ALL: u64 = 0xffe0;
    let at = |from, length| field(layout, from, length).ok_or(UNREADABLE);
    let (magic, pattern, size, count) = (at(0, 4)?, at(4, 4)?, at(24, 4)?, at(28, 2)?);
    if !MAGICS.contains(&magic) {
        return Err(UNREADABLE);
    }
    if !STRIPED.contains(&(pattern & 0xffff)) {
        return Err(
            "a part of a file is not striped: it lies on the metadata server, or is kept in another way",
        );
    }
    Ok([(size > 0).then_some(size), (1..ALL).contains(&count).then_some(count)])
}

/// A number of two or four bytes.
fn field(bytes: &[u8], at: usize, length: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(length)?)?;
    Some(match bytes.try_into() {
        Ok(four) => u32::from_ne_bytes(four).into(),
        Err(_) => u16::from_ne_bytes(bytes.try_into().ok()?).into(),
    })
}

/// What GlusterFS's client shows of its layers ("translators") at the root of each mount. Source: `xlators/meta`.
///
/// Parts ("shards") are files whose names decide where they lie, so that their number is not fixed.
fn gluster(mount: &Mount) -> Option<Stripes> {
    const SOURCE: &str = "shard-block-size";
    let silent = |reason| Some(Stripes::unknown(SOURCE, reason));
    let read = |path: std::path::PathBuf| fs::read_to_string(path).ok();
    let graph = mount.point.join(".meta/graphs/active");
    let Some(layers) = fs::read_dir(&graph).ok().filter(|_| mount.root == Path::new("/")) else {
        return silent(
            "the client's own settings are not visible at the root of the mount: .meta/graphs/active",
        );
    };
    let layers: Vec<_> = layers.flatten().map(|layer| layer.path()).filter(|path| path.is_dir()).collect();
    let is = |layer: &&std::path::PathBuf, kind: &str| {
        read(layer.join("type")).is_some_and(|text| text.contains(kind))
    };
    if layers.iter().any(|layer| is(&layer, "cluster/disperse") || is(&layer, "cluster/stripe")) {
        return silent("each part of a file is coded over several servers: the volume is dispersed");
    }
    let shards = layers.iter().find(|layer| is(layer, "features/shard"))?;
    let option = read(shards.join("options").join(SOURCE));
    let state = read(shards.join("private")).unwrap_or_default();
    let size = shard_bytes(option.as_deref(), &state).map(Some);
    let reason =
        "the size of a shard was changed after the mount, and is shown rounded: mount it again to know it";
    Some(Stripes { source: SOURCE, size: size.ok_or(reason), count: Ok(None) })
}

/// The size of a shard, by the option with which it was mounted and what the layer tells of itself now, rounded.
///
/// The option stays as it was when the size is changed later; where it was not set, the usual size holds.
fn shard_bytes(option: Option<&str>, state: &str) -> Option<u64> {
    const USUAL: &str = "64MB";
    let line = state.lines().find_map(|line| line.strip_prefix("shard-block-size"))?;
    let (rounded, power) = number_and_power(line.trim().strip_prefix('=')?.trim())?;
    let is_shown = |bytes: &u64| format!("{:.1}", *bytes as f64 / (1u64 << power) as f64) == rounded;
    [option.unwrap_or(USUAL), USUAL].into_iter().filter_map(|text| gluster_bytes(text.trim())).find(is_shown)
}

/// A size as GlusterFS reads it: `gf_string2bytesize_range`.
fn gluster_bytes(text: &str) -> Option<u64> {
    let (number, power) = number_and_power(text)?;
    let bytes = number.parse::<f64>().ok()? * (1u64 << power) as f64;
    (bytes >= 1.0).then_some(bytes as u64)
}

/// The number of a size, and the power of two that its unit is.
fn number_and_power(text: &str) -> Option<(&str, u32)> {
    const UNITS: [(&str, u32); 7] =
        [("", 0), ("B", 0), ("KB", 10), ("MB", 20), ("GB", 30), ("TB", 40), ("PB", 50)];
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).map(|(_, power)| (number, *power))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u32 = 1 << 20;

    fn ceph(fields: [&str; 3]) -> Stripes {
        of_ceph(fields.map(|text| Some(text.as_bytes().to_vec())))
    }

    #[test]
    fn ceph_goes_on_in_another_object_after_a_unit_or_a_whole_object() {
        let of = |fields| {
            let stripes = ceph(fields);
            (stripes.size.unwrap().unwrap(), stripes.count.unwrap().unwrap())
        };
        assert_eq!(of(["4194304", "1", "4194304"]), (4 << 20, 1));
        assert_eq!(of(["65536", "1", "4194304"]), (4 << 20, 1));
        assert_eq!(of(["65536\n", "5", "4194304"]), (65536, 5));
    }

    #[test]
    fn a_broken_layout_of_ceph_is_no_answer() {
        for fields in [
            ["0", "1", "4194304"],
            ["65536", "0", "4194304"],
            ["65536", "1", "0"],
            ["65536", "1", "100000"],
            ["", "1", "4194304"],
            ["65536", "many", "4194304"],
        ] {
            assert!(ceph(fields).size.is_err() && ceph(fields).count.is_err(), "{fields:?}");
        }
        assert!(of_ceph([Some(b"65536".to_vec()), None, None]).size.is_err());
    }

    /// A `lov_user_md_v1`.
    fn lov(magic: u32, pattern: u32, size: u32, count: u16) -> Vec<u8> {
        let mut bytes = [magic, pattern, 7, 0, 3, 0, size].map(u32::to_ne_bytes).concat();
        bytes.extend(count.to_ne_bytes());
        bytes.extend([0; 2]);
        bytes
    }

    const V1: u32 = 0x0BD1_0BD0;
    const V3: u32 = 0x0BD3_0BD0;

    fn composite(components: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = 0x0BD6_0BD0_u32.to_ne_bytes().to_vec();
        bytes.extend([0; 10]);
        bytes.extend((components.len() as u16).to_ne_bytes());
        bytes.resize(32, 0);
        let mut from = 32 + 48 * components.len();
        for component in components {
            bytes.extend([0; 24]);
            bytes.extend([from as u32, component.len() as u32].map(u32::to_ne_bytes).concat());
            bytes.extend([0; 16]);
            from += component.len();
        }
        bytes.extend(components.concat());
        bytes
    }

    fn lustre(bytes: &[u8]) -> [Option<u64>; 2] {
        let stripes = of_lustre(bytes);
        [stripes.size, stripes.count].map(|part| part.ok().flatten())
    }

    #[test]
    fn lustre_says_how_large_a_stripe_is_and_how_many_there_are() {
        let wanted = [Some(4 << 20), Some(12)];
        assert_eq!(lustre(&lov(V1, 1, 4 * MIB, 12)), wanted);
        assert_eq!(lustre(&[lov(V3, 0x8000_0201, 4 * MIB, 12), vec![0; 16 + 12 * 24]].concat()), wanted);
        assert_eq!(lustre(&composite(&[lov(V1, 1, 4 * MIB, 12)])), wanted);
        assert_eq!(lustre(&composite(&[lov(V1, 1, 4 * MIB, 12), lov(V3, 1, 4 * MIB, 12)])), wanted);
    }

    #[test]
    fn parts_of_a_file_that_differ_have_no_one_answer() {
        let first = || lov(V1, 1, MIB, 1);
        assert_eq!(lustre(&composite(&[first(), lov(V1, 1, MIB, 8)])), [Some(1 << 20), None]);
        assert_eq!(lustre(&composite(&[first(), lov(V1, 1, 4 * MIB, 1)])), [None, Some(1)]);
        assert_eq!(lustre(&composite(&[first(), lov(V1, 1, MIB, 0xffff)])), [Some(1 << 20), None]);
        let on_metadata_server = lov(V1, 0x100, MIB, 0);
        let stripes = of_lustre(&composite(&[on_metadata_server, first()]));
        assert!(stripes.size.unwrap_err().contains("metadata server") && stripes.count.is_err());
        assert_eq!(lustre(&lov(V1, 1, 0, 0)), [None; 2]);
    }

    #[test]
    fn a_broken_layout_of_lustre_is_no_answer() {
        let whole = composite(&[lov(V1, 1, MIB, 1), lov(V1, 1, MIB, 1)]);
        assert_eq!(lustre(&whole), [Some(1 << 20), Some(1)]);
        for length in 0..whole.len() - 2 {
            assert_eq!(lustre(&whole[..length]), [None; 2], "{length} bytes");
        }
        assert_eq!(lustre(&lov(0x0BD7_0BD0, 1, MIB, 1)), [None; 2]);
        assert_eq!(lustre(&lov(0, 1, MIB, 1)), [None; 2]);
        assert_eq!(lustre(&composite(&[])), [None; 2]);
        assert_eq!(lustre(&composite(&[whole])), [None; 2]);
    }

    #[test]
    fn sizes_of_glusterfs_are_read_as_it_reads_them() {
        for (text, bytes) in [
            ("64MB", 64 << 20),
            ("4194304", 4 << 20),
            ("4194304b", 4 << 20),
            ("4.5mb", 9 << 19),
            ("1GB", 1 << 30),
        ] {
            assert_eq!(gluster_bytes(text), Some(bytes), "{text}");
        }
        for text in ["", "MB", "0", "0MB", "4MiB", "-4MB", "4 MB", "1.2.3MB", "64MB64"] {
            assert_eq!(gluster_bytes(text), None, "{text}");
        }
    }

    #[test]
    fn an_option_of_glusterfs_that_is_no_longer_in_force_is_no_answer() {
        let of = |option, now: &str| {
            shard_bytes(
                option,
                &format!("[features/shard.v-shard]\nshard-block-size = {now}\ninode-count = 39\n"),
            )
        };
        assert_eq!(of(Some("4MB\n"), "4.0MB"), Some(4 << 20));
        assert_eq!(of(Some("5.3MB\n"), "5.3MB"), Some(0x54_cccc));
        assert_eq!(of(Some("2048MB\n"), "2.0GB"), Some(2 << 30));
        assert_eq!(of(None, "64.0MB"), Some(64 << 20));
        // It was reset since, and is as usual.
        assert_eq!(of(Some("4MB\n"), "64.0MB"), Some(64 << 20));
        for (option, now) in
            [(Some("4MB"), "8.0MB"), (None, "8.0MB"), (Some("4MB"), ""), (Some("4MB"), "4.0")]
        {
            assert_eq!(of(option, now), None, "{option:?}, {now}");
        }
        assert_eq!(shard_bytes(Some("4MB"), ""), None);
    }

    #[test]
    fn a_file_of_this_machine_declares_none() {
        let path = std::env::current_exe().unwrap();
        let mount = crate::facts::mount_of(&path).unwrap();
        assert_eq!(declared(&mount, &path), None);
        assert!(
            declared(&Mount { fs_type: "lustre".to_owned(), ..mount.clone() }, &path).unwrap().size.is_err()
        );
        let elsewhere = Mount { fs_type: "fuse.glusterfs".to_owned(), ..mount };
        assert!(declared(&elsewhere, &path).unwrap().size.unwrap_err().contains(".meta"));
    }
}
