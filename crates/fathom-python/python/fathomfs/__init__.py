"""Measure, explain and predict file systems on Linux.

A model of a machine predicts jobs of fio without running them:

>>> import fathomfs
>>> model = fathomfs.Model.assumed()
>>> jobs = {"reads": {"rw": "randread", "bs": "4k", "size": "1m"}}
>>> told = model.predict(jobs)
>>> rate = told.jobs[0].sides[0].bytes_per_second
>>> 30e6 < rate.low <= rate.value <= rate.high < 60e6
True

Jobs are the path of a job file, its text, or sections with their options as above. `assumed` is a model of no machine;
`Model.calibrate` measures this one. What a call gives has the fields of its published JSON Schema as attributes,
`to_dict()` gives them as plain values, and `print` shows the table that the command `fathom` prints:

>>> told.to_dict()["schema"]
'fathom.prediction/1'
>>> str(told).splitlines()[0]
'Simulated: a machine that was never measured; every parameter that is not set is assumed.'

Everything can be pickled. While a call works, other threads go on, and Ctrl-C ends it: a measurement removes its files first,
and what a prediction has begun to simulate runs to its end in the background. Failures are a `FathomError`:

>>> model.with_(readahaed="1M")
Traceback (most recent call last):
    ...
fathomfs.ModelError: there is no parameter 'readahaed'; did you mean 'readahead'?
"""

from __future__ import annotations

import json
import os
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Callable, ClassVar, Iterable, Mapping, Union

from . import _native
from ._native import FathomError, JobError, MeasurementError, ModelError, ResultError

if TYPE_CHECKING:
    from concurrent.futures import Executor

__all__ = [
    "Comparison",
    "FathomError",
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
    "Validation",
    "compare",
    "run",
    "survey",
    "validate",
]

Jobs = Union[str, "os.PathLike[str]", Mapping[str, Mapping[str, Any]]]
"""The path of a job file (or of a trace), the text of one, or its sections with their options."""

_MIB = 1 << 20


class Result:
    """What a call gave, with the fields of its JSON Schema as attributes."""

    __slots__ = ("_fields", "_json", "_model")
    _kind: ClassVar[str] = ""

    def __init__(self, text: str, model: str | None = None) -> None:
        self._json, self._model, self._fields = text, model, None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if self._fields is None:
            self._fields = json.loads(self._json, object_hook=lambda fields: SimpleNamespace(**fields))
        return getattr(self._fields, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._json, self._model)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._json == other._json  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash(self._json)

    def __repr__(self) -> str:
        return f"<fathomfs.{type(self).__name__}: {self.schema}>"

    def __str__(self) -> str:
        return self._rendered()[0]

    def _repr_html_(self) -> str:
        from html import escape

        return f'<iframe srcdoc="{escape(self._rendered()[1])}" style="width:100%;height:45em;border:0"></iframe>'

    def _rendered(self) -> tuple[str, str]:
        return _native.render(self._kind, self._json, self._model)

    def to_json(self) -> str:
        """The JSON, as the command `fathom` writes it."""
        return self._json

    def to_dict(self) -> dict[str, Any]:
        """The fields as dictionaries, lists, strings and numbers."""
        return json.loads(self._json)

    def page(self) -> str:
        """The result as an HTML page with its figures, which needs no network."""
        return self._rendered()[1]


class Prediction(Result):
    """What jobs will do: `jobs`, each with `sides` (reads, writes), latencies and intervals."""

    __slots__ = ()
    _kind = "prediction"


class Run(Result):
    """What jobs did."""

    __slots__ = ()
    _kind = "run"


class Survey(Result):
    """What a file system is like: `findings`, each with a value, its interval and the evidence."""

    __slots__ = ()
    _kind = "survey"


class Validation(Result):
    """How far predictions were off, by class of job."""

    __slots__ = ()
    _kind = "validation"


class Comparison(Result):
    """What differs between results beyond noise."""

    __slots__ = ()

    def _rendered(self) -> Any:
        # It is about no model, and keeps its text and its page there.
        return self._model


class Sweep(Result):
    """Predictions for the `cells` of a grid of settings."""

    __slots__ = ()
    _kind = "sweep"

    def rows(self) -> list[dict[str, Any]]:
        """A flat row for each cell, job and direction, for `pandas.DataFrame(sweep.rows())` and the like."""
        rows = []
        for cell in self.to_dict()["cells"]:
            refused = {"refused": cell.get("refused")}
            sides = [(job["name"], side) for job in cell["jobs"] for side in job["sides"]]
            for name, side in sides:
                figures: dict[str, Any] = {"job": name, "direction": side["direction"]}
                of = {key: side[key] for key in ("bytes_per_second", "calls_per_second")}
                for key, one in {**of, "p99_ns": side["latency"]["p99_ns"]}.items():
                    figures |= {key: one["value"], f"{key}_low": one["low"], f"{key}_high": one["high"]}
                rows.append({**cell["settings"], **figures, **refused})
            if not sides:
                rows.append({**cell["settings"], **refused})
        return rows


class Model:
    """A model of a machine and a file system.

    >>> model = Model.assumed().with_(readahead="1M")
    >>> model.to_dict()["scalars"]["readahead"]["value"]
    1048576.0
    """

    __slots__ = ("_json", "_settings")

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
        max_write: int = 4096 * _MIB,
        max_time: float = 240,
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
        """Predicts jobs for each cell of a grid of settings.

        `grid` has the values of parameters of the model and of options of the jobs. Any executor of `concurrent.futures` may
        work (processes; MPI's, Dask's); without one all CPUs do. The result is equal bit by bit on all of them. With a
        `folder` each cell is kept there as soon as it is predicted, and is not predicted again. `progress` is told how many
        cells are done, and of how many.

        >>> grid = {"readahead": ["128K", "1M"], "bs": ["4k", "64k"]}
        >>> sweep = Model.assumed().sweep(grid, {"reads": {"size": "1m"}}, draws=2)
        >>> [(row["readahead"], row["bs"]) for row in sweep.rows()]
        [('128K', '4k'), ('128K', '64k'), ('1M', '4k'), ('1M', '64k')]
        """
        axes = [(name, [_word(value) for value in values]) for name, values in grid.items()]
        plan, count = _native.sweep_plan(self._json, _jobs(jobs), axes, draws, seed)
        place = None if folder is None else os.fspath(folder)
        size = max(1, min(256, count // 64)) if executor or progress else count
        batches = [list(range(at, min(at + size, count))) for at in range(0, count, size)]
        parts: list[str] = []
        if executor is None:
            results: Iterable[str] = (_native.sweep_cells(plan, batch, place, 0) for batch in batches)
            futures = []
        else:
            futures = [executor.submit(_cells, plan, batch, place) for batch in batches]
            results = (future.result() for future in futures)
        try:
            for batch, part in zip(batches, results):
                parts.append(part)
                if progress:
                    progress(batch[-1] + 1, count)
        finally:
            for future in futures:
                future.cancel()
        return Sweep(_native.sweep_join(plan, parts, place), self._json)

    def to_json(self) -> str:
        """The JSON, as the command `fathom` writes it."""
        return self._json

    def to_dict(self) -> dict[str, Any]:
        """The parameters as dictionaries, lists, strings and numbers."""
        return json.loads(self._json)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._json, self._settings)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model) and self._json == other._json

    def __hash__(self) -> int:
        return hash(self._json)

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
    max_write: int = 9216 * _MIB,
    max_time: float = 600,
    seed: int = 1,
) -> Validation:
    """Predicts jobs that the model has never seen, runs each several times below a directory (also by `fio`, where it is
    installed), and compares."""
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


def _cells(plan: str, cells: list[int], folder: str | None) -> str:
    """Some cells of a sweep in a worker, which has one CPU for itself."""
    return _native.sweep_cells(plan, cells, folder, 1)


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
