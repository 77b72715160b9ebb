//! The native half of the Python package `fathomfs`: functions that take and give JSON by the published schemas.
//!
//! `python/fathomfs/__init__.py` makes classes of them. While a function works, other threads of Python go on, and an
//! interrupt ends it: a measurement once its files are removed, anything else at once.

mod table;
mod trace;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{mem, process};

use fathom::comparison::{self, Rules};
use fathom::experiment::{self, REGISTRY};
use fathom::fault::Fault;
use fathom::job::{Benchmark, Program, Rate};
use fathom::load::Ranks;
use fathom::model::Model;
use fathom::prediction::Settings;
use fathom::report::Colours;
use fathom::results::{self, Json};
use fathom::session::{self, Against, Budget, Error, Session, Work};
use fathom::survey::Plan as Questions;
use fathom::sweep::{Axis, By, Cell, Plan, Race, Task, Tried};
use fathom::{replay, report};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use serde_json::{from_str, from_value, json, to_string};

create_exception!(fathomfs, FathomError, PyException, "Any failure of Fathom.");
create_exception!(fathomfs, ModelError, FathomError, "No model, or a setting that it does not have.");
create_exception!(fathomfs, JobError, FathomError, "Jobs that can't be read, or that a model can't express.");
create_exception!(
    fathomfs,
    MeasurementError,
    FathomError,
    "The file system or the budget refused something."
);
create_exception!(fathomfs, ResultError, FathomError, "A kept result that can't be read or written.");
create_exception!(fathomfs, TraceError, FathomError, "A trace that can't be read, imported or recorded.");

/// How often signals are looked for while something works.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Where jobs are: the path of their file, and its text where that is not to be read from there.
type Jobs = (PathBuf, Option<String>);

/// Directory, bytes that may be written, seconds, seed.
type Place = (PathBuf, u64, f64, u64);

/// A cell, the first of its runs, and the run after the last one.
type Runs = (usize, u32, u32);

/// What is under way: everything ends soon after it is set.
type Interrupt = Arc<AtomicBool>;

fn modelled(reason: String) -> PyErr {
    ModelError::new_err(reason)
}

fn kept(error: impl ToString) -> PyErr {
    ResultError::new_err(error.to_string())
}

/// An error as the exception that `cause` makes of its sentence.
fn raised(error: Error, cause: fn(String) -> PyErr) -> PyErr {
    match error {
        Error::Interrupted => PyKeyboardInterrupt::new_err(()),
        Error::Failed(reason) => cause(reason),
    }
}

fn of_jobs(error: Error) -> PyErr {
    raised(error, JobError::new_err)
}

fn of_measurement(error: Error) -> PyErr {
    raised(error, MeasurementError::new_err)
}

/// Threads to work on, as many as CPUs where it is zero. They are new ones: a process that `fork(2)` made has none of
/// its parent's.
fn threads(count: usize) -> PyResult<ThreadPool> {
    let pool = ThreadPoolBuilder::new().num_threads(count).panic_handler(|_| ());
    pool.build().map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// Threads that have nothing to do, as many as CPUs, and the process that they are of: to make new ones takes 75 us.
static IDLE: Mutex<Option<(u32, ThreadPool)>> = Mutex::new(None);

fn idle_or_new(count: usize) -> PyResult<ThreadPool> {
    let kept = if count == 0 { IDLE.try_lock().ok().and_then(|mut idle| idle.take()) } else { None };
    match kept {
        Some((process, pool)) if process == process::id() => Ok(pool),
        Some((_, pool)) => {
            // Its threads were left in the process that forked this one: nothing is there to end.
            mem::forget(pool);
            threads(count)
        }
        None => threads(count),
    }
}

/// Keeps threads for the next call.
fn keep_idle(pool: ThreadPool, count: usize) {
    if let (0, Ok(mut idle)) = (count, IDLE.try_lock()) {
        *idle = Some((process::id(), pool));
    }
}

/// The model that was read last, with its text: one is often asked several times.
static LAST: Mutex<Option<(String, Arc<Model>)>> = Mutex::new(None);

fn read_model(text: &str) -> PyResult<Arc<Model>> {
    // A process that was forked while this was locked reads the text again.
    let mut last = LAST.try_lock().ok();
    if let Some((_, model)) = last.as_ref().and_then(|last| last.as_ref()).filter(|last| last.0 == text) {
        return Ok(Arc::clone(model));
    }
    let model = Arc::new(Model::read(text).map_err(modelled)?);
    if let Some(last) = &mut last {
        **last = Some((text.to_owned(), Arc::clone(&model)));
    }
    Ok(model)
}

/// Has other threads work while Python goes on. After an interrupt `is_awaited` says whether to wait for their end.
fn work<T: Send + 'static>(
    py: Python<'_>,
    count: usize,
    is_awaited: bool,
    job: impl FnOnce(Interrupt) -> T + Send + 'static,
) -> PyResult<T> {
    let (interrupt, pool) = (Interrupt::default(), idle_or_new(count)?);
    let (done, result) = mpsc::channel();
    let flag = Arc::clone(&interrupt);
    pool.spawn(move || drop(done.send(job(flag))));
    let result = Mutex::new(result);
    let next =
        || result.lock().map_or(Err(RecvTimeoutError::Disconnected), |one| one.recv_timeout(LOOK_EVERY));
    let mut stopped = None;
    loop {
        match (py.detach(next), stopped) {
            (Ok(_) | Err(RecvTimeoutError::Disconnected), Some(stop)) => return Err(stop),
            (Ok(value), None) => {
                keep_idle(pool, count);
                return Ok(value);
            }
            (Err(RecvTimeoutError::Disconnected), None) => {
                return Err(PyRuntimeError::new_err("a defect of Fathom: a thread ended early"));
            }
            (Err(RecvTimeoutError::Timeout), mut before) => {
                if let Err(stop) = py.check_signals() {
                    interrupt.store(true, Ordering::Relaxed);
                    before = before.or(Some(stop));
                }
                match before {
                    Some(stop) if !is_awaited => return Err(stop),
                    other => stopped = other,
                }
            }
        }
    }
}

/// Measures something in a session, on threads of its own.
fn measure<T: Json + Send + 'static>(
    py: Python<'_>,
    (path, max_write, max_time, seed): Place,
    what: impl FnOnce(&mut Session) -> Result<T, Error> + Send + 'static,
) -> PyResult<String> {
    let max_time = Duration::try_from_secs_f64(max_time)
        .map_err(|error| of_measurement(Error::Failed(error.to_string())))?;
    let session = Session::at(&path, Budget { max_write, max_time }).map_err(of_measurement)?;
    let run = move |interrupt| what(&mut session.seed(seed).interrupted_by(interrupt));
    work(py, 0, true, run)?.map_err(of_measurement)?.json().map_err(kept)
}

/// A model as it is written, with settings; the built-in example where there is no text.
#[pyfunction]
fn model_with(text: Option<&str>, settings: Vec<String>) -> PyResult<String> {
    let mut model = text.map_or_else(|| Ok(Model::assumed()), Model::read).map_err(modelled)?;
    settings.iter().try_for_each(|typed| model.set(typed)).map_err(modelled)?;
    model.json().map_err(kept)
}

/// Jobs, or a trace, predicted: `fathom.prediction/1`. `settings` are those of the model, which the result tells.
#[pyfunction]
fn predict(
    py: Python<'_>,
    model: &str,
    settings: Vec<String>,
    jobs: Jobs,
    draws: u32,
    seed: u64,
) -> PyResult<String> {
    let model = read_model(model)?;
    let work_to_do = to_do(&jobs)?;
    let result = work(py, 0, false, move |_| {
        session::predict(&work_to_do, replay::How::default(), &model, Settings { draws, seed })
    })?;
    let (mut predicted, _) = result.map_err(of_jobs)?;
    predicted.settings = settings;
    predicted.json().map_err(kept)
}

fn to_do((path, text): &Jobs) -> PyResult<Work> {
    let work = match text {
        Some(text) => Work::of_text(text, &path.to_string_lossy()),
        None => Work::read(path),
    };
    work.map_err(of_jobs)
}

/// What a sweep is to do, and how many cells it has. A name that is no parameter's of the model is an option of jobs.
#[pyfunction]
fn sweep_plan(
    model: &str,
    jobs: Jobs,
    axes: Vec<(String, Vec<String>)>,
    draws: u32,
    seed: u64,
) -> PyResult<(String, usize)> {
    let model = Model::read(model).map_err(modelled)?;
    let text = match jobs {
        (path, Some(text)) => Ok((path.to_string_lossy().into_owned(), text)),
        (path, None) => session::job_text(&path),
    };
    let axes = axes.into_iter().map(|(name, values)| Axis::new(&name, values)).collect::<Result<_, _>>();
    let axes = axes.map_err(modelled)?;
    let plan = session::plan_sweep(model, text.map_err(of_jobs)?, axes, Settings { draws, seed })
        .map_err(of_jobs)?;
    Ok((plan.json().map_err(kept)?, plan.cells()))
}

/// Some cells of a sweep, as a list; `count` threads work, or as many as CPUs.
#[pyfunction]
fn sweep_cells(
    py: Python<'_>,
    plan: &str,
    cells: Vec<usize>,
    folder: Option<PathBuf>,
    count: usize,
) -> PyResult<String> {
    let plan: Plan = from_str(plan).map_err(kept)?;
    let run =
        move |interrupt: Interrupt| session::sweep(&plan, &cells, folder.as_deref(), &interrupt, &|_| ());
    let swept = work(py, count, false, run)?.map_err(|error| raised(error, kept))?;
    swept.cells.json().map_err(kept)
}

/// Cells put together: `fathom.sweep/1`. A folder that they are in gets the result and its page.
#[pyfunction]
fn sweep_join(plan: &str, cells: Vec<String>, folder: Option<PathBuf>) -> PyResult<String> {
    let plan: Plan = from_str(plan).map_err(kept)?;
    if let Some(folder) = folder {
        let (_, swept) = session::merge_sweep(&folder).map_err(|error| raised(error, kept))?;
        return swept.json().map_err(kept);
    }
    let lists = cells.iter().map(|list| from_str::<Vec<Cell>>(list)).collect::<Result<Vec<_>, _>>();
    plan.sweep(lists.map_err(kept)?.concat()).json().map_err(kept)
}

/// A search for the best cell after the results of its tasks, and its next tasks: cell, first run, and the run after the
/// last one. It begins where there is no `race`.
#[pyfunction]
fn race_next(plan: &str, by: &str, race: Option<&str>, tried: Vec<String>) -> PyResult<(String, Vec<Runs>)> {
    let plan: Plan = from_str(plan).map_err(kept)?;
    let mut race: Race = match race {
        Some(race) => from_str(race).map_err(kept)?,
        None => Race::new(&plan, By::read(by).map_err(modelled)?),
    };
    if !tried.is_empty() {
        let lists = tried.iter().map(|list| from_str::<Vec<Tried>>(list)).collect::<Result<Vec<_>, _>>();
        race.take(lists.map_err(kept)?.into_iter().flatten());
    }
    let tasks = race.tasks().into_iter().map(|Task { cell, from, to }| (cell, from, to)).collect();
    Ok((to_string(&race).map_err(kept)?, tasks))
}

/// Some tasks of a search, as a list of what they gave; `count` threads work, or as many as CPUs.
#[pyfunction]
fn race_try(py: Python<'_>, plan: &str, by: &str, tasks: Vec<Runs>, count: usize) -> PyResult<String> {
    let (plan, by) = (from_str::<Plan>(plan).map_err(kept)?, By::read(by).map_err(modelled)?);
    let tasks: Vec<Task> = tasks.into_iter().map(|(cell, from, to)| Task { cell, from, to }).collect();
    let run = move |interrupt: Interrupt| session::try_cells(&plan, by, &tasks, &interrupt);
    let tried = work(py, count, false, run)?.map_err(of_jobs)?;
    to_string(&tried).map_err(kept)
}

/// The best cell, after a search that has no more tasks: `fathom.best/1`.
#[pyfunction]
fn race_end(py: Python<'_>, plan: &str, race: &str) -> PyResult<String> {
    let (plan, race) = (from_str::<Plan>(plan).map_err(kept)?, from_str::<Race>(race).map_err(kept)?);
    let best = work(py, 0, false, move |_| session::end_race(&plan, race))?;
    best.map_err(of_jobs)?.json().map_err(kept)
}

/// A survey of a directory's file system: `fathom.survey/1`.
#[pyfunction]
fn survey(
    py: Python<'_>,
    place: Place,
    only: Vec<String>,
    effort: &str,
    intrusive: bool,
) -> PyResult<String> {
    let unknown = |name: &str| MeasurementError::new_err(format!("there is no parameter '{name}' to survey"));
    let named = only.iter().map(|name| experiment::by_name(name).ok_or_else(|| unknown(name)));
    let wanted = named.collect::<PyResult<Vec<_>>>()?;
    let plan = Questions {
        experiments: if only.is_empty() { REGISTRY.to_vec() } else { wanted },
        evidence: from_value(json!(["timing", "witness", "declared"])).map_err(kept)?,
        effort: from_value(json!(effort))
            .map_err(|_| MeasurementError::new_err("effort is 'quick' or 'full'"))?,
        seed: place.3,
        max_time: Duration::try_from_secs_f64(place.2).unwrap_or(Duration::MAX),
        intrusive,
    };
    measure(py, place, move |session| {
        let surveyed = session.survey(&plan, &mut |_, _| ())?;
        surveyed.left_behind.map_or(Ok(surveyed.survey), |left| Err(Error::Failed(left)))
    })
}

/// A model of the machine and a directory's file system: `fathom.model/2`.
#[pyfunction]
fn calibrate(py: Python<'_>, place: Place) -> PyResult<String> {
    measure(py, place, |session| session.calibrate().map(|(model, _)| model))
}

/// Jobs run for real: `fathom.run/1`. `meet` waits for other processes that run them at the same time: it takes what all have come to,
/// the directory of this process's files and the number of jobs, and may give the directory of those to read; to a guest, which has
/// none of its own, of those to read and write. `most` takes the bytes that a job has moved when its time is over and gives the most of
/// all processes: until each has moved that much the job goes on.
#[pyfunction]
#[pyo3(signature = (place, jobs, meet = None, is_guest = false, most = None))]
fn run(
    py: Python<'_>,
    place: Place,
    jobs: Jobs,
    meet: Option<Py<PyAny>>,
    is_guest: bool,
    most: Option<Py<PyAny>>,
) -> PyResult<String> {
    let Work::Jobs(file) = to_do(&jobs)? else {
        return Err(JobError::new_err("a trace is replayed by 'fathom run'"));
    };
    let failed = |error: PyErr| Fault::Unsupported(error.to_string());
    let ranks = meet.map(|meet| {
        let ranks = Ranks::new(move |meeting, directory, jobs| {
            let met = |py: Python<'_>| -> PyResult<_> {
                meet.call1(py, (meeting.name(), directory, jobs))?.extract(py)
            };
            Python::attach(met).map_err(failed)
        });
        let ranks = if is_guest { ranks.as_guest() } else { ranks };
        let Some(most) = most else { return ranks };
        ranks.wearing_out(move |moved| {
            let most = |py: Python<'_>| -> PyResult<_> { most.call1(py, (moved,))?.extract(py) };
            Python::attach(most).map_err(failed)
        })
    });
    measure(py, place, move |session| {
        session.meet_with(ranks);
        session.run(&file.jobs).map(|done| done.ran)
    })
}

/// What a command line of IOR or mdtest asks of one of so many ranks: the text of a job file, how often it runs, of which rank
/// further on files are read, whether all have one file, whether they wear out, and whose it is.
#[pyfunction]
fn benchmark(
    words: Vec<String>,
    rank: u64,
    ranks: u64,
) -> PyResult<(String, u32, u64, bool, bool, &'static str)> {
    let read = Benchmark::read(&words, rank, ranks).map_err(JobError::new_err)?;
    let found =
        read.ok_or_else(|| JobError::new_err("behind '--' stands a command line of ior or of mdtest"))?;
    let Benchmark { program, jobs, repetitions, shift, is_shared, wears_out } = found;
    Ok((jobs, repetitions, shift, is_shared, wears_out, program.name()))
}

/// The lines that IOR or mdtest prints at the end, of each job's rates in all repetitions: bytes per second until the files were
/// closed, and calls per second.
#[pyfunction]
fn benchmark_summary(program: &str, rates: Vec<(String, Vec<(f64, f64)>)>) -> String {
    let rate = |(bytes, calls)| Rate { bytes, calls };
    let of_job = |(name, rates): (_, Vec<_>)| (name, rates.into_iter().map(rate).collect());
    let ior = Program::Ior;
    let program = if program == ior.name() { ior } else { Program::Mdtest };
    program.summary(&rates.into_iter().map(of_job).collect::<Vec<_>>())
}

/// A model compared with runs of the jobs that people write most: `fathom.validation/1`.
#[pyfunction]
fn validate(py: Python<'_>, place: Place, model: &str, repeats: usize, by_fio: bool) -> PyResult<String> {
    let model = Model::read(model).map_err(modelled)?;
    let against = Against::Field { files: Vec::new(), by_fio };
    measure(py, place, move |session| session.validate(&model, &against, repeats, &mut |_| ()))
}

/// What differs between surveys or curves, each a name and its file or folder: `fathom.comparison/1`, its text and its page.
#[pyfunction]
fn compare(runs: Vec<(String, PathBuf)>, rate: f64, margin: f64) -> PyResult<(String, String, String)> {
    let read = |(name, path): (String, PathBuf)| Ok((name, results::read_outcome(&path).map_err(kept)?));
    let outcomes = runs.into_iter().map(read).collect::<PyResult<Vec<_>>>()?;
    let compared = comparison::compare(&outcomes, Rules { rate, margin }, REGISTRY).map_err(kept)?;
    let page = report::comparison_page(&compared, &outcomes);
    Ok((compared.json().map_err(kept)?, report::comparison(&compared), page))
}

/// The text and the page of a result that was written.
#[pyfunction]
fn render(kind: &str, text: &str, model: Option<&str>) -> PyResult<(String, String)> {
    let model = model.map(Model::read).transpose().map_err(modelled)?;
    let result = results::of_json(kind, text, model).map_err(kept)?;
    Ok((result.text(Colours::Off), result.page()))
}

/// What `fathomfs/__init__.py` is made of.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::table::table;
    #[pymodule_export]
    use super::trace::{
        trace_accesses, trace_hit_ratios, trace_import, trace_kernel_cache, trace_look, trace_origin,
        trace_plan, trace_record, trace_show, trace_shown, trace_stream,
    };
    #[pymodule_export]
    use super::{
        FathomError, JobError, MeasurementError, ModelError, ResultError, TraceError, benchmark,
        benchmark_summary, calibrate, compare, model_with, predict, race_end, race_next, race_try, render,
        run, survey, sweep_cells, sweep_join, sweep_plan, validate,
    };
}
