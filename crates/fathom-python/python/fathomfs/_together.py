"""What jobs came to that many processes ran at the same time."""

from __future__ import annotations

import json
from statistics import median
from typing import Any, Iterable

from ._results import Table

_SHARES = {"p50_ns": 0.5, "p99_ns": 0.99, "p999_ns": 0.999}


class Together(Table):
    """Jobs that MPI's ranks ran together: `jobs`, each with what all did and what each rank did, and `ranks` with their clocks."""

    __slots__ = ()

    @classmethod
    def of(
        cls,
        gathered: list[tuple[str, dict[str, Any], list[tuple[int, int, int]]]],
        clocks: list[tuple[int, int]],
        again: list[tuple[int, int]],
    ) -> Together:
        """The result of what each rank says: its host, its `fathom.run/1`, and when its groups began and ended; `clocks` before and after."""
        ranks = []
        for rank, ((host, _, _), before, after) in enumerate(zip(gathered, clocks, again)):
            about = {"offset_ns": before[0], "offset_error_ns": before[1], "drift_ns": after[0] - before[0]}
            ranks.append({"rank": rank, "host": host, **about})
        times = [_times(groups, offset) for (_, _, groups), (offset, _) in zip(gathered, clocks)]
        jobs = [
            _job([ran["jobs"][at] for _, ran, _ in gathered], [of_rank[at] for of_rank in times])
            for at in range(len(gathered[0][1]["jobs"]))
        ]
        return cls(json.dumps({"ranks": ranks, "jobs": jobs}))

    def rows(self) -> list[dict[str, Any]]:
        """A row for each job, direction and rank, and one for all ranks, whose `rank` is missing."""
        rows = []
        for job in self.to_dict()["jobs"]:
            for one in [job, *job["ranks"]]:
                known = {"job": job["name"], "rank": one.get("rank"), "elapsed_ns": one["elapsed_ns"]}
                rows.extend({**known, **side} for side in one["sides"])
        return rows

    def __repr__(self) -> str:
        return f"<fathomfs.Together: {len(self.ranks)} ranks>"

    def _rendered(self) -> tuple[str, str]:
        text = self._text()
        return text, _page(text)

    def _text(self) -> str:
        found = self.to_dict()
        ranks, hosts = found["ranks"], {rank["host"] for rank in found["ranks"]}
        lines = [f"{_count(len(ranks), 'rank')} on {_count(len(hosts), 'host')}"]
        if len(ranks) > 1:
            error = max(rank["offset_error_ns"] for rank in ranks)
            drift = max(abs(rank["drift_ns"]) for rank in ranks)
            lines[0] += f"; their clocks are known within {_time(error)}, and moved by at most {_time(drift)} meanwhile"
        table = [["job", "what", "rank", "bandwidth", "until one ended", "calls/s", "median", "p99", "p99.9", "cached"]]
        notes = []
        for job in found["jobs"]:
            for at, side in enumerate(job["sides"]):
                for one in [job, *job["ranks"]] if len(ranks) > 1 else [job]:
                    table.append(_line(job["name"], one, one["sides"][at]))
            if len(ranks) > 1:
                slowest = ranks[job["slowest"]]
                notes.append(
                    f"{job['name']}: the ranks began within {_time(job['begun_within_ns'])}; the slowest was rank "
                    f"{slowest['rank']} on {slowest['host']}, which took {_time(job['ranks'][job['slowest']]['elapsed_ns'])} "
                    f"(the fastest: {_time(min(one['elapsed_ns'] for one in job['ranks']))})"
                )
        return "\n".join([*lines, "", _as_text(table), "", *notes])


class Growth(Table):
    """What a call costs with more and more clients: `costs`, one for each call and number of clients."""

    __slots__ = ()

    @classmethod
    def of(cls, rounds: list[dict[int, Together]]) -> Growth:
        """The result of rounds, each with what came of each number of ranks."""
        costs = []
        for at, job in enumerate(rounds[0][1].to_dict()["jobs"]):
            medians = {
                count: [one[count].to_dict()["jobs"][at]["sides"][0]["p50_ns"] for one in rounds] for count in rounds[0]
            }
            for count, of_rounds in medians.items():
                ratios = sorted(many / alone for many, alone in zip(of_rounds, medians[1]))
                known = {"call": job["name"], "clients": count, "median_ns": median(of_rounds)}
                costs.append({**known, "ratio": median(ratios), "ratio_low": ratios[0], "ratio_high": ratios[-1]})
        return cls(json.dumps({"rounds": len(rounds), "costs": costs}))

    def rows(self) -> list[dict[str, Any]]:
        """A row for each call and number of clients: its median time, how many times as long it is as with one client, and the
        smallest and the largest ratio of the rounds."""
        return self.to_dict()["costs"]

    def __repr__(self) -> str:
        return f"<fathomfs.Growth: {len(self.costs)} costs>"

    def _rendered(self) -> tuple[str, str]:
        table = [["call", "clients", "median", "times one client's", "rounds", "cost"]]
        for row in self.rows():
            low, high = row["ratio_low"], row["ratio_high"]
            verdict = "" if row["clients"] == 1 else "grows" if low > 1 else "falls" if high < 1 else "not known to change"
            ratios = ["", ""] if row["clients"] == 1 else [f"{row['ratio']:.2f}", f"{low:.2f} to {high:.2f}"]
            table.append([row["call"], str(row["clients"]), _time(row["median_ns"]), *ratios, verdict])
        return _as_text(table), _page(_as_text(table))


def _times(groups: list[tuple[int, int, int]], offset: int) -> list[tuple[int, int]]:
    """When each job began and its files were closed, by the first rank's clock."""
    return [(begun - offset, ended - offset) for begun, ended, jobs in groups for _ in range(jobs)]


def _job(ran: list[dict[str, Any]], times: list[tuple[int, int]]) -> dict[str, Any]:
    """What all ranks did of a job: from the first start to the last end."""
    begun = [start for start, _ in times]
    first = min(begun)
    ends = [start + job["elapsed_ns"] for start, job in zip(begun, ran)]
    elapsed, wall = max(max(ends) - first, 1), min(ends)
    ranks = [
        {
            "rank": rank,
            "begun_ns": start - first,
            "elapsed_ns": job["elapsed_ns"],
            "cached_share": job["cached_share"],
            "sides": [_side([side], max(job["elapsed_ns"], 1)) for side in job["sides"]],
        }
        for rank, (start, job) in enumerate(zip(begun, ran))
    ]
    sides = []
    for at in range(len(ran[0]["sides"])):
        parts = [job["sides"][at] for job in ran]
        side = _side(parts, elapsed)
        # What each rank had done when the first one ended, at its own rate.
        shares = [
            min(max(wall - start, 0) / max(job["elapsed_ns"], 1), 1.0) for start, job in zip(begun, ran)
        ]
        for key in ("bytes", "calls"):
            done = sum(part[key] * share for part, share in zip(parts, shares))
            side[f"{key}_per_second_until_one_ended"] = done / max(wall - first, 1) * 1e9
        sides.append(side)
    known = [job["cached_share"] for job in ran if job["cached_share"] is not None]
    return {
        "name": ran[0]["name"],
        "elapsed_ns": elapsed,
        "until_closed_ns": max(end for _, end in times) - first,
        "begun_within_ns": max(begun) - first,
        "slowest": max(range(len(ran)), key=lambda rank: ran[rank]["elapsed_ns"]),
        "cached_share": sum(known) / len(known) if known else None,
        "sides": sides,
        "ranks": ranks,
    }


def _side(parts: list[dict[str, Any]], elapsed: int) -> dict[str, Any]:
    """Calls of one kind of some ranks together; their histograms are merged."""
    calls, moved = sum(part["calls"] for part in parts), sum(part["bytes"] for part in parts)
    buckets = sorted((time, count) for part in parts for time, count in part["latencies_ns"])
    mean = sum(part["mean_ns"] * part["calls"] for part in parts) / max(calls, 1)
    rates = {"bytes_per_second": moved / elapsed * 1e9, "calls_per_second": calls / elapsed * 1e9}
    quantiles = {name: _quantile(buckets, calls, share) for name, share in _SHARES.items()}
    longest = max((part["max_ns"] for part in parts), default=0)
    return {"kind": parts[0]["kind"], "calls": calls, "bytes": moved, **rates, "mean_ns": mean, **quantiles, "max_ns": longest}


def _quantile(buckets: Iterable[tuple[float, int]], calls: int, share: float) -> float:
    """The time that a share of the calls does not exceed, within a bucket."""
    left = share * calls
    time = 0.0
    for time, count in buckets:
        left -= count
        if left <= 0:
            break
    return time


def _line(job: str, one: dict[str, Any], side: dict[str, Any]) -> list[str]:
    until = side.get("bytes_per_second_until_one_ended")
    rank = one.get("rank")
    cached = one["cached_share"]
    return [
        job,
        side["kind"],
        "all" if rank is None else str(rank),
        _rate(side["bytes_per_second"]) if side["bytes"] else "",
        _rate(until) if until else "",
        f"{side['calls_per_second']:.3g}" if side["calls_per_second"] < 1000 else f"{side['calls_per_second']:.0f}",
        *(_time(side[name]) for name in _SHARES),
        "" if cached is None else f"{cached:.0%}",
    ]


def _as_text(table: list[list[str]]) -> str:
    widths = [max(len(line[at]) for line in table) for at in range(len(table[0]))]
    return "\n".join("  ".join(word.ljust(width) for word, width in zip(line, widths)).rstrip() for line in table)


def _page(text: str) -> str:
    from html import escape

    return f"<!doctype html><pre>{escape(text)}</pre>"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + "s" * (number != 1)


def _rate(value: float) -> str:
    return f"{value / (1 << 20):.4g} MiB/s"


def _time(ns: float) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.0f} ns"
