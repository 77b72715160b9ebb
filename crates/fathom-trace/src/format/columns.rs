//! A group of rows as columns.

use std::collections::hash_map::Entry;

use parquet::column::reader::ColumnReader;
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::RowGroupReader;
use parquet::file::writer::SerializedRowGroupWriter;
use rustc_hash::FxHashMap;

use crate::operation::{FileId, Files, Kind, Operation};

/// A column whose values may be missing: those that are there, and which these are.
#[derive(Default)]
struct Optional<T> {
    values: Vec<T>,
    present: Vec<i16>,
}

impl<T: Copy> Optional<T> {
    fn push(&mut self, value: Option<T>) {
        self.present.push(i16::from(value.is_some()));
        self.values.extend(value);
    }

    fn clear(&mut self) {
        self.values.clear();
        self.present.clear();
    }

    /// All of them, in order.
    fn iter(&self) -> impl Iterator<Item = Option<T>> {
        let mut values = self.values.iter();
        self.present.iter().map(move |&present| if present == 0 { None } else { values.next().copied() })
    }
}

/// The rows of one group.
#[derive(Default)]
pub(super) struct Columns {
    start_ns: Vec<i64>,
    duration_ns: Optional<i64>,
    process: Vec<i32>,
    thread: Vec<i32>,
    kind: Vec<ByteArray>,
    file: Vec<i32>,
    path: Vec<ByteArray>,
    descriptor: Optional<i32>,
    offset: Optional<i64>,
    length: Vec<i64>,
    result: Optional<i64>,
    flags: Vec<i32>,
    /// The paths of files and the names of kinds as Parquet wants them, by number.
    paths: Vec<Option<ByteArray>>,
    kinds: Vec<ByteArray>,
}

/// Numbers beyond what the column holds are kept at its end.
fn i64_of(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

impl Columns {
    pub(super) fn rows(&self) -> usize {
        self.start_ns.len()
    }

    pub(super) fn clear(&mut self) {
        self.start_ns.clear();
        self.duration_ns.clear();
        self.process.clear();
        self.thread.clear();
        self.kind.clear();
        self.file.clear();
        self.path.clear();
        self.descriptor.clear();
        self.offset.clear();
        self.length.clear();
        self.result.clear();
        self.flags.clear();
    }

    pub(super) fn add(&mut self, operations: &[Operation], files: &Files) {
        if self.kinds.is_empty() {
            self.kinds = Kind::ALL.iter().map(|kind| ByteArray::from(kind.name())).collect();
        }
        self.paths.resize(self.paths.len().max(files.paths().len()), None);
        for operation in operations {
            self.start_ns.push(operation.start_ns);
            self.duration_ns.push(operation.duration_ns.map(i64_of));
            self.process.push(operation.process.cast_signed());
            self.thread.push(operation.thread.cast_signed());
            self.kind.push(self.kinds[operation.kind as usize].clone());
            self.file.push(operation.file.0.cast_signed());
            self.path.push(path(&mut self.paths, operation.file, files));
            self.descriptor.push(operation.descriptor);
            self.offset.push(operation.offset.map(i64_of));
            self.length.push(i64_of(operation.length));
            self.result.push(operation.result);
            self.flags.push(operation.flags.cast_signed());
        }
    }

    pub(super) fn write<W: std::io::Write + Send>(
        &self,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<()> {
        macro_rules! column {
            ($type:ty, $values:expr, $present:expr) => {{
                let mut column = group.next_column()?.ok_or_else(too_few)?;
                column.typed::<$type>().write_batch($values, $present, None)?;
                column.close()?;
            }};
        }
        column!(Int64Type, &self.start_ns, None);
        column!(Int64Type, &self.duration_ns.values, Some(&self.duration_ns.present));
        column!(Int32Type, &self.process, None);
        column!(Int32Type, &self.thread, None);
        column!(ByteArrayType, &self.kind, None);
        column!(Int32Type, &self.file, None);
        column!(ByteArrayType, &self.path, None);
        column!(Int32Type, &self.descriptor.values, Some(&self.descriptor.present));
        column!(Int64Type, &self.offset.values, Some(&self.offset.present));
        column!(Int64Type, &self.length, None);
        column!(Int64Type, &self.result.values, Some(&self.result.present));
        column!(Int32Type, &self.flags, None);
        Ok(())
    }

    pub(super) fn read(&mut self, group: &dyn RowGroupReader) -> Result<()> {
        self.clear();
        let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
        macro_rules! column {
            ($at:expr, $reader:path, $values:expr, $present:expr) => {{
                let $reader(mut column) = group.get_column_reader($at)? else { return Err(too_few()) };
                while column.read_records(rows, $present, None, $values)?.0 > 0 {}
            }};
        }
        column!(0, ColumnReader::Int64ColumnReader, &mut self.start_ns, None);
        let duration = &mut self.duration_ns;
        column!(1, ColumnReader::Int64ColumnReader, &mut duration.values, Some(&mut duration.present));
        column!(2, ColumnReader::Int32ColumnReader, &mut self.process, None);
        column!(3, ColumnReader::Int32ColumnReader, &mut self.thread, None);
        column!(4, ColumnReader::ByteArrayColumnReader, &mut self.kind, None);
        column!(5, ColumnReader::Int32ColumnReader, &mut self.file, None);
        column!(6, ColumnReader::ByteArrayColumnReader, &mut self.path, None);
        let descriptor = &mut self.descriptor;
        column!(7, ColumnReader::Int32ColumnReader, &mut descriptor.values, Some(&mut descriptor.present));
        let offset = &mut self.offset;
        column!(8, ColumnReader::Int64ColumnReader, &mut offset.values, Some(&mut offset.present));
        column!(9, ColumnReader::Int64ColumnReader, &mut self.length, None);
        let result = &mut self.result;
        column!(10, ColumnReader::Int64ColumnReader, &mut result.values, Some(&mut result.present));
        column!(11, ColumnReader::Int32ColumnReader, &mut self.flags, None);
        Ok(())
    }

    /// The rows that were read as operations.
    pub(super) fn take(
        &self,
        operations: &mut Vec<Operation>,
        files: &mut Files,
        numbers: &mut FxHashMap<i32, FileId>,
    ) -> std::result::Result<(), &'static str> {
        let rows = self.rows();
        let lengths = [
            self.duration_ns.present.len(),
            self.process.len(),
            self.thread.len(),
            self.kind.len(),
            self.file.len(),
            self.path.len(),
            self.descriptor.present.len(),
            self.offset.present.len(),
            self.length.len(),
            self.result.present.len(),
            self.flags.len(),
        ];
        if lengths.iter().any(|&length| length != rows) {
            return Err("its columns are of different lengths");
        }
        let unsigned = |value: i64| u64::try_from(value).map_err(|_| "a negative size, offset or duration");
        let (mut durations, mut descriptors) = (self.duration_ns.iter(), self.descriptor.iter());
        let (mut offsets, mut results) = (self.offset.iter(), self.result.iter());
        operations.reserve(rows);
        for row in 0..rows {
            let file = match numbers.entry(self.file[row]) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(new) => *new.insert(files.id(self.path[row].data())),
            };
            operations.push(Operation {
                start_ns: self.start_ns[row],
                duration_ns: durations.next().flatten().map(unsigned).transpose()?,
                process: self.process[row].cast_unsigned(),
                thread: self.thread[row].cast_unsigned(),
                kind: Kind::named(self.kind[row].data()).ok_or("a kind of operation that is not known")?,
                file,
                descriptor: descriptors.next().flatten(),
                offset: offsets.next().flatten().map(unsigned).transpose()?,
                length: unsigned(self.length[row])?,
                result: results.next().flatten(),
                flags: self.flags[row].cast_unsigned(),
            });
        }
        Ok(())
    }
}

fn path(paths: &mut [Option<ByteArray>], file: FileId, files: &Files) -> ByteArray {
    let Some(known) = paths.get_mut(file.0 as usize) else { return ByteArray::from("") };
    // Other readers take the column for UTF-8.
    let new = || ByteArray::from(String::from_utf8_lossy(files.path(file)).into_owned().into_bytes());
    known.get_or_insert_with(new).clone()
}

fn too_few() -> ParquetError {
    ParquetError::General("a column is missing or of another type".to_owned())
}
