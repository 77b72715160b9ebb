//! A group of rows as columns.

use std::collections::hash_map::Entry;

use parquet::column::reader::{ColumnReader, get_column_reader};
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::RowGroupReader;
use parquet::file::writer::SerializedRowGroupWriter;
use parquet::schema::types::ColumnDescPtr;
use rustc_hash::FxHashMap;

use super::chunk::{NumberedKinds, UNKNOWN_KIND, Words, constant};
use crate::operation::{CallKind, Direction, FileId, Files, Operation};

/// A column whose values may be missing: those that are there, and which these are.
#[derive(Default)]
struct Optional<T> {
    values: Vec<T>,
    present: Vec<i16>,
}

impl<T: Clone> Optional<T> {
    fn extend(&mut self, values: impl Iterator<Item = Option<T>> + Clone) {
        self.present.extend(values.clone().map(|value| i16::from(value.is_some())));
        self.values.extend(values.flatten());
    }

    fn clear(&mut self) {
        self.values.clear();
        self.present.clear();
    }

    /// All of them, in order.
    fn iter(&self) -> impl Iterator<Item = Option<T>> {
        let mut values = self.values.iter();
        self.present.iter().map(move |&present| if present == 0 { None } else { values.next().cloned() })
    }
}

/// The rows of one group.
#[derive(Default)]
pub(super) struct Columns {
    start_ns: Vec<i64>,
    duration_ns: Optional<i64>,
    process: Vec<i32>,
    thread: Vec<i32>,
    /// Places in [`CallKind::ALL`].
    kind: Vec<i32>,
    file: Vec<i32>,
    path: Vec<ByteArray>,
    descriptor: Optional<i32>,
    offset: Optional<i64>,
    length: Vec<i64>,
    result: Optional<i64>,
    flags: Vec<i32>,
    to: Optional<ByteArray>,
    /// Rows that are to be written and have a new path.
    renames: Vec<(usize, ByteArray)>,
    /// The kinds and paths of rows that are to be written.
    kinds: Words,
    paths: Words,
}

/// What a read or write moved.
pub(crate) struct Place {
    pub(crate) file: FileId,
    pub(crate) direction: Direction,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

type Taken = std::result::Result<(), &'static str>;

/// Rows that the CPU's nearest cache holds, so that a column after the other can be taken from them.
const NEAR: usize = 256;

const UNEVEN: &str = "its columns are of different lengths";

/// Numbers beyond what the column holds are kept at its end.
fn i64_of(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn unsigned(value: i64) -> std::result::Result<u64, &'static str> {
    u64::try_from(value).map_err(|_| "a negative size, offset or duration")
}

/// Reads one column of a group.
macro_rules! column {
    ($group:expr, $at:literal, $($rest:tt)*) => { column!($group, $group.get_column_reader($at)?, $($rest)*) };
    ($group:expr, $column:expr, $reader:path, $values:expr, $present:expr) => {{
        let rows = usize::try_from($group.metadata().num_rows()).unwrap_or(0);
        let $reader(mut column) = $column else { return Err(too_few()) };
        while column.read_records(rows, $present, None, $values)?.0 > 0 {}
    }};
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
        self.to.clear();
        self.renames.clear();
        self.kinds.clear();
        self.paths.clear();
    }

    pub(super) fn add(&mut self, operations: &[Operation], files: &Files) {
        for near in operations.chunks(NEAR) {
            self.add_near(near, files);
        }
    }

    fn add_near(&mut self, near: &[Operation], files: &Files) {
        self.start_ns.extend(near.iter().map(|one| one.start_ns));
        self.duration_ns.extend(near.iter().map(|one| one.duration_ns.map(i64_of)));
        self.process.extend(near.iter().map(|one| one.process.cast_signed()));
        self.thread.extend(near.iter().map(|one| one.thread.cast_signed()));
        self.file.extend(near.iter().map(|one| one.file.0.cast_signed()));
        self.descriptor.extend(near.iter().map(|one| one.descriptor));
        self.offset.extend(near.iter().map(|one| one.offset.map(i64_of)));
        self.length.extend(near.iter().map(|one| i64_of(one.length)));
        self.result.extend(near.iter().map(|one| one.result));
        self.flags.extend(near.iter().map(|one| one.flags.cast_signed()));
        // Other readers take the columns of paths for UTF-8.
        let path = |file| String::from_utf8_lossy(files.path(file)).into_owned();
        let first = self.start_ns.len() - near.len();
        for (row, operation) in (first..).zip(near) {
            self.kinds.push(operation.kind as usize, || operation.kind.name());
            self.paths.push(operation.file.0 as usize, || path(operation.file));
            if let Some(to) = operation.to {
                self.renames.push((row, path(to).into_bytes().into()));
            }
        }
    }

    /// Writes the rows; `columns` describes the file's.
    pub(super) fn write<W: std::io::Write + Send>(
        &self,
        columns: &[ColumnDescPtr],
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<()> {
        let rows = self.rows();
        macro_rules! numbers {
            ($type:ty, $at:expr, $values:expr, $present:expr) => {{
                let values = $values;
                let first = values.first();
                let all_alike = values.iter().all(|value| Some(value) == first);
                if all_alike && (values.is_empty() || values.len() == rows) {
                    let value = first.map(|value| value.to_le_bytes().to_vec());
                    let (bytes, close) = constant(&columns[$at], rows, value)?;
                    group.append_column(&bytes, close)?;
                } else {
                    let mut column = group.next_column()?.ok_or_else(too_few)?;
                    column.typed::<$type>().write_batch(values, $present, None)?;
                    column.close()?;
                }
            }};
        }
        macro_rules! words {
            ($at:expr, $words:expr) => {{
                let (bytes, close) = $words.chunk(&columns[$at])?;
                group.append_column(&bytes, close)?;
            }};
        }
        let (duration, descriptor) = (&self.duration_ns, &self.descriptor);
        let (offset, result) = (&self.offset, &self.result);
        numbers!(Int64Type, 0, &self.start_ns, None);
        numbers!(Int64Type, 1, &duration.values, Some(&duration.present));
        numbers!(Int32Type, 2, &self.process, None);
        numbers!(Int32Type, 3, &self.thread, None);
        words!(4, self.kinds);
        numbers!(Int32Type, 5, &self.file, None);
        words!(6, self.paths);
        numbers!(Int32Type, 7, &descriptor.values, Some(&descriptor.present));
        numbers!(Int64Type, 8, &offset.values, Some(&offset.present));
        numbers!(Int64Type, 9, &self.length, None);
        numbers!(Int64Type, 10, &result.values, Some(&result.present));
        numbers!(Int32Type, 11, &self.flags, None);
        self.write_renames(&columns[12], group)
    }

    fn write_renames<W: std::io::Write + Send>(
        &self,
        described: &ColumnDescPtr,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<()> {
        if self.renames.is_empty() {
            let (bytes, close) = constant(described, self.rows(), None)?;
            return group.append_column(&bytes, close);
        }
        let mut present = vec![0; self.rows()];
        self.renames.iter().for_each(|(row, _)| present[*row] = 1);
        let values: Vec<ByteArray> = self.renames.iter().map(|(_, to)| to.clone()).collect();
        let mut column = group.next_column()?.ok_or_else(too_few)?;
        column.typed::<ByteArrayType>().write_batch(&values, Some(&present), None)?;
        column.close()
    }

    /// Reads when the operations of a group began, and how long they took.
    pub(super) fn read_times(&mut self, group: &dyn RowGroupReader) -> Result<()> {
        self.clear();
        let duration = &mut self.duration_ns;
        column!(group, 0, ColumnReader::Int64ColumnReader, &mut self.start_ns, None);
        column!(group, 1, ColumnReader::Int64ColumnReader, &mut duration.values, Some(&mut duration.present));
        Ok(())
    }

    /// The first start and the last end.
    pub(super) fn times(&self) -> Option<(i64, i64)> {
        let ends = self.start_ns.iter().zip(self.duration_ns.iter());
        let ends = ends.map(|(start, duration)| start.saturating_add(duration.unwrap_or(0).max(0)));
        Some((self.start_ns.iter().copied().min()?, ends.max()?))
    }

    /// Reads the rows of a group; without their paths where the numbers of all their files are known.
    pub(super) fn read(
        &mut self,
        group: &dyn RowGroupReader,
        numbers: &FxHashMap<i32, FileId>,
    ) -> Result<()> {
        self.read_times(group)?;
        column!(group, 2, ColumnReader::Int32ColumnReader, &mut self.process, None);
        column!(group, 3, ColumnReader::Int32ColumnReader, &mut self.thread, None);
        self.read_kinds_and_files(group, numbers)?;
        let descriptor = &mut self.descriptor;
        column!(
            group,
            7,
            ColumnReader::Int32ColumnReader,
            &mut descriptor.values,
            Some(&mut descriptor.present)
        );
        self.read_moved(group)?;
        column!(group, 11, ColumnReader::Int32ColumnReader, &mut self.flags, None);
        // Traces that were written before there was such a column lack it.
        if group.num_columns() > 12 {
            let to = &mut self.to;
            column!(group, 12, ColumnReader::ByteArrayColumnReader, &mut to.values, Some(&mut to.present));
        }
        Ok(())
    }

    /// Reads where the operations of a group read and wrote.
    pub(super) fn read_places(
        &mut self,
        group: &dyn RowGroupReader,
        numbers: &FxHashMap<i32, FileId>,
    ) -> Result<()> {
        self.clear();
        self.read_kinds_and_files(group, numbers)?;
        self.read_moved(group)
    }

    fn read_kinds_and_files(
        &mut self,
        group: &dyn RowGroupReader,
        numbers: &FxHashMap<i32, FileId>,
    ) -> Result<()> {
        self.read_kinds(group)?;
        column!(group, 5, ColumnReader::Int32ColumnReader, &mut self.file, None);
        if !self.file.iter().all(|number| numbers.contains_key(number)) {
            column!(group, 6, ColumnReader::ByteArrayColumnReader, &mut self.path, None);
        }
        Ok(())
    }

    /// Reads the kinds by number.
    fn read_kinds(&mut self, group: &dyn RowGroupReader) -> Result<()> {
        let pages = Box::new(NumberedKinds(group.get_column_page_reader(4)?));
        // As the column of files, numbers that are all there.
        let column = get_column_reader(group.metadata().column(5).column_descr_ptr(), pages);
        column!(group, column, ColumnReader::Int32ColumnReader, &mut self.kind, None);
        Ok(())
    }

    fn read_moved(&mut self, group: &dyn RowGroupReader) -> Result<()> {
        let offset = &mut self.offset;
        column!(group, 8, ColumnReader::Int64ColumnReader, &mut offset.values, Some(&mut offset.present));
        column!(group, 9, ColumnReader::Int64ColumnReader, &mut self.length, None);
        let result = &mut self.result;
        column!(group, 10, ColumnReader::Int64ColumnReader, &mut result.values, Some(&mut result.present));
        Ok(())
    }

    /// Where the rows that were read have read and written, where that is known.
    pub(super) fn take_places(
        &self,
        places: &mut Vec<Place>,
        files: &mut Files,
        numbers: &mut FxHashMap<i32, FileId>,
    ) -> Taken {
        self.take_rows(self.file.len(), files, numbers, |_, one, _| {
            if let Some((direction, offset)) = one.kind.direction().zip(one.offset) {
                places.push(Place { file: one.file, direction, offset, bytes: one.moved_bytes() });
            }
            Ok(())
        })
    }

    /// The rows that were read as operations.
    pub(super) fn take(
        &self,
        operations: &mut Vec<Operation>,
        files: &mut Files,
        numbers: &mut FxHashMap<i32, FileId>,
    ) -> Taken {
        let rows = self.rows();
        let (durations, descriptors) = (&self.duration_ns, &self.descriptor);
        let lengths = [
            durations.present.len(),
            self.process.len(),
            self.thread.len(),
            descriptors.present.len(),
            self.flags.len(),
        ];
        if lengths.iter().any(|&length| length != rows) || ![0, rows].contains(&self.to.present.len()) {
            return Err(UNEVEN);
        }
        let (mut durations, mut descriptors) = (durations.iter(), descriptors.iter());
        let mut renames = self.to.iter();
        self.take_rows(rows, files, numbers, |row, one, files| {
            operations.push(Operation {
                start_ns: self.start_ns[row],
                duration_ns: durations.next().flatten().map(unsigned).transpose()?,
                process: self.process[row].cast_unsigned(),
                thread: self.thread[row].cast_unsigned(),
                descriptor: descriptors.next().flatten(),
                flags: self.flags[row].cast_unsigned(),
                to: renames.next().flatten().map(|path| files.id(path.data())),
                ..one
            });
            Ok(())
        })
    }

    /// Gives `take` each row, as an operation whose kind, file, offset, length and result were read.
    fn take_rows(
        &self,
        rows: usize,
        files: &mut Files,
        numbers: &mut FxHashMap<i32, FileId>,
        mut take: impl FnMut(usize, Operation, &mut Files) -> Taken,
    ) -> Taken {
        let (offset, result) = (&self.offset, &self.result);
        let lengths =
            [self.kind.len(), self.file.len(), offset.present.len(), self.length.len(), result.present.len()];
        if lengths.iter().any(|&length| length != rows) || ![0, rows].contains(&self.path.len()) {
            return Err(UNEVEN);
        }
        let (mut offsets, mut results) = (offset.iter(), result.iter());
        for row in 0..rows {
            let file = match numbers.entry(self.file[row]) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(new) => *new.insert(files.id(self.path.get(row).ok_or(UNEVEN)?.data())),
            };
            let kind = CallKind::ALL.get(self.kind[row] as usize).ok_or(UNKNOWN_KIND)?;
            let one = Operation {
                offset: offsets.next().flatten().map(unsigned).transpose()?,
                length: unsigned(self.length[row])?,
                result: results.next().flatten(),
                ..Operation::new(*kind, file, 0)
            };
            take(row, one, files)?;
        }
        Ok(())
    }
}

fn too_few() -> ParquetError {
    ParquetError::General("a column is missing or of another type".to_owned())
}
