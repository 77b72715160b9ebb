"""One job on many clients of a shared file system, started by MPI; needs mpi4py. `python -m fathomfs.mpi` is the same as `fathom` here.

    mpirun -n 4 fathom run JOB.fio SHARED_PATH
    mpirun -n 4 fathom survey SHARED_PATH
    mpirun -n 4 fathom run SHARED_PATH -- ior -a POSIX -b 1g -t 1m

Every rank has files of its own, or with IOR's default a part of one. The jobs between two stonewalls begin together, after a barrier.
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
from ._native import FathomError, JobError, MeasurementError
from ._together import Growth, Together

try:
    from mpi4py import MPI
except ImportError as error:
    _needed = f"fathomfs.mpi needs MPI and mpi4py (pip install mpi4py): {error}"
    if __name__ == "__main__":
        # The first rank says it for all.
        _rank = os.environ.get("OMPI_COMM_WORLD_RANK") or os.environ.get("PMI_RANK") or "0"
        sys.exit(f"fathom: {_needed}" if _rank == "0" else 1)
    raise ImportError(_needed) from None

_MIB = 1 << 20
#: Messages between ranks: a reason to end.
_END = 1
#: Exchanges by which a clock is compared.
_EXCHANGES = 200
#: Seconds that ranks wait for each other at a failure.
_PATIENCE = 3
#: How often a survey asks. The median lies between the smallest and the largest of six with 97 % confidence.
_ROUNDS = 6
_NAMES = {"nrfiles": 200, "filesize": 4096, "stonewall": 1, "filename_format": "n.$filenum"}
#: What a survey asks about.
_CALLS = {
    "create": {**_NAMES, "ioengine": "filecreate"},
    "stat": {**_NAMES, "ioengine": "filestat"},
    "unlink": {**_NAMES, "ioengine": "filedelete"},
    "write 4k": {"rw": "write", "bs": "4k", "size": "4m", "filename": "data", "stonewall": 1, "end_fsync": 1},
    "read 4k": {"rw": "randread", "bs": "4k", "size": "4m", "filename": "data", "stonewall": 1},
    "write 4k, fsync": {"rw": "randwrite", "bs": "4k", "size": "400k", "filename": "data", "stonewall": 1, "fsync": 1},
}
#: How long before the jobs begin the first rank says when, in ns.
_NOTICE = 20_000_000


def run(
    jobs: Jobs,
    path: str | os.PathLike[str] = ".",
    *,
    shift: int = 0,
    one_file: bool = False,
    wear_out: bool = False,
    comm: Any = None,
    max_write: int = 16384 * _MIB,
    max_time: float = 600,
    seed: int = 1,
) -> Together | None:
    """Runs jobs on all ranks of a communicator at the same time, each on scratch files of its own below a directory that all of them
    share. With `shift` jobs that only read take the files of the rank so many further on, whose data are not in the own
    cache. With `one_file` all ranks use the files of the first one. With `wear_out` a job goes on after its `runtime`, until each rank has
    moved as much as the fastest one had by then. Text of jobs may differ between ranks. The budget is that of each rank. Gives the result on the first rank; a failure of one ends all."""
    ranks = _Ranks(comm or MPI.COMM_WORLD, shift, one_file)
    try:
        text = ranks.settle(jobs, path)
        place = os.path.join(ranks.place, f"rank-{ranks.rank}")
        os.mkdir(place)
        is_guest = one_file and ranks.rank > 0
        most = ranks.most if wear_out else None
        own = json.loads(_native.run((place, max_write, max_time, seed), text, ranks.meet, is_guest, most))
        return ranks.together(own)
    except (FathomError, OSError, KeyboardInterrupt) as error:
        ranks.fail(error)
    finally:
        ranks.close()


def survey(
    path: str | os.PathLike[str] = ".",
    *,
    comm: Any = None,
    max_write: int = 1024 * _MIB,
    max_time: float = 600,
    seed: int = 1,
) -> Growth | None:
    """Finds whether the cost of calls grows with the number of clients: the same calls are made by one rank, by two, by four and so on,
    and by all, in six rounds. The budget is that of each rank. Gives the result on the first rank."""
    comm = comm or MPI.COMM_WORLD
    rank, size = comm.Get_rank(), comm.Get_size()
    counts = sorted({1, size, *(1 << power for power in range(size.bit_length()) if 1 << power < size)})
    parts = {count: comm.Split(0 if rank < count else MPI.UNDEFINED, rank) for count in counts}
    limits = {"max_write": max_write // len(counts) // _ROUNDS, "max_time": max_time / len(counts) / _ROUNDS}
    rounds = []
    for _ in range(_ROUNDS):
        found = {}
        for count, part in parts.items():
            if rank < count:
                found[count] = run(_CALLS, path, comm=part, seed=seed, **limits)
            # Who waits is to leave the CPU to those that work.
            request = comm.Ibarrier()
            while not request.Test():
                time.sleep(0.01)
        rounds.append(found)
    return Growth.of(rounds) if rank == 0 else None


class _Ranks:
    """This process among the ranks: where they work, when their groups of jobs began, and why one has ended."""

    def __init__(self, comm: Any, shift: int, one_file: bool) -> None:
        self.comm, self.control = comm.Dup(), comm.Dup()
        self.rank, self.size, self.shift, self.one_file = comm.Get_rank(), comm.Get_size(), shift, one_file
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
        """Has the first rank read the jobs and make a directory for all; gives the jobs of this rank."""
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
        own = _jobs(jobs)
        return said[1] if own[1] is None else own

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
        if what == "laid out" and (self.shift or self.one_file):
            names = self.comm.allgather(os.path.relpath(directory, self.place))
            other = 0 if self.one_file else (self.rank + self.shift) % self.size
            return os.path.join(self.place, names[other]) if other != self.rank else None
        return None

    def most(self, moved: int) -> int:
        """The most that any rank has moved."""
        own, most = array("q", [moved]), array("q", [0])
        self._wait(self.comm.Iallreduce(own, most, MPI.MAX))
        return most[0]

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
            # MPI is not to be trusted any more, and mpirun kills what is left a second later, even in the middle of this.
            if not is_said:
                print(f"fathom: {line}", file=sys.stderr, flush=True)
            self._remove(all_do=True)
            os._exit(143)
        end = time.monotonic() + _PATIENCE
        for step in (self._remove, lambda: None):
            _meet(self.control, end)
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


def _meet(comm: Any, end: float) -> None:
    """Waits for all ranks, which may have ended, until a moment."""
    request = comm.Ibarrier()
    while not request.Test() and time.monotonic() < end:
        time.sleep(0.001)


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
    """How far each rank's clock is ahead of the first one's, and how far off that may be, in ns; on the first rank.

    By the two clocks a message takes its time and as much as they are apart, and the answer less by as much. The shortest of each
    take the same time (F. Cristian, "Probabilistic clock synchronization", 1989).
    """
    found = [(0, 0)]
    own, theirs = array("q", [0, 0]), array("q", [0, 0])
    for other in range(1, comm.Get_size()):
        if comm.Get_rank() == other:
            for _ in range(_EXCHANGES):
                _done(comm.Irecv(theirs, 0))
                own[0] = time.monotonic_ns()
                own[1] = time.monotonic_ns()
                _done(comm.Isend(own, 0))
        elif comm.Get_rank() == 0:
            there = back = 1 << 62
            for _ in range(_EXCHANGES):
                start = time.monotonic_ns()
                _done(comm.Isend(own, other))
                _done(comm.Irecv(theirs, other))
                end = time.monotonic_ns()
                there, back = min(there, theirs[0] - start), min(back, end - theirs[1])
            found.append(((there - back) // 2, (there + back) // 2 + 1))
        comm.Barrier()
    return found


def _done(request: Any) -> None:
    """Waits without keeping the CPU from the thread of the kernel that hands a message over, as MPI's own wait does."""
    while not request.Test():
        time.sleep(0)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise JobError(f"{message} (--help has all options)")


def _options(words: list[str], has_jobs: bool) -> argparse.Namespace:
    parser = _Parser("mpirun fathom", description="Runs jobs on all ranks of MPI at the same time.")
    commands = parser.add_subparsers(required=True, metavar="run|survey", dest="command")
    command = commands.add_parser("run", help="run jobs")
    if has_jobs:
        command.add_argument("jobs", metavar="JOB.fio", help="a job file of fio")
    else:
        command.set_defaults(jobs="")
    command.add_argument("--shift", type=int, default=0, metavar="K", help="read the files of the K-th rank from here")
    for one in (command, commands.add_parser("survey", help="find whether the cost of calls grows with the clients")):
        one.add_argument("path", metavar="SHARED_PATH", nargs="?", default=".", help="a directory that all ranks share")
        one.add_argument("--max-time", type=float, default=600, metavar="SECONDS")
        one.add_argument("--max-write", type=int, default=16384, metavar="MIB", help="of each rank")
        one.add_argument("--json", metavar="FILE", help="write the result there, too")
    return parser.parse_args(words)


def _rates(results: list[Together]) -> list[tuple[str, list[tuple[float, float]]]]:
    """Of each job in all repetitions, the bytes per second until the files were closed, and the calls per second."""
    rates: dict[str, list[tuple[float, float]]] = {}
    for job in (job for one in results for job in one.to_dict()["jobs"]):
        side = job["sides"][0]
        rate = (side["bytes"] / job["until_closed_ns"] * 1e9, side["calls_per_second"])
        rates.setdefault(job["name"], []).append(rate)
    return list(rates.items())


def _asked(options: argparse.Namespace, words: list[str], limits: dict[str, Any]) -> tuple[list[Any], str]:
    """What the options ask for, on the first rank, and what follows it; `words` are a command line of IOR or mdtest."""
    if options.command == "survey":
        found = survey(options.path, **limits)
        return [found] if found else [], "\n"
    jobs, repetitions, shift, one_file, wear_out, program = options.jobs, 1, 0, False, False, ""
    if words:
        comm = MPI.COMM_WORLD
        asked = _native.benchmark(words, comm.Get_rank(), comm.Get_size())
        jobs, repetitions, shift, one_file, wear_out, program = asked
    if one_file and options.shift:
        raise JobError("--shift: with one file for all ranks -C and -Q say whose part is read")
    shift = options.shift or shift
    how = {"shift": shift, "one_file": one_file, "wear_out": wear_out, **limits}
    done = [run(jobs, options.path, **how) for _ in range(repetitions)]
    results = [one for one in done if one]
    summary = _native.benchmark_summary(program, _rates(results)) if program and results else ""
    return results, "\n" + summary


def main(words: list[str]) -> int:
    """The command line; behind `--` stands one of IOR or mdtest in place of a job file."""
    at = words.index("--") if "--" in words else len(words)
    is_first = MPI.COMM_WORLD.Get_rank() == 0
    try:
        options = _options(words[:at], at == len(words))
        limits = {"max_time": options.max_time, "max_write": options.max_write * _MIB}
        results, lines = _asked(options, words[at + 1 :], limits)
        if results:
            print(results[-1], end=lines)
            if options.json:
                with open(options.json, "w", encoding="utf-8") as file:
                    file.write(results[-1].to_json() + "\n")
    except (FathomError, OSError) as error:
        if not getattr(error, "is_said", not is_first):
            print(f"fathom: {_line(error)}", file=sys.stderr, flush=True)
        # mpirun kills all as soon as one has failed, and with it what one was about to say.
        _meet(MPI.COMM_WORLD, time.monotonic() + _PATIENCE)
        return 1 if isinstance(error, (MeasurementError, OSError)) else 2
    return 0


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    if code:
        # Requests that failed ranks have left open would hold MPI's own end up.
        os._exit(code)
