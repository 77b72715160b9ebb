"""Traces of what programs asked of files, or file systems of devices."""

from __future__ import annotations

import json
import os
from collections import deque
from typing import TYPE_CHECKING, Any, Iterator, Sequence
from warnings import warn

from . import _native
from ._results import HitRatios, TraceShown

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future


#: Stretches that an executor may be ahead of what is merged, so that memory does not grow with the trace.
_AHEAD = 32
#: libCacheSim ends the process where a policy divides a cache into parts that are empty.
_LEAST = 100 * 4096
#: The policies that are the kernel's, and not of libCacheSim.
_KERNELS = ("two_lists", "generations")


def _looks(executor: Executor, plan: str, count: int) -> Iterator[str]:
    """What an executor found in each stretch, in order."""
    futures: deque[Future[str]] = deque()
    try:
        for at in range(count):
            if len(futures) == _AHEAD:
                yield futures.popleft().result()
            futures.append(executor.submit(_native.trace_look, plan, at))
        while futures:
            yield futures.popleft().result()
    finally:
        for future in futures:
            future.cancel()


class Trace:
    """A trace: a Parquet file with a row for each operation, such as `fathom trace` makes.

    >>> import os, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> log = os.path.join(folder.name, "requests.csv")
    >>> with open(log, "w") as text:
    ...     lines = [f"{at % 2},R,{at * 4096},4096,{1577808144360767 + at}\\n" for at in range(100)]
    ...     text.writelines(lines) and None
    >>> trace = Trace.import_(log, os.path.join(folder.name, "requests.parquet"), "alibaba")
    >>> trace.show().operations
    100
    >>> folder.cleanup()

    It is a table of its operations (`polars.DataFrame(trace)`, `pyarrow.table(trace)`), which are read from the file a batch
    after the other and not copied. `Model.predict` takes it in place of jobs. Pickled it is the path of its file.
    """

    __slots__ = ("path",)
    path: str

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Trace:
        """The trace of a file, of a folder of parts, or of those whose names fit a pattern such as `folder/part-0*`."""
        _native.trace_origin(path)
        return cls(path)

    @classmethod
    def import_(
        cls,
        source: str | os.PathLike[str],
        out: str | os.PathLike[str],
        format: str | None = None,
        *,
        rows_per_part: int | None = None,
    ) -> Trace:
        """Makes a trace at `out` of a file in another tool's format, which is found out where it is not named: fio, strace,
        blkparse, blktrace, msr, alibaba, tencent, spc, darshan or vscsi. With `rows_per_part` it is a folder of parts. Warns of
        lines that made no sense."""
        rejected = json.loads(_native.trace_import(source, format, out, rows_per_part))["rejected"]
        if rejected["count"]:
            first = rejected["first"][0]
            warn(
                f"{rejected['count']} lines of {os.fspath(source)} made no sense, the first of them "
                f"number {first['number']}: {first['reason']}",
                stacklevel=2,
            )
        return cls(out)

    @classmethod
    def record(
        cls,
        command: Sequence[str | os.PathLike[str]] | None = None,
        out: str | os.PathLike[str] = "trace.parquet",
        *,
        pid: int | None = None,
        method: str | None = None,
    ) -> Trace:
        """Records what a command asks of files, or a process that runs, until it ends, into a new trace at `out`: by the kernel's
        tracer as root, or else by strace; `method` is 'kernel' or 'strace'. Warns of what is missing. Ctrl-C ends the
        recording of a process; what was recorded until then is kept."""
        if (command is None) == (pid is None):
            raise ValueError("name a command or the pid of a process")
        came = json.loads(_native.trace_record(list(command or []), pid, method, out))
        if came["lost"] or came["unnamed"]:
            lost = f"{came['lost']} events were lost, and the paths of {came['unnamed']} calls are not known"
            warn(f"{os.fspath(out)} is not complete: {lost}", stacklevel=2)
        return cls(out)

    @property
    def origin(self) -> dict[str, Any]:
        """Whether operations are calls on files or requests to devices, what times count from, and the source."""
        return json.loads(_native.trace_origin(self.path))

    def show(self, executor: Executor | None = None) -> TraceShown:
        """What the operations do, all together. Any executor of `concurrent.futures` may look at stretches of some two million
        operations, also on other machines that have the trace at the same path; they are merged here."""
        if executor is None:
            return TraceShown(_native.trace_show(self.path))
        plan, count = _native.trace_plan(self.path)
        return TraceShown(_native.trace_shown(self.path, plan, _looks(executor, plan, count)))

    def hit_ratios(
        self,
        policies: Sequence[str] = (),
        *,
        cache_bytes: Sequence[int] = (),
        sample: float = 1.0,
    ) -> HitRatios:
        """The hit ratios of caches over the accesses to blocks of 4096 bytes: of an LRU cache of every size, by following at most
        the part `sample` of the blocks (and never more than a million), which is much quicker than `show`. With `policies` and
        sizes those of other caches, too: 'two_lists' and 'generations' (MGLRU) are the kernel's own page cache, without read-ahead,
        and all others are simulated by libCacheSim (`pip install libcachesim`): its 'FIFO', 'S3FIFO', 'ARC', 'Sieve', 'LRU' and so
        on.

        >>> import os, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> log = os.path.join(folder.name, "requests.csv")
        >>> with open(log, "w") as text:
        ...     text.writelines(f"1,R,{at % 10 * 4096},4096,{10**15 + at}\\n" for at in range(100)) and None
        >>> trace = Trace.import_(log, os.path.join(folder.name, "requests.parquet"))
        >>> [round(row["hit_ratio"], 2) for row in trace.hit_ratios().rows()]
        [0.0, 0.9]
        >>> folder.cleanup()
        """
        if not 0 < sample <= 1:
            raise _native.TraceError(f"sample={sample}: a part of the blocks is above 0 and at most 1")
        found = json.loads(_native.trace_hit_ratios(self.path, sample))
        if policies:
            found["points"] = self._simulated(found["points"], policies, cache_bytes)
        return HitRatios(json.dumps(found))

    def _simulated(
        self, curve: list[dict[str, Any]], policies: Sequence[str], cache_bytes: Sequence[int]
    ) -> list[dict[str, Any]]:
        if not cache_bytes or min(cache_bytes) < _LEAST:
            raise _native.TraceError(f"cache_bytes: name sizes of caches, each of {_LEAST} bytes or more")
        sizes = sorted(cache_bytes)
        points = []
        for size in sizes:
            smaller = [point for point in curve if point["cache_bytes"] <= size]
            points.append({"cache_bytes": size, "hit_ratio": smaller[-1]["hit_ratio"] if smaller else 0.0})
        others = [name for name in policies if name not in _KERNELS]
        found = self._by_libcachesim(others, sizes) if others else {}
        for name in set(policies).intersection(_KERNELS):
            found[name] = _native.trace_kernel_cache(self.path, name, sizes)
        for name in policies:
            for point, hits in zip(points, found[name], strict=True):
                point[name] = hits
        return points

    def _by_libcachesim(self, policies: Sequence[str], sizes: Sequence[int]) -> dict[str, list[float]]:
        try:
            import libcachesim
        except ImportError:
            raise _native.TraceError("caches of other policies need libCacheSim: pip install libcachesim") from None
        from tempfile import NamedTemporaryFile

        unknown = [name for name in policies if not hasattr(getattr(libcachesim, name, None), "process_trace")]
        if unknown:
            raise _native.TraceError(f"libCacheSim has no policy {unknown[0]!r}")
        found: dict[str, list[float]] = {name: [] for name in policies}
        with NamedTemporaryFile(suffix=".oracleGeneral") as file:
            _native.trace_accesses(self.path, file.name)
            for name in policies:
                for size in sizes:
                    reader = libcachesim.TraceReader(file.name, libcachesim.TraceType.ORACLE_GENERAL_TRACE)
                    misses, _ = getattr(libcachesim, name)(size // 4096).process_trace(reader)
                    found[name].append(1 - misses)
        return found

    def to_dict(self) -> dict[str, Any]:
        """What `show` gives, as plain values."""
        return self.show().to_dict()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The operations for libraries that take tables of Apache Arrow."""
        return _native.trace_stream(self.path)

    def __fspath__(self) -> str:
        return self.path

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Trace) and self.path == other.path

    def __hash__(self) -> int:
        return hash(self.path)

    def __repr__(self) -> str:
        return f"<fathomfs.Trace: {self.path}>"

    def __str__(self) -> str:
        return str(self.show())

    def _repr_html_(self) -> str:
        return self.show()._repr_html_()
