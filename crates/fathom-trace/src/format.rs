//! Our own format: a Parquet file with one row per operation, as pandas, DuckDB and Polars read it.
//!
//! A trace may be in several such files: a folder of parts is read as one file is.
//!
//! The columns stand in [`COLUMNS`] and in docs/traces.md. What holds for the trace as a whole stands in the
//! file's key-value metadata, under keys that begin with `fathom.`.

#[cfg(feature = "arrow")]
pub mod arrow;
mod chunk;
mod columns;
mod parts;
mod stretch;

use std::fs::File;
use std::io::Write;
use std::ops::Range;
use std::panic;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::Encoding;
use parquet::file::metadata::{ColumnChunkMetaData, KeyValue, RowGroupMetaData};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnDescPtr, ColumnPath};
use rustc_hash::FxHashMap;

use self::columns::Columns;
pub(crate) use self::columns::Place;
pub(crate) use self::parts::{Sink, discard};
pub(crate) use self::stretch::{Stretch, stretches};
use crate::error::{Error, Result};
use crate::operation::{Clock, FileId, Files, Level, Operation, Origin};

/// The schema: names, types and which columns may be null.
pub const COLUMNS: &str = "message fathom_trace {
    REQUIRED INT64 start_ns;
    OPTIONAL INT64 duration_ns;
    REQUIRED INT32 process;
    REQUIRED INT32 thread;
    REQUIRED BYTE_ARRAY kind (STRING);
    REQUIRED INT32 file;
    REQUIRED BYTE_ARRAY path (STRING);
    OPTIONAL INT32 descriptor;
    OPTIONAL INT64 offset;
    REQUIRED INT64 length;
    OPTIONAL INT64 result;
    REQUIRED INT32 flags;
    OPTIONAL BYTE_ARRAY to (STRING);
}";
/// The version of the schema, in the metadata as `fathom.schema`.
const SCHEMA: &str = "fathom.trace/1";
/// The one column that is no number and mostly empty; traces that were written before it came lack it.
const TO: &str = "to";
/// Rows that are kept in memory and written together.
const GROUP: usize = 1 << 17;
/// Writes a trace.
pub struct Writer<W: Write + Send> {
    file: SerializedFileWriter<W>,
    path: PathBuf,
    described: Vec<ColumnDescPtr>,
    columns: Columns,
}

/// Begins a trace in a new file.
///
/// # Errors
/// The file is there already or can't be made.
pub fn create(path: &Path, origin: &Origin) -> Result<Writer<File>> {
    let opened = File::options().write(true).create_new(true).open(path);
    Writer::new(opened.map_err(|error| Error::new("create", path, error))?, path, origin)
}

impl<W: Write + Send> Writer<W> {
    /// Begins a trace; `path` stands in errors.
    ///
    /// # Errors
    /// What writing gives.
    pub fn new(sink: W, path: &Path, origin: &Origin) -> Result<Self> {
        let schema = parse_message_type(COLUMNS).map_err(|error| Error::new("write", path, error))?;
        let file = SerializedFileWriter::new(sink, Arc::new(schema), Arc::new(properties(origin)));
        let file = file.map_err(|error| Error::new("write", path, error))?;
        let described = file.schema_descr().columns().to_vec();
        Ok(Self { file, path: path.to_owned(), described, columns: Columns::default() })
    }

    /// Adds operations, whose files are `files`.
    ///
    /// # Errors
    /// What writing gives.
    pub fn add(&mut self, operations: &[Operation], files: &Files) -> Result<()> {
        for part in operations.chunks(GROUP - self.columns.rows().min(GROUP - 1)) {
            self.columns.add(part, files);
            if self.columns.rows() >= GROUP {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Ends the trace.
    ///
    /// # Errors
    /// What writing gives.
    pub fn finish(mut self) -> Result<()> {
        self.flush()?;
        self.file.close().map_err(|error| Error::new("write", &self.path, error))?;
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        if self.columns.rows() == 0 {
            return Ok(());
        }
        let failed = |error| Error::new("write", &self.path, error);
        let mut group = self.file.next_row_group().map_err(failed)?;
        self.columns.write(&self.described, &mut group).map_err(failed)?;
        group.close().map_err(failed)?;
        self.columns.clear();
        Ok(())
    }
}

fn properties(origin: &Origin) -> WriterProperties {
    let (level, clock) = (origin.level.into(), origin.clock.into());
    let keys = [("schema", SCHEMA), ("level", level), ("clock", clock), ("source", &origin.source)];
    let pairs = keys.map(|(key, value)| KeyValue::new(format!("fathom.{key}"), value.to_owned()));
    // Numbers as differences to their predecessors, which are small or alike; words by their places in a dictionary.
    // A compressor takes longer for the rest than reading the lines does, and finds little in it.
    WriterProperties::builder()
        .set_encoding(Encoding::DELTA_BINARY_PACKED)
        .set_column_encoding(ColumnPath::from(TO), Encoding::PLAIN)
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .set_created_by("fathom".to_owned())
        .set_key_value_metadata(Some(pairs.to_vec()))
        .build()
}

/// Reads a trace.
pub struct Reader {
    file: SerializedFileReader<File>,
    path: PathBuf,
    /// The parts that come after it.
    parts: std::vec::IntoIter<PathBuf>,
    origin: Origin,
    /// Those that are still to be read.
    groups: Range<usize>,
    columns: Columns,
    files: Files,
    /// The part's own numbers of files, and ours.
    numbers: FxHashMap<i32, FileId>,
    batch: Vec<Operation>,
    places: Vec<Place>,
}

/// Opens a file that is a trace, or a part of one.
fn open(path: &Path) -> Result<(SerializedFileReader<File>, Origin)> {
    let file = File::open(path).map_err(|error| Error::new("open", path, error))?;
    let failed = |error: &dyn std::fmt::Display| Error::new("read", path, error);
    let file = guarded(path, || SerializedFileReader::new(file))?;
    let metadata = file.metadata().file_metadata();
    let expected = parse_message_type(COLUMNS).map_err(|error| failed(&error))?;
    let values = metadata.key_value_metadata();
    let value = |key: &str| {
        let pair = values?.iter().find(|pair| pair.key.strip_prefix("fathom.") == Some(key))?;
        pair.value.clone()
    };
    let (fields, known) = (metadata.schema().get_fields(), expected.get_fields());
    let is_known = fields == known
        || known.last().is_some_and(|to| to.name() == TO) && *fields == known[..known.len() - 1];
    if value("schema").as_deref() != Some(SCHEMA) || !is_known {
        return Err(failed(&"it is no trace of Fathom's; import others with 'fathom trace import'"));
    }
    let level = if value("level").as_deref() == Some("block") { Level::Block } else { Level::File };
    let clock = if value("clock").as_deref() == Some("unix") { Clock::Unix } else { Clock::Source };
    let origin = Origin { level, clock, source: value("source").unwrap_or_default() };
    match file.metadata().row_groups().iter().all(is_sane) {
        true => Ok((file, origin)),
        false => Err(failed(&"its table of contents makes no sense")),
    }
}

impl Reader {
    /// Opens a trace: a file, a folder of its parts (`*.parquet`, in the order of their names), or a pattern of their names with
    /// `*` and `?`.
    ///
    /// # Errors
    /// The first file can't be read, or is no trace of this schema.
    pub fn open(path: &Path) -> Result<Self> {
        let mut parts = parts::parts(path)?.into_iter();
        let path = parts.next().unwrap_or_else(|| path.to_owned());
        let (file, origin) = open(&path)?;
        Ok(Self {
            groups: 0..file.num_row_groups(),
            file,
            path,
            parts,
            origin,
            columns: Columns::default(),
            files: Files::default(),
            numbers: FxHashMap::default(),
            batch: Vec::new(),
            places: Vec::new(),
        })
    }

    /// What the trace shows, and where it came from.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The files of the operations that were read so far.
    #[must_use]
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// Reads the next operations; nothing at the end.
    ///
    /// # Errors
    /// What reading gives.
    pub fn read(&mut self) -> Result<Option<(&[Operation], &Files)>> {
        let Some(group) = self.next_group()? else { return Ok(None) };
        let (file, columns, numbers) = (&self.file, &mut self.columns, &self.numbers);
        guarded(&self.path, || columns.read(file.get_row_group(group)?.as_ref(), numbers))?;
        self.batch.clear();
        let taken = self.columns.take(&mut self.batch, &mut self.files, &mut self.numbers);
        taken.map_err(|reason| Error::new("read", &self.path, reason))?;
        Ok(Some((&self.batch, &self.files)))
    }

    /// Where the next operations read and wrote, where that is known; nothing at the end.
    pub(crate) fn read_places(&mut self) -> Result<Option<(&[Place], &Files)>> {
        let Some(group) = self.next_group()? else { return Ok(None) };
        let (file, columns, numbers) = (&self.file, &mut self.columns, &self.numbers);
        guarded(&self.path, || columns.read_places(file.get_row_group(group)?.as_ref(), numbers))?;
        self.places.clear();
        let taken = self.columns.take_places(&mut self.places, &mut self.files, &mut self.numbers);
        taken.map_err(|reason| Error::new("read", &self.path, reason))?;
        Ok(Some((&self.places, &self.files)))
    }

    /// The first start and the last end of the next operations; nothing at the end.
    pub(crate) fn read_times(&mut self) -> Result<Option<(i64, i64)>> {
        let Some(group) = self.next_group()? else { return Ok(None) };
        let (file, columns) = (&self.file, &mut self.columns);
        guarded(&self.path, || columns.read_times(file.get_row_group(group)?.as_ref()))?;
        Ok(self.columns.times())
    }

    /// The group to read next, of this part or of those that come after it.
    fn next_group(&mut self) -> Result<Option<usize>> {
        loop {
            let group = self.groups.next();
            if group.is_some() || !self.next_part()? {
                return Ok(group);
            }
        }
    }

    /// Goes on to the next part, if there is one.
    fn next_part(&mut self) -> Result<bool> {
        let Some(part) = self.parts.next() else { return Ok(false) };
        let (file, origin) = open(&part)?;
        if origin != self.origin {
            return Err(Error::new("read", &part, "it is of another trace than the parts before it"));
        }
        self.groups = 0..file.num_row_groups();
        (self.file, self.path) = (file, part);
        self.numbers.clear();
        Ok(true)
    }

    /// Reads every operation at once.
    ///
    /// # Errors
    /// What reading gives.
    pub fn read_all(mut self) -> Result<(Vec<Operation>, Files)> {
        let mut all = Vec::new();
        while let Some((operations, _)) = self.read()? {
            all.extend_from_slice(operations);
        }
        Ok((all, self.files))
    }
}

/// The most rows of a group, in a file of any writer.
const MOST_ROWS: i64 = 1 << 26;

/// Whether a group's places and sizes can be: the library takes that for granted, and panics.
fn is_sane(group: &RowGroupMetaData) -> bool {
    let is_sane = |column: &ColumnChunkMetaData| {
        let places = [
            Some(column.data_page_offset()),
            column.dictionary_page_offset(),
            Some(column.compressed_size()),
        ];
        places.into_iter().flatten().all(|place| place >= 0)
    };
    (0..=MOST_ROWS).contains(&group.num_rows()) && group.columns().iter().all(is_sane)
}

/// What the library makes of a file, or why it can't: it panics at some of what is no Parquet.
fn guarded<T>(path: &Path, read: impl FnOnce() -> parquet::errors::Result<T>) -> Result<T> {
    match panic::catch_unwind(panic::AssertUnwindSafe(read)) {
        Ok(read) => read.map_err(|error| Error::new("read", path, error)),
        Err(_) => Err(Error::new("read", path, "it is damaged")),
    }
}
