//! A trace's operations as batches of Apache Arrow, a group of rows each.
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

use super::{GROUP, Reader, guarded, is_sane};
use crate::error::{Error, Result};

/// The batches of a trace, read as they are asked for.
pub struct Batches {
    reader: ParquetRecordBatchReader,
    path: PathBuf,
}

/// Opens a trace. The batches' schema has the columns of [`COLUMNS`](super::COLUMNS), and the metadata of the file.
///
/// # Errors
/// The file can't be read, or is no trace.
pub fn batches(path: &Path) -> Result<Batches> {
    let trace = Reader::open(path)?;
    if !trace.file_metadata().row_groups().iter().all(is_sane) {
        return Err(Error::new("read", path, "its table of contents makes no sense"));
    }
    let file = File::open(path).map_err(|error| Error::new("open", path, error))?;
    let reader = guarded(path, || {
        let found = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new())?;
        let words = ArrowReaderOptions::new().with_schema(with_dictionaries(found.schema()));
        let builder = ParquetRecordBatchReaderBuilder::try_new_with_options(file, words)?;
        builder.with_batch_size(GROUP).build()
    })?;
    Ok(Batches { reader, path: path.to_owned() })
}

/// The same columns with words by number.
fn with_dictionaries(found: &Schema) -> SchemaRef {
    let word = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let field = |field: &Arc<Field>| match field.data_type() {
        DataType::Utf8 => Arc::new(field.as_ref().clone().with_data_type(word.clone())),
        _ => Arc::clone(field),
    };
    let fields: Vec<Arc<Field>> = found.fields().iter().map(field).collect();
    Arc::new(Schema::new_with_metadata(fields, found.metadata().clone()))
}

impl Iterator for Batches {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        match guarded(&self.path, || Ok(self.reader.next())) {
            Ok(next) => next,
            Err(error) => Some(Err(ArrowError::ParquetError(error.to_string()))),
        }
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        self.reader.schema()
    }
}
