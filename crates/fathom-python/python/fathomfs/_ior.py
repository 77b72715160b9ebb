"""Command lines of IOR and mdtest as jobs, and their summary lines."""

from __future__ import annotations

import re
from dataclasses import dataclass
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any, Callable

from ._native import JobError

if TYPE_CHECKING:
    from . import Jobs
    from ._together import Together

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


@dataclass
class Asked:
    """The jobs of a command line, and how often they run."""

    jobs: Jobs
    repetitions: int = 1
    shift: int = 0
    summary: Callable[[list[Together]], str] | None = None


def of_words(words: list[str], ranks: int) -> Asked:
    """What a command line asks of so many ranks: `ior`'s or `mdtest`'s, by its first word."""
    read = {"ior": _ior, "mdtest": _mdtest}.get(words[0] if words else "")
    if read is None:
        raise JobError("behind '--' stands a command line of ior or of mdtest")
    return read(words[0], words[1:], ranks)


def _options(program: str, words: list[str], flags: str, valued: str, long: dict[str, str]) -> dict[str, Any]:
    """Short options, those of `valued` with a value, and long ones by their short names."""
    found: dict[str, Any] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name, _, value = word.partition("=")
        letters = long.get(name, "") if word.startswith("--") else word[1:] if word.startswith("-") else ""
        if not letters:
            raise JobError(f"{program}: {word} is not understood here")
        while letters:
            letter, letters = letters[0], letters[1:]
            if letter in flags:
                found[letter] = True
            elif letter in valued:
                value, letters = value or letters or (rest.pop(0) if rest else ""), ""
                if not value:
                    raise JobError(f"{program}: -{letter} takes a value")
                found[letter] = value
            else:
                raise JobError(f"{program}: -{letter} is not understood here")
    return found


def _number(program: str, letter: str, value: str) -> int:
    fits = re.fullmatch(r"(\d+)([kmgt]?)", value.lower())
    if not fits or int(fits[1]) == 0:
        raise JobError(f"{program}: -{letter} {value}: a number above 0, such as 16 or 1m, is wanted")
    return int(fits[1]) * _UNITS[fits[2]]


def _ior(program: str, words: list[str], ranks: int) -> Asked:
    long = {"--posix.odirect": "B"}
    found = _options(program, words, "wrFezCBkmgv", "abtsioDQd", long)
    if found.get("a", "POSIX") != "POSIX":
        raise JobError(f"ior: -a {found['a']}: POSIX alone is run here")
    if ranks > 1 and "F" not in found:
        raise JobError("ior: all ranks in one shared file is not run here; with -F each has a file of its own")
    block, size, segments = (_number(program, at, found.get(at, other)) for at, other in (("b", "1m"), ("t", "256k"), ("s", "1")))
    if block % size:
        raise JobError(f"ior: -b {block} is no multiple of -t {size}")
    both = ("w" in found) == ("r" in found)
    if not both and "r" in found:
        raise JobError("ior: -r alone reads what an earlier run has left; nothing is left here: give -w, too")
    common = {"filename": "ior", "bs": size, "size": block * segments, "direct": int("B" in found)}
    if "D" in found:
        common["runtime"] = _number(program, "D", found["D"])
    order = "rand" if "z" in found else ""
    jobs = {"write": {**common, "rw": f"{order}write", "end_fsync": int("e" in found)}}
    if both:
        # IOR drops nothing from the cache: what was written is read from there, unless -C has others read it.
        jobs["read"] = {**common, "stonewall": 1, "rw": f"{order}read", "invalidate": 0}
    shift = _number(program, "Q", found.get("Q", "1")) if "C" in found else 0
    return Asked(jobs, _number(program, "i", found.get("i", "1")), shift, _ior_summary)


def _ior_summary(done: list[Together]) -> str:
    lines = []
    for name in [job["name"] for job in done[0].to_dict()["jobs"]]:
        rates = _until_closed(done, name)
        lines.append(f"Max {name.capitalize() + ':':<6} {max(rates) / (1 << 20):.2f} MiB/sec ({max(rates) / 1e6:.2f} MB/sec)")
    lines += ["", "Operation   Max(MiB)   Min(MiB)  Mean(MiB)     StdDev"]
    for name in [job["name"] for job in done[0].to_dict()["jobs"]]:
        lines.append(f"{name:<9} " + " ".join(f"{one:10.2f}" for one in _statistics(_until_closed(done, name), 1 << 20)))
    return "\n".join([*lines, "from the first start until the last rank has closed its file, as in IOR"])


def _until_closed(done: list[Together], name: str) -> list[float]:
    """IOR's rates, which have the sync and the close of the files in them."""
    jobs = [job for one in done for job in one.to_dict()["jobs"] if job["name"] == name]
    return [job["sides"][0]["bytes"] / job["until_closed_ns"] * 1e9 for job in jobs]


#: mdtest's operations, and the engines that do the same.
_PHASES = {
    "D": [("Directory creation", "dircreate"), ("Directory stat", "dirstat"), ("Directory removal", "dirdelete")],
    "F": [("File creation", "filecreate"), ("File stat", "filestat"), ("File removal", "filedelete")],
}


def _mdtest(program: str, words: list[str], ranks: int) -> Asked:
    found = _options(program, words, "FDCTruv", "nid", {})
    if "n" not in found:
        raise JobError("mdtest: -n: how many files or directories has each rank?")
    count = _number(program, "n", found["n"])
    phases = [at for at, letter in enumerate("CTr") if letter in found] or [0, 1, 2]
    if 0 not in phases:
        raise JobError("mdtest: without -C there is nothing to look at or to remove: nothing is left here by an earlier run")
    jobs = {}
    for letter in [one for one in "DF" if one in found] or "DF":
        names = {"nrfiles": count, "filesize": 4096, "filename_format": f"{letter}.$jobnum.$filenum"}
        for at in phases:
            title, engine = _PHASES[letter][at]
            jobs[title] = {**names, "ioengine": engine, "stonewall": 1}
    return Asked(jobs, _number(program, "i", found.get("i", "1")), 0, _mdtest_summary)


def _mdtest_summary(done: list[Together]) -> str:
    titles = [job["name"] for job in done[0].to_dict()["jobs"]]
    lines = [
        f"SUMMARY rate: (of {len(done)} iterations)",
        "   Operation                     Max            Min           Mean        Std Dev",
        "   ---------                     ---            ---           ----        -------",
    ]
    for title in titles:
        jobs = [job for one in done for job in one.to_dict()["jobs"] if job["name"] == title]
        figures = _statistics([job["sides"][0]["calls_per_second"] for job in jobs], 1)
        lines.append(f"   {title:<20}" + " ".join(f"{figure:14.3f}" for figure in figures))
    return "\n".join(lines)


def _statistics(rates: list[float], unit: int) -> tuple[float, float, float, float]:
    rates = [rate / unit for rate in rates]
    return max(rates), min(rates), mean(rates), stdev(rates) if len(rates) > 1 else 0.0
