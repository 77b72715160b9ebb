//! A trace's operations as batches of Apache Arrow, a group of rows each, one part after the other.
//!
//! Columns of numbers are decoded into the memory that a batch hands on; words stay numbers with a dictionary, as the
//! file has them. So no operation is ever made of a row.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};

use super::parts::parts;
use super::{GROUP, guarded, open};
use crate::error::{Error, Result};

/// The batches of a trace, read as they are asked for.
pub struct Batches {
    reader: ParquetRecordBatchReader,
    path: PathBuf,
    /// The parts that come after it.
    parts: std::vec::IntoIter<PathBuf>,
}

/// Opens a trace, as [`Reader`](super::Reader) does. The batches' schema has the columns of [`COLUMNS`](super::COLUMNS), and the
/// metadata of the file.
///
/// # Errors
/// The first file can't be read, or is no trace.
pub fn batches(path: &Path) -> Result<Batches> {
    let mut parts = parts(path)?.into_iter();
    let path = parts.next().unwrap_or_else(|| path.to_owned());
    Ok(Batches { reader: of_part(&path)?, path, parts })
}

fn of_part(path: &Path) -> Result<ParquetRecordBatchReader> {
    open(path)?;
    let file = File::open(path).map_err(|error| Error::new("open", path, error))?;
    guarded(path, || {
        let found = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new())?;
        let words = ArrowReaderOptions::new().with_schema(with_dictionaries(found.schema()));
        let builder = ParquetRecordBatchReaderBuilder::try_new_with_options(file, words)?;
        builder.with_batch_size(GROUP).build()
    })
}

/// The same columns with words by number, where every row has one.
fn with_dictionaries(found: &Schema) -> SchemaRef {
    let word = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let field = |field: &Arc<Field>| match field.data_type() {
        // Where most rows have none, the search for the same word takes longer than all the rest.
        DataType::Utf8 if !field.is_nullable() => {
            Arc::new(field.as_ref().clone().with_data_type(word.clone()))
        }
        _ => Arc::clone(field),
    };
    let fields: Vec<Arc<Field>> = found.fields().iter().map(field).collect();
    Arc::new(Schema::new_with_metadata(fields, found.metadata().clone()))
}

impl Batches {
    /// The next batch, of this part or of the next one.
    fn read(&mut self) -> std::result::Result<Option<RecordBatch>, ArrowError> {
        let failed = |error: Error| ArrowError::ParquetError(error.to_string());
        loop {
            let next = guarded(&self.path, || Ok(self.reader.next())).map_err(failed)?;
            if let Some(batch) = next {
                return batch.map(Some);
            }
            let Some(part) = self.parts.next() else { return Ok(None) };
            let reader = of_part(&part).map_err(failed)?;
            if reader.schema() != self.reader.schema() {
                let error = Error::new("read", &part, "it is of another trace than the parts before it");
                return Err(failed(error));
            }
            (self.reader, self.path) = (reader, part);
        }
    }
}

impl Iterator for Batches {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        self.reader.schema()
    }
}
