//! What CephFS and Lustre declare of a file that is divided among servers, shown without doing so.

use std::ffi::OsStr;

/// How files are said to be divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stripes {
    /// Bytes of a file in one object before it goes on in another: a multiple of 64 KiB.
    pub bytes: u32,
    /// Objects among which the parts alternate.
    pub count: u16,
    /// Whose extended attributes say so.
    pub layout: Layout,
}

/// Whose extended attributes tell of stripes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layout {
    /// Those of CephFS: a text for each number.
    #[default]
    Ceph,
    /// That of Lustre: a structure.
    Lustre,
}

/// The least unit of both file systems: CEPH_MIN_STRIPE_UNIT, LOV_MIN_STRIPE_SIZE.
const LEAST: u32 = 64 << 10;
/// The most stripes: LOV_MAX_STRIPE_COUNT.
const MOST: u16 = 2000;

impl Default for Stripes {
    fn default() -> Self {
        Self { bytes: 4 << 20, count: 1, layout: Layout::Ceph }
    }
}

impl Stripes {
    /// Whether a file system would accept these.
    pub(crate) fn is_possible(self) -> bool {
        self.bytes > 0 && self.bytes.is_multiple_of(LEAST) && (1..=MOST).contains(&self.count)
    }

    /// The value of an extended attribute, where there is one of that name.
    pub(crate) fn attribute(self, name: &OsStr) -> Option<Vec<u8>> {
        let Self { bytes, count, layout } = self;
        // With one object at a time the object's size alone says where a file goes on in another.
        let (unit, object) =
            if count == 1 { (LEAST, u64::from(bytes)) } else { (bytes, 4 * u64::from(bytes)) };
        let text = match (layout, name.to_str()?) {
            (Layout::Ceph, "ceph.file.layout.stripe_unit") => unit.to_string(),
            (Layout::Ceph, "ceph.file.layout.stripe_count") => count.to_string(),
            (Layout::Ceph, "ceph.file.layout.object_size") => object.to_string(),
            (Layout::Lustre, "lustre.lov") => return Some(self.lov()),
            _ => return None,
        };
        Some(text.into_bytes())
    }

    /// A `lov_user_md_v1` with its objects. Source: `lustre_user.h`.
    fn lov(self) -> Vec<u8> {
        const MAGIC: u32 = 0x0BD1_0BD0;
        const RAID0: u32 = 1;
        const OBJECT_BYTES: usize = 24;
        // Between them lies the number of the file.
        let words = [MAGIC, RAID0, 0, 0, 0, 0, self.bytes];
        let mut layout = words.map(u32::to_ne_bytes).concat();
        layout.extend([self.count, 0].map(u16::to_ne_bytes).concat());
        layout.resize(layout.len() + usize::from(self.count) * OBJECT_BYTES, 0);
        layout
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_layout_has_its_own_attributes() {
        let text = |stripes: Stripes, name: &str| {
            let value = stripes.attribute(OsStr::new(&format!("ceph.file.layout.{name}")));
            value.map(|value| String::from_utf8(value).unwrap())
        };
        let one = Stripes::default();
        let shown = ["stripe_unit", "stripe_count", "object_size", "pool"].map(|name| text(one, name));
        assert_eq!(shown, [Some("65536".into()), Some("1".into()), Some("4194304".into()), None]);
        let five = Stripes { bytes: 65536, count: 5, ..one };
        let shown = ["stripe_unit", "stripe_count", "object_size"].map(|name| text(five, name).unwrap());
        assert_eq!(shown, ["65536", "5", "262144"]);
        let lustre = Stripes { layout: Layout::Lustre, ..five };
        assert_eq!((text(lustre, "stripe_unit"), one.attribute(OsStr::new("lustre.lov"))), (None, None));
        let value = lustre.attribute(OsStr::new("lustre.lov")).unwrap();
        assert_eq!(value.len(), 32 + 5 * 24);
        assert_eq!((&value[24..28], &value[28..30]), (&65536u32.to_ne_bytes()[..], &5u16.to_ne_bytes()[..]));
        assert_eq!(lustre.attribute(OsStr::new("security.capability")), None);
    }
}
