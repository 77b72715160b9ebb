//! Traces: opened, imported, recorded, looked at, and handed on as batches of operations.

use std::ffi::OsString;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

use fathom::kernel_cache::{self, Reclaim};
use fathom::results::{Json, NamedTrace};
use fathom_trace::format::arrow;
use fathom_trace::import::{self, Format};
use fathom_trace::record::{self, Method, Subject};
use fathom_trace::show::{self, Look, Plan};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use serde_json::{from_str, to_string};

use crate::table::stream;
use crate::{Interrupt, TraceError, kept, work};

fn traced(error: impl ToString) -> PyErr {
    TraceError::new_err(error.to_string())
}

/// A trace's operations as a stream of Arrow's batches.
#[pyfunction]
pub(crate) fn trace_stream(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyCapsule>> {
    stream(py, Box::new(arrow::batches(&path).map_err(traced)?))
}

/// Whether a file is a trace: `block` or `file` for what its operations are, and where they came from.
#[pyfunction]
pub(crate) fn trace_origin(path: PathBuf) -> PyResult<String> {
    let reader = fathom_trace::format::Reader::open(&path).map_err(traced)?;
    to_string(reader.origin()).map_err(kept)
}

/// What a trace does: `fathom.trace-show/1`, with the name of the file.
#[pyfunction]
pub(crate) fn trace_show(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    let name = path.display().to_string();
    let shown = work(py, 0, false, move |_| show::show(&path))?.map_err(traced)?;
    NamedTrace { name, shown }.json().map_err(kept)
}

/// The hit ratios of a trace alone, by following a part of its blocks.
#[pyfunction]
pub(crate) fn trace_hit_ratios(py: Python<'_>, path: PathBuf, rate: f64) -> PyResult<String> {
    let found = work(py, 0, false, move |_| show::hit_ratios(&path, rate))?.map_err(traced)?;
    to_string(&found).map_err(kept)
}

/// Writes the accesses of a trace to blocks for libCacheSim, into a file that is there; gives how many there are.
#[pyfunction]
pub(crate) fn trace_accesses(py: Python<'_>, path: PathBuf, out: PathBuf) -> PyResult<u64> {
    let write = move |_| {
        let file = File::options().write(true).open(&out).map_err(|error| error.to_string())?;
        show::write_accesses(&path, &mut BufWriter::new(file)).map_err(|error| error.to_string())
    };
    work(py, 1, false, write)?.map_err(traced)
}

/// The hit ratios of page caches of some sizes in bytes, by the kernel's two lists or by its generations.
#[pyfunction]
pub(crate) fn trace_kernel_cache(
    py: Python<'_>,
    path: PathBuf,
    policy: &str,
    sizes: Vec<u64>,
) -> PyResult<Vec<f64>> {
    let found = Reclaim::ALL.iter().find(|reclaim| reclaim.word() == policy);
    let reclaim = *found.ok_or_else(|| traced(format!("the kernel has no policy '{policy}'")))?;
    work(py, 1, false, move |_| kernel_cache::hit_ratios(&path, reclaim, &sizes))?.map_err(traced)
}

/// How a trace is shown in stretches, and how many there are.
#[pyfunction]
pub(crate) fn trace_plan(py: Python<'_>, path: PathBuf) -> PyResult<(String, usize)> {
    let plan = work(py, 0, false, move |_| Plan::new(&path))?.map_err(traced)?;
    Ok((to_string(&plan).map_err(kept)?, plan.count()))
}

/// One of the stretches, looked at.
#[pyfunction]
pub(crate) fn trace_look(py: Python<'_>, plan: &str, at: usize) -> PyResult<String> {
    let plan: Plan = from_str(plan).map_err(kept)?;
    let look = work(py, 1, false, move |_| plan.look(at))?.map_err(traced)?;
    to_string(&look).map_err(kept)
}

/// What all stretches come to, which are given in their order: `fathom.trace-show/1`, with the name of the file.
#[pyfunction]
pub(crate) fn trace_shown(
    py: Python<'_>,
    path: PathBuf,
    plan: &str,
    looks: &Bound<'_, PyAny>,
) -> PyResult<String> {
    let plan: Plan = from_str(plan).map_err(kept)?;
    let mut whole: Option<Look> = None;
    for look in looks.try_iter()? {
        let look: String = look?.extract()?;
        let next: Look = py.detach(|| from_str(&look)).map_err(kept)?;
        match &mut whole {
            None => whole = Some(next),
            Some(whole) => py.detach(|| whole.merge(next)),
        }
    }
    NamedTrace { name: path.display().to_string(), shown: plan.end(whole) }.json().map_err(kept)
}

/// Makes a trace of a file in another tool's format; gives what it came to.
#[pyfunction]
pub(crate) fn trace_import(
    py: Python<'_>,
    from: PathBuf,
    format: Option<&str>,
    out: PathBuf,
    rows_per_part: Option<usize>,
) -> PyResult<String> {
    let unknown = |name: &str| {
        let names = Format::ALL.iter().map(|format| format.name()).collect::<Vec<_>>().join(", ");
        traced(format!("'{name}' is no format that can be imported: say {names}"))
    };
    let format = format.map(|name| Format::named(name).ok_or_else(|| unknown(name))).transpose()?;
    let run = move |interrupt: Interrupt| import::import(&from, format, &out, rows_per_part, &interrupt);
    let imported = work(py, 0, true, run)?;
    to_string(&imported.map_err(traced)?.1).map_err(kept)
}

/// Records a command from its beginning to its end, or a process that runs; gives what it came to.
#[pyfunction]
pub(crate) fn trace_record(
    py: Python<'_>,
    command: Vec<OsString>,
    process: Option<u32>,
    method: Option<&str>,
    out: PathBuf,
) -> PyResult<String> {
    let method = match method {
        None => None,
        Some("kernel") => Some(Method::Kernel),
        Some("strace") => Some(Method::Strace),
        Some(other) => return Err(traced(format!("'{other}' is no method: say 'kernel' or 'strace'"))),
    };
    let subject = process.map_or(Subject::Command(command), Subject::Process);
    let recorded = work(py, 0, true, move |interrupt| record::record(&subject, &out, method, &interrupt))?;
    to_string(&recorded.map_err(traced)?).map_err(kept)
}
