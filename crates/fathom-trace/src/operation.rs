//! What a trace is made of: operations, and the files that they go to.

pub use fathom_program::call::{CallKind, Direction};
use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

/// One operation of one thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// When it began, in ns, on the trace's [`Clock`].
    pub start_ns: i64,
    /// How long it took, in ns, where the source tells.
    pub duration_ns: Option<u64>,
    /// The process, or what the source has in its place; 0 where it has nothing.
    pub process: u32,
    /// The thread; the process's own number where the source does not tell threads apart.
    pub thread: u32,
    /// What was asked for.
    pub kind: CallKind,
    /// Of which file, volume or device.
    pub file: FileId,
    /// Through which descriptor.
    pub descriptor: Option<i32>,
    /// Where, in bytes; of a seek, where it led to. None where the kind has no place or none is known.
    pub offset: Option<u64>,
    /// How much was asked for, in bytes.
    pub length: u64,
    /// What the call returned: of a dup or open the new descriptor; a negative one is the error's number.
    pub result: Option<i64>,
    /// Of an open or rename, its flags as the kernel numbers them; of a seek, what it counts from; else 0.
    pub flags: u32,
    /// Of a rename, the new path.
    pub to: Option<FileId>,
}

impl Operation {
    /// An operation with nothing but what every source tells.
    #[must_use]
    pub fn new(kind: CallKind, file: FileId, start_ns: i64) -> Self {
        Self {
            start_ns,
            duration_ns: None,
            process: 0,
            thread: 0,
            kind,
            file,
            descriptor: None,
            offset: None,
            length: 0,
            result: None,
            flags: 0,
            to: None,
        }
    }

    /// The bytes that a read or write moved; what was asked for where the source has no result.
    #[must_use]
    pub fn moved_bytes(&self) -> u64 {
        if self.kind.direction().is_none() {
            return 0;
        }
        self.result.map_or(self.length, |result| u64::try_from(result).unwrap_or(0))
    }
}

/// Whether a trace shows calls on files or requests to a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Level {
    /// System calls on files, above the page cache.
    File,
    /// Requests to a block device, below the page cache.
    Block,
}

impl Level {
    /// What operations are called at that level.
    pub fn words(self) -> &'static str {
        match self {
            Self::File => "calls on files",
            Self::Block => "requests to devices",
        }
    }
}

/// What times are counted from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Clock {
    /// 1970-01-01 00:00 UTC.
    Unix,
    /// A moment of the source's own, near its beginning.
    Source,
}

/// What holds for a trace as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Origin {
    /// What it shows.
    pub level: Level,
    /// What its times are counted from.
    pub clock: Clock,
    /// The format, or the recorder, that it came from.
    pub source: String,
}

/// A file's place in [`Files`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FileId(pub u32);

/// The paths of a trace's files, each once.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(from = "Vec<Vec<u8>>", into = "Vec<Vec<u8>>")]
pub struct Files {
    paths: Vec<Vec<u8>>,
    ids: FxHashMap<Vec<u8>, FileId>,
    last: Option<FileId>,
}

impl From<Vec<Vec<u8>>> for Files {
    fn from(paths: Vec<Vec<u8>>) -> Self {
        let mut files = Self::default();
        paths.iter().for_each(|path| _ = files.id(path));
        files
    }
}

impl From<Files> for Vec<Vec<u8>> {
    fn from(files: Files) -> Self {
        files.paths
    }
}

impl Files {
    /// The number of a path, which need not be UTF-8.
    pub fn id(&mut self, path: &[u8]) -> FileId {
        if let Some(last) = self.last.filter(|last| self.paths[last.0 as usize] == path) {
            return last;
        }
        let id = self.ids.get(path).copied().unwrap_or_else(|| self.add(path));
        self.last = Some(id);
        id
    }

    fn add(&mut self, path: &[u8]) -> FileId {
        let id = FileId(u32::try_from(self.paths.len()).unwrap_or(u32::MAX));
        self.paths.push(path.to_vec());
        self.ids.insert(path.to_vec(), id);
        id
    }

    /// The path of a file; empty for a number that is not of this trace.
    #[must_use]
    pub fn path(&self, id: FileId) -> &[u8] {
        self.paths.get(id.0 as usize).map_or(&[], Vec::as_slice)
    }

    /// All paths, in the order of their numbers.
    #[must_use]
    pub fn paths(&self) -> &[Vec<u8>] {
        &self.paths
    }
}
