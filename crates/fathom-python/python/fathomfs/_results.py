"""What calls give."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, ClassVar

from . import _native


class Written:
    """What is JSON, as the command `fathom` writes it."""

    __slots__ = ("_json",)
    _json: str

    def to_json(self) -> str:
        """The JSON, as the command `fathom` writes it."""
        return self._json

    def to_dict(self) -> dict[str, Any]:
        """The fields as dictionaries, lists, strings and numbers."""
        return json.loads(self._json)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._json == other._json  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash(self._json)


class Result(Written):
    """What a call gave, with the fields of its JSON Schema as attributes."""

    __slots__ = ("_fields", "_model")
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

    def __repr__(self) -> str:
        return f"<fathomfs.{type(self).__name__}: {self.schema}>"

    def __str__(self) -> str:
        return self._rendered()[0]

    def _repr_html_(self) -> str:
        from html import escape

        return f'<iframe srcdoc="{escape(self._rendered()[1])}" style="width:100%;height:45em;border:0"></iframe>'

    def _rendered(self) -> tuple[str, str]:
        return _native.render(self._kind, self._json, self._model)

    def page(self) -> str:
        """The result as an HTML page with its figures, which needs no network."""
        return self._rendered()[1]


class Table(Result):
    """A result that is a table as well."""

    __slots__ = ()

    def rows(self) -> list[dict[str, Any]]:
        """The table as flat rows."""
        raise NotImplementedError

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows for libraries that take tables of Apache Arrow: pandas, Polars, DuckDB, PyArrow."""
        rows = self.rows()
        names = dict.fromkeys(name for row in rows for name in row)
        return _native.table([(name, [row.get(name) for row in rows]) for name in names])


class Prediction(Table):
    """What jobs will do: `jobs`, each with `sides` (reads, writes), latencies and intervals."""

    __slots__ = ()
    _kind = "prediction"

    def rows(self) -> list[dict[str, Any]]:
        """A row for each job and direction, and for its syncs; figures with the ends of their intervals."""
        rows = []
        for job in self.to_dict()["jobs"]:
            syncs = [{"direction": "sync", "latency": job["syncs"]}] if job["syncs"] else []
            for side in job["sides"] + syncs:
                known = {"job": job["name"], "class": job["class"], "direction": side["direction"]}
                known |= {"calls": side["latency"]["calls"], "bytes": side.get("bytes")}
                figures = {key: side[key] for key in ("bytes_per_second", "calls_per_second") if key in side}
                figures |= {key: one for key, one in side["latency"].items() if key != "calls"}
                rows.append(known | _flat(figures))
        return rows


class Run(Table):
    """What jobs did."""

    __slots__ = ()
    _kind = "run"

    def rows(self) -> list[dict[str, Any]]:
        """A row for each job and direction, and for its syncs."""
        rows = []
        for job in self.to_dict()["jobs"]:
            seconds = max(job["elapsed_ns"], 1) / 1e9
            for side in job["sides"]:
                known = {key: job[key] for key in ("threads", "elapsed_ns", "cached_share")}
                rates = {f"{key}_per_second": side[key] / seconds for key in ("bytes", "calls")}
                figures = {key: side[key] for key in ("calls", "bytes", "mean_ns", "max_ns")}
                rows.append({"job": job["name"], "direction": side["kind"], **known, **figures, **rates})
        return rows


class Survey(Table):
    """What a file system is like: `findings`, each with a value, its interval and the evidence."""

    __slots__ = ()
    _kind = "survey"

    def rows(self) -> list[dict[str, Any]]:
        """A row for each finding. A number has a `value` and the ends of its interval, anything else a `word`."""
        rows = []
        for found in self.to_dict()["findings"]:
            value = found["value"]
            is_number = isinstance(value, (int, float))
            low, high = found["interval"] or (None, None)
            answer = {"value": float(value) if is_number else None, "low": low, "high": high}
            word = None if is_number or value is None else value if isinstance(value, str) else json.dumps(value)
            known = {key: found[key] for key in ("parameter", "unit", "status", "agreement", "explanation")}
            rows.append({**known, **answer, "word": word})
        return rows


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


class Sweep(Table):
    """Predictions for the `cells` of a grid of settings."""

    __slots__ = ()
    _kind = "sweep"

    def rows(self) -> list[dict[str, Any]]:
        """A row for each cell, job and direction; a cell without prediction has a row with the reason."""
        rows = []
        for cell in self.to_dict()["cells"]:
            refused = {"refused": cell.get("refused")}
            sides = [(job["name"], side) for job in cell["jobs"] for side in job["sides"]]
            for name, side in sides:
                of = {key: side[key] for key in ("bytes_per_second", "calls_per_second")}
                figures = _flat({**of, "p99_ns": side["latency"]["p99_ns"]})
                known = {"job": name, "direction": side["direction"]}
                rows.append({**cell["settings"], **known, **figures, **refused})
            if not sides:
                rows.append({**cell["settings"], **refused})
        return rows


class Best(Table):
    """The `best` cell of a grid with its `figure`, and the `rivals` that can't be distinguished from it."""

    __slots__ = ()
    _kind = "best"

    def rows(self) -> list[dict[str, Any]]:
        """A row for the best cell, and for each that can't be distinguished from it."""
        found = self.to_dict()
        best = {**found["best"]["settings"], found["by"]: found["figure"]["value"]}
        return [best] + [{**rival["settings"], found["by"]: rival["figure"]} for rival in found["rivals"]]

    @property
    def settings(self) -> dict[str, str]:
        """The best value on each axis."""
        return self.to_dict()["best"]["settings"]


class TraceShown(Result):
    """What the operations of a trace do: their mix, sizes, order, timing, working set and hit ratios."""

    __slots__ = ()
    _kind = "trace-show"


class HitRatios(Table):
    """The hit ratios of caches over the accesses of a trace to blocks of 4096 bytes: `points`, by size; how far off they may be."""

    __slots__ = ()

    def rows(self) -> list[dict[str, Any]]:
        """A row for each size, with the hit ratio of each policy."""
        return self.to_dict()["points"]

    def __repr__(self) -> str:
        return f"<fathomfs.HitRatios: {len(self.points)} sizes>"

    def _rendered(self) -> tuple[str, str]:
        from html import escape

        names = list(self.rows()[0]) if self.points else []
        lines = ["  ".join([f"{names[0]:>16}", *(f"{name:>14}" for name in names[1:])])] if names else []
        for row in self.rows():
            size, *ratios = row.values()
            lines.append("  ".join([f"{size:>16}", *(f"{ratio:>14.4f}" for ratio in ratios)]))
        text = "\n".join(lines)
        return text, f"<!doctype html><pre>{escape(text)}</pre>"


def _flat(figures: dict[str, Any]) -> dict[str, Any]:
    """Figures with the ends of their intervals, next to each other."""
    flat = {}
    for name, one in figures.items():
        flat |= {name: one["value"], f"{name}_low": one["low"], f"{name}_high": one["high"]}
    return flat
