"""Measure, explain and predict file systems on Linux.

A model of a machine predicts jobs of fio without running them:

>>> import fathomfs
>>> model = fathomfs.Model.assumed()
>>> jobs = {"reads": {"rw": "randread", "bs": "4k", "size": "1m"}}
>>> predicted = model.predict(jobs)
>>> rate = predicted.jobs[0].sides[0].bytes_per_second
>>> 30e6 < rate.low <= rate.value <= rate.high < 60e6
True

Jobs are the path of a job file, its text, or sections with their options as above. `assumed` is a model of no machine;
`Model.calibrate` measures this one. What a call gives has the fields of its published JSON Schema as attributes,
`to_dict()` gives them as plain values, and `print` shows the table that the command `fathom` prints:

>>> predicted.to_dict()["schema"]
'fathom.prediction/1'
>>> str(predicted).splitlines()[0]
'Simulated: a machine that was never measured; every parameter that is not set is assumed.'

Predictions, sweeps, runs, surveys and traces are tables, too, for whatever takes Arrow's: `polars.DataFrame(predicted)`,
`pyarrow.table(predicted)`, `pandas.DataFrame.from_arrow(predicted)`; in DuckDB `FROM predicted`.

Everything can be pickled. While a call works, other threads go on, and Ctrl-C ends it: a measurement removes its files first,
and what a prediction has begun to simulate runs to its end in the background. Failures are a `FathomError`:

>>> model.with_(readahaed="1M")
Traceback (most recent call last):
    ...
fathomfs.ModelError: there is no parameter 'readahaed'; did you mean 'readahead'?
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Callable, Iterable, Mapping, Union

from . import _native
from ._native import FathomError, JobError, MeasurementError, ModelError, ResultError, TraceError
from ._results import Best, Comparison, HitRatios, Prediction, Result, Run, Survey, Sweep, TraceShown, Validation, Written
from ._traces import Trace

if TYPE_CHECKING:
    from concurrent.futures import Executor

__all__ = [
    "Best",
    "Comparison",
    "FathomError",
    "HitRatios",
    "JobError",
    "MeasurementError",
    "Model",
    "ModelError",
    "Prediction",
    "Result",
    "ResultError",
    "Run",
    "Survey",
    "Sweep",
    "Trace",
    "TraceError",
    "TraceShown",
    "Validation",
    "compare",
    "run",
    "survey",
    "validate",
]

Jobs = Union[str, "os.PathLike[str]", Mapping[str, Mapping[str, Any]]]
"""The path of a job file, the text of one, or its sections with their options. Where one thing is predicted, also a `Trace`."""

_MIB = 1 << 20


class Model(Written):
    """A model of a machine and a file system.

    >>> model = Model.assumed().with_(readahead="1M")
    >>> model.to_dict()["scalars"]["readahead"]["value"]
    1048576.0
    """

    __slots__ = ("_settings",)

    def __init__(self, text: str | None = None, settings: Iterable[str] = ()) -> None:
        """A model from the JSON that was written of one; without, the built-in example."""
        self._json, self._settings = _native.model_with(text, []), tuple(settings)

    @classmethod
    def assumed(cls) -> Model:
        """The built-in model, of no particular machine."""
        return cls()

    @classmethod
    def load(cls, file: str | os.PathLike[str]) -> Model:
        """The model of a file, such as `fathom calibrate` writes."""
        with open(file, encoding="utf-8") as text:
            return cls(text.read())

    @classmethod
    def calibrate(
        cls,
        path: str | os.PathLike[str] = ".",
        *,
        max_write: int = 8192 * _MIB,
        max_time: float = 130,
        seed: int = 1,
    ) -> Model:
        """Measures this machine and the file system at a directory. Takes about three minutes, and writes scratch files of up
        to `max_write` bytes, which are removed."""
        return cls(_native.calibrate(_place(path, max_write, max_time, seed)))

    def save(self, file: str | os.PathLike[str]) -> None:
        """Writes a file that `load` and the command `fathom` read."""
        with open(file, "w", encoding="utf-8") as text:
            text.write(self._json + "\n")

    def with_(self, **settings: Any) -> Model:
        """A model with other values of some parameters, as `--set` of the command `fathom` takes them."""
        typed = [f"{name}={_word(value)}" for name, value in settings.items()]
        return type(self)(_native.model_with(self._json, typed), (*self._settings, *typed))

    def predict(self, jobs: Jobs, *, draws: int = 15, seed: int = 1) -> Prediction:
        """Predicts jobs, or the replay of a trace, without running them."""
        text = _native.predict(self._json, list(self._settings), _jobs(jobs), draws, seed)
        return Prediction(text, self._json)

    def sweep(
        self,
        grid: Mapping[str, Iterable[Any]],
        jobs: Jobs,
        executor: Executor | None = None,
        *,
        draws: int = 15,
        seed: int = 1,
        folder: str | os.PathLike[str] | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> Sweep:
        """Predicts jobs for each combination of settings.

        `grid` has the values of parameters of the model and of options of the jobs. Any executor of `concurrent.futures` may
        work (processes; MPI's, Dask's); without one all CPUs do. The result is equal bit by bit on all of them. With a
        `folder` each prediction is kept there as soon as it is made, and is not predicted again. `progress` is predicted how many
        combinations are done, and of how many.

        >>> grid = {"readahead": ["128K", "1M"], "bs": ["4k", "64k"]}
        >>> sweep = Model.assumed().sweep(grid, {"reads": {"size": "1m"}}, draws=2)
        >>> [(row["readahead"], row["bs"]) for row in sweep.rows()]
        [('128K', '4k'), ('128K', '64k'), ('1M', '4k'), ('1M', '64k')]
        """
        plan, count = self._plan(grid, jobs, draws, seed)
        place = None if folder is None else os.fspath(folder)
        size = max(1, min(256, count // 64)) if executor or progress else count
        parts = []
        for done, part in _shared(_native.sweep_cells, (plan,), range(count), (place,), executor, size):
            parts.append(part)
            if progress:
                progress(done, count)
        return Sweep(_native.sweep_join(plan, parts, place), self._json)

    def best(
        self,
        jobs: Jobs,
        grid: Mapping[str, Iterable[Any]],
        by: str = "bandwidth",
        executor: Executor | None = None,
        *,
        draws: int = 15,
        seed: int = 1,
    ) -> Best:
        """The best setting of a grid: of the largest 'bandwidth' or 'iops', or of the shortest 'mean', 'p99' or 'p999' latency.

        It is the best of `sweep`, found with fewer simulations: every combination gets a few, and those that are surely worse
        get no more. `rivals` are those that can't be distinguished from the best. The result is equal on all executors.

        >>> grid = {"bs": ["4k", "16k"], "iodepth": [1, 2, 8]}
        >>> jobs = {"reads": {"rw": "randread", "size": "4m", "direct": 1, "ioengine": "libaio"}}
        >>> found = Model.assumed().best(jobs, grid)
        >>> found.settings, found.simulated < found.whole_grid
        ({'bs': '16k', 'iodepth': '8'}, True)
        """
        plan, _ = self._plan(grid, jobs, draws, seed)
        race, tasks = _native.race_next(plan, by, None, [])
        while tasks:
            size = max(1, min(256, len(tasks) // 16)) if executor else len(tasks)
            tried = _shared(_native.race_try, (plan, by), tasks, (), executor, size)
            race, tasks = _native.race_next(plan, by, race, [part for _, part in tried])
        return Best(_native.race_end(plan, race), self._json)

    def _plan(
        self, grid: Mapping[str, Iterable[Any]], jobs: Jobs, draws: int, seed: int
    ) -> tuple[str, int]:
        axes = [(name, [_word(value) for value in values]) for name, values in grid.items()]
        return _native.sweep_plan(self._json, _jobs(jobs), axes, draws, seed)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._json, self._settings)

    def __repr__(self) -> str:
        made = self.to_dict().get("made")
        of = f"{made['mount']['fs_type']} on {made['mount']['path']}" if made else "no machine"
        return f"<fathomfs.Model of {', '.join([of, *self._settings])}>"


def survey(
    path: str | os.PathLike[str] = ".",
    *,
    only: Iterable[str] = (),
    effort: str = "full",
    intrusive: bool = False,
    max_write: int = 256 * _MIB,
    max_time: float = 50,
    seed: int = 1,
) -> Survey:
    """Finds the parameters of the file system at a directory, all of them or `only` some, by measuring. It writes in a private
    directory there, which is removed; `intrusive` allows effects on the whole machine, which are undone."""
    return Survey(_native.survey(_place(path, max_write, max_time, seed), list(only), effort, intrusive))


def run(
    jobs: Jobs,
    path: str | os.PathLike[str] = ".",
    *,
    max_write: int = 16384 * _MIB,
    max_time: float = 600,
    seed: int = 1,
) -> Run:
    """Runs jobs for real, on scratch files below a directory."""
    return Run(_native.run(_place(path, max_write, max_time, seed), _jobs(jobs)))


def validate(
    model: Model,
    path: str | os.PathLike[str] = ".",
    *,
    repeats: int = 4,
    fio: bool = True,
    max_write: int = 12288 * _MIB,
    max_time: float = 600,
    seed: int = 1,
) -> Validation:
    """Predicts jobs of the kinds that people write most, runs each several times below a directory on the machine as it is (also by
    `fio`, where it is installed), and compares, as the command `fathom validate` does."""
    place = _place(path, max_write, max_time, seed)
    return Validation(_native.validate(place, model._json, repeats, fio), model._json)


def compare(
    *runs: Survey | str | os.PathLike[str], rate: float = 0.05, margin: float = 0.75
) -> Comparison:
    """Says what differs between surveys, or between curves, beyond noise. Each is a `Survey`, or the folder or file of one. The
    first is compared with each of the others; `rate` is how often equal machines may seem to differ, `margin` by how
    much a time or a rate must differ at least."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        named = []
        for at, one in enumerate(runs):
            if isinstance(one, Survey):
                file = os.path.join(folder, f"{at}.json")
                with open(file, "w", encoding="utf-8") as text:
                    text.write(one._json)
                named.append((f"run {at + 1}", file))
            else:
                named.append((os.fspath(one), os.fspath(one)))
        text, table, page = _native.compare(named, rate, margin)
    return Comparison(text, (table, page))


def _shared(
    do: Callable[..., str],
    before: tuple[Any, ...],
    work: Iterable[Any],
    after: tuple[Any, ...],
    executor: Executor | None,
    size: int,
) -> Iterable[tuple[int, str]]:
    """What each batch of so much work gave, and how much is done. A worker of an executor has one CPU for itself; without an
    executor all CPUs work."""
    todo = list(work)
    batches = [todo[at : at + size] for at in range(0, len(todo), size)]
    futures = [executor.submit(do, *before, batch, *after, 1) for batch in batches] if executor else []
    done = 0
    try:
        for at, batch in enumerate(batches):
            done += len(batch)
            yield done, futures[at].result() if executor else do(*before, batch, *after, 0)
    finally:
        for future in futures:
            future.cancel()


def _place(path: str | os.PathLike[str], max_write: int, max_time: float, seed: int) -> tuple[str, int, float, int]:
    return os.fspath(path), max_write, max_time, seed


def _word(value: Any) -> str:
    """A value as one would type it."""
    return str(int(value)) if isinstance(value, bool) else str(value)


def _jobs(jobs: Jobs) -> tuple[str, str | None]:
    """A job file's path, and its text where that is given."""
    if isinstance(jobs, Mapping):
        sections = ((name, [f"{key}={_word(value)}" for key, value in of.items()]) for name, of in jobs.items())
        return "jobs", "".join("\n".join([f"[{name}]", *lines, ""]) for name, lines in sections)
    if isinstance(jobs, str) and ("\n" in jobs or jobs.startswith("[")):
        return "jobs", jobs
    return os.fspath(jobs), None
