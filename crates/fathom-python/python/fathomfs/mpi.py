"""One job on many clients of a shared file system, started by MPI; needs mpi4py.

    mpirun -n 4 python -m fathomfs.mpi run JOB.fio SHARED_PATH
    mpirun -n 4 python -m fathomfs.mpi run SHARED_PATH -- ior -a POSIX -F -b 1g -t 1m

Every rank has files of its own. The jobs between two stonewalls begin together, after a barrier.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import secrets
import shutil
import signal
import socket
import sys
import threading
import time
from _thread import interrupt_main
from array import array
from typing import Any, NoReturn

from . import Jobs, _jobs, _native
from ._ior import Asked, of_words
from ._native import FathomError, JobError, MeasurementError
from ._together import Together

try:
    from mpi4py import MPI
except ImportError as error:
    _needed = f"fathomfs.mpi needs MPI and mpi4py (pip install mpi4py): {error}"
    if __name__ == "__main__":
        sys.exit(f"fathom: {_needed}")
    raise ImportError(_needed) from None

_MIB = 1 << 20
#: Messages between ranks: a reason to end.
_END = 1
#: Exchanges by which a clock is compared; that of the shortest time counts.
_EXCHANGES = 200
#: Seconds that ranks wait for each other at a failure.
_PATIENCE = 3
#: How long before the jobs begin the first rank says when, in ns.
_NOTICE = 20_000_000


def run(
    jobs: Jobs,
    path: str | os.PathLike[str] = ".",
    *,
    shift: int = 0,
    comm: Any = None,
    max_write: int = 16384 * _MIB,
    max_time: float = 600,
    seed: int = 1,
) -> Together | None:
    """Runs jobs on all ranks of a communicator at the same time, each on scratch files of its own below a directory that all of them
    share. With `shift` jobs that only read take the files of the rank so many further on, whose data are not in the own
    cache. The budget is that of each rank. Gives the result on the first rank; a failure of one ends all."""
    ranks = _Ranks(comm or MPI.COMM_WORLD, shift)
    try:
        text = ranks.settle(jobs, path)
        place = os.path.join(ranks.place, f"rank-{ranks.rank}")
        os.mkdir(place)
        own = json.loads(_native.run((place, max_write, max_time, seed), text, ranks.meet))
        return ranks.together(own)
    except (FathomError, OSError, KeyboardInterrupt) as error:
        ranks.fail(error)
    finally:
        ranks.close()


class _Ranks:
    """This process among the ranks: where they work, when their groups of jobs began, and why one has ended."""

    def __init__(self, comm: Any, shift: int) -> None:
        self.comm, self.control = comm.Dup(), comm.Dup()
        self.rank, self.size, self.shift = comm.Get_rank(), comm.Get_size(), shift
        self.place, self.lock, self.reason, self.begun = "", -1, "", 0
        #: When each group of jobs began and had synced and closed its files, and how many it has.
        self.groups: list[tuple[int, int, int]] = []
        self.ends = threading.Event()
        self.before = signal.signal(signal.SIGTERM, self._terminated)
        self.clocks = _clocks(self.comm)
        #: How far this rank's clock is ahead of the first one's.
        self.ahead = self.comm.scatter([offset for offset, _ in self.clocks] if self.rank == 0 else None)
        threading.Thread(target=self._watch, daemon=True).start()

    def settle(self, jobs: Jobs, path: str | os.PathLike[str]) -> tuple[str, str | None]:
        """Has the first rank read the jobs and make a directory for all; gives the jobs."""
        said: tuple[Any, ...] = ()
        if self.rank == 0:
            try:
                name, text = _jobs(jobs)
                if text is None:
                    with open(name, encoding="utf-8", errors="replace") as file:
                        text = file.read()
                self.place, self.lock = _directory(os.path.abspath(path))
                said = ("", (name, text), self.place)
            except (OSError, AttributeError) as error:
                said = (_line(error), ("", None), "")
        said = self.comm.bcast(said)
        if said[0]:
            # All know it, and the first says it.
            self.reason = said[0] if self.rank else ""
            raise MeasurementError(said[0])
        self.place = said[2]
        if not os.path.isdir(self.place):
            raise MeasurementError(f"{path} is not shared: what rank 0 makes there is not to be seen from {socket.gethostname()}")
        return said[1]

    def meet(self, what: str, directory: str, jobs: int) -> str | None:
        """Waits for all ranks. `_native.run` calls it from a thread of its own."""
        if what == "ended":
            self.groups.append((self.begun, time.monotonic_ns(), jobs))
        self._wait(self.comm.Ibarrier())
        if what == "begin":
            # A barrier lets go of one rank after the other; by their clocks they begin closer together.
            start = array("q", [time.monotonic_ns() + _NOTICE])
            self._wait(self.comm.Ibcast(start, 0))
            until = start[0] + self.ahead
            time.sleep(max(until - time.monotonic_ns() - _NOTICE // 100, 0) / 1e9)
            while time.monotonic_ns() < until:
                pass
            self.begun = time.monotonic_ns()
        if what == "laid out" and self.shift:
            names = self.comm.allgather(os.path.relpath(directory, self.place))
            return os.path.join(self.place, names[(self.rank + self.shift) % self.size])
        return None

    def together(self, own: dict[str, Any]) -> Together | None:
        """What all came to, on the first rank."""
        self._wait(self.comm.Ibarrier())
        again = _clocks(self.comm)
        gathered = self.comm.gather((socket.gethostname(), own, self.groups))
        self._remove()
        return None if gathered is None else Together.of(gathered, self.clocks, again)

    def _wait(self, request: Any) -> None:
        """Waits for all ranks; a reason to end ends the wait."""
        while not request.Test():
            if self.reason:
                raise MeasurementError(self.reason)
            time.sleep(0.001)

    def _watch(self) -> None:
        """Interrupts this rank when another one says that it has failed."""
        while not self.ends.wait(0.05):
            if self.control.iprobe(tag=_END):
                self.reason = self.reason or self.control.recv(tag=_END)
                interrupt_main()
                return

    def _terminated(self, *_: object) -> NoReturn:
        self.reason = self.reason or "SIGTERM: another rank has died, or mpirun was ended"
        raise KeyboardInterrupt

    def fail(self, error: BaseException) -> NoReturn:
        """Has all ranks remove their files and end; one of them says why."""
        for one in (signal.SIGINT, signal.SIGTERM):
            signal.signal(one, signal.SIG_IGN)
        is_first = not self.reason
        is_lost = self.reason.startswith("SIGTERM")
        line = self.reason or f"rank {self.rank} on {socket.gethostname()}: {_line(error)}"
        if is_first and self.place:
            others = [other for other in range(self.size) if other != self.rank]
            self.sent = [self.control.isend(line, other, tag=_END) for other in others]
        is_said = self.rank != 0
        if self.place:
            # Of those that know it first, one gets to remove this.
            try:
                os.rmdir(os.path.join(self.place, "not said" if is_first or is_lost else "known"))
                is_said = False
            except OSError:
                is_said = True
        if is_lost:
            # MPI is not to be trusted any more, and mpirun will soon kill what is left.
            self._remove(all_do=True)
            if not is_said:
                print(f"fathom: {line}", file=sys.stderr, flush=True)
            os._exit(143)
        end = time.monotonic() + _PATIENCE
        for step in (self._remove, lambda: None):
            request = self.control.Ibarrier()
            while not request.Test() and time.monotonic() < end:
                time.sleep(0.001)
            step()
        failure = MeasurementError(line if self.place else _line(error))
        failure.is_said = is_said
        raise failure from None

    def _remove(self, all_do: bool = False) -> None:
        """Removes the directory of all, whose parts the ranks have left."""
        if self.place and (self.rank == 0 or all_do):
            for _ in range(10):
                shutil.rmtree(self.place, ignore_errors=True)
                if not os.path.exists(self.place):
                    break
                time.sleep(0.05)

    def close(self) -> None:
        self.ends.set()
        signal.signal(signal.SIGTERM, self.before)
        if self.lock >= 0:
            os.close(self.lock)


def _line(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted; all scratch files were removed"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror.lower()}"
    return str(error)


def _directory(path: str) -> tuple[str, int]:
    """A private directory for all ranks and its lock; what a killed run left there goes first, as in Fathom's own."""
    if not os.path.isdir(path):
        raise NotADirectoryError(20, "no such directory", path)
    for entry in os.scandir(path):
        if entry.name.startswith(".fathom-") and os.path.isdir(os.path.join(entry.path, "rank-0")):
            with open(os.path.join(entry.path, "lock"), "rb") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    continue
                shutil.rmtree(entry.path, ignore_errors=True)
    place = os.path.join(path, f".fathom-{secrets.token_hex(4)}")
    os.mkdir(place, 0o700)
    lock = os.open(os.path.join(place, "lock"), os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.mkdir(os.path.join(place, "not said"))
    return place, lock


def _clocks(comm: Any) -> list[tuple[int, int]]:
    """How far each rank's clock is ahead of the first one's, and how far off that may be, in ns; on the first rank."""
    found = [(0, 0)]
    own, theirs = array("q", [0]), array("q", [0])
    for other in range(1, comm.Get_size()):
        if comm.Get_rank() == other:
            for _ in range(_EXCHANGES):
                comm.Recv(theirs, 0)
                own[0] = time.monotonic_ns()
                comm.Send(own, 0)
        elif comm.Get_rank() == 0:
            best = (1 << 62, 0)
            for _ in range(_EXCHANGES):
                start = time.monotonic_ns()
                comm.Send(own, other)
                comm.Recv(theirs, other)
                end = time.monotonic_ns()
                best = min(best, (end - start, theirs[0] - (start + end) // 2))
            found.append((best[1], best[0] // 2 + 1))
        comm.Barrier()
    return found


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise JobError(f"{message} (--help has all options)")


def _options(words: list[str], has_jobs: bool) -> argparse.Namespace:
    parser = _Parser("python -m fathomfs.mpi", description="Runs jobs on all ranks of MPI at the same time.")
    command = parser.add_subparsers(required=True, metavar="run").add_parser("run")
    if has_jobs:
        command.add_argument("jobs", metavar="JOB.fio", help="a job file of fio")
    command.add_argument("path", metavar="SHARED_PATH", nargs="?", default=".", help="a directory that all ranks share")
    command.add_argument("--shift", type=int, default=0, metavar="K", help="read the files of the K-th rank from here")
    command.add_argument("--max-time", type=float, default=600, metavar="SECONDS")
    command.add_argument("--max-write", type=int, default=16384, metavar="MIB", help="of each rank")
    command.add_argument("--json", metavar="FILE", help="write the result there, too")
    return parser.parse_args(words)


def main(words: list[str]) -> int:
    """The command line; behind `--` stands one of IOR or mdtest in place of a job file."""
    at = words.index("--") if "--" in words else len(words)
    is_first = MPI.COMM_WORLD.Get_rank() == 0
    try:
        options = _options(words[:at], at == len(words))
        limits = {"max_time": options.max_time, "max_write": options.max_write * _MIB}
        if at == len(words):
            asked = Asked(options.jobs)
        else:
            asked = of_words(words[at + 1 :], MPI.COMM_WORLD.Get_size())
        shift = options.shift or asked.shift
        done = [run(asked.jobs, options.path, shift=shift, **limits) for _ in range(asked.repetitions)]
        results = [one for one in done if one]
        if results:
            print(results[-1], *([asked.summary(results)] if asked.summary else []), sep="\n")
            if options.json:
                with open(options.json, "w", encoding="utf-8") as file:
                    file.write(results[-1].to_json() + "\n")
    except (FathomError, OSError) as error:
        if not getattr(error, "is_said", not is_first):
            print(f"fathom: {_line(error)}", file=sys.stderr, flush=True)
        return 1 if isinstance(error, (MeasurementError, OSError)) else 2
    return 0


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    if code:
        # Requests that failed ranks have left open would hold MPI's own end up.
        os._exit(code)
