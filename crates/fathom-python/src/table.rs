//! Tables by the Arrow PyCapsule interface, which pandas, Polars, DuckDB and PyArrow read without copying.
//!
//! <https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>

use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, RecordBatchReader,
    StringArray,
};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyCapsule, PyFloat, PyString};

use crate::kept;

/// A reader of batches as what `__arrow_c_stream__` gives.
pub(crate) fn stream(
    py: Python<'_>,
    reader: Box<dyn RecordBatchReader + Send>,
) -> PyResult<Bound<'_, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), c"arrow_array_stream")
}

/// Named columns of equal length as a stream of one batch.
#[pyfunction]
pub(crate) fn table<'py>(
    py: Python<'py>,
    columns: Vec<(String, Vec<Bound<'py, PyAny>>)>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let arrays = columns.into_iter().map(|(name, values)| Ok((name, column(&values)?, true)));
    let batch = RecordBatch::try_from_iter_with_nullable(arrays.collect::<PyResult<Vec<_>>>()?);
    let batch = batch.map_err(kept)?;
    let schema = batch.schema();
    stream(py, Box::new(RecordBatchIterator::new([Ok(batch)], schema)))
}

/// Values as a column of their type: words, numbers with a point, whether something is so, or else whole numbers. `None` may
/// stand among them; a column of nothing else is one of words.
fn column(values: &[Bound<'_, PyAny>]) -> PyResult<ArrayRef> {
    fn typed<'a, 'py, T: FromPyObject<'a, 'py, Error = PyErr>>(
        values: &'a [Bound<'py, PyAny>],
    ) -> PyResult<Vec<Option<T>>> {
        values
            .iter()
            .map(|value| if value.is_none() { Ok(None) } else { value.extract().map(Some) })
            .collect()
    }
    let mut known = values.iter().filter(|value| !value.is_none()).peekable();
    let is_empty = known.peek().is_none();
    let has = |is: fn(&Bound<'_, PyAny>) -> bool| known.clone().any(|value| is(value));
    Ok(if is_empty || has(|value| value.is_instance_of::<PyString>()) {
        Arc::new(StringArray::from(typed::<String>(values)?))
    } else if has(|value| value.is_instance_of::<PyFloat>()) {
        Arc::new(Float64Array::from(typed::<f64>(values)?))
    } else if has(|value| value.is_instance_of::<PyBool>()) {
        Arc::new(BooleanArray::from(typed::<bool>(values)?))
    } else {
        Arc::new(Int64Array::from(typed::<i64>(values)?))
    })
}
