# SPDX-License-Identifier: Apache-2.0
"""Figures from the guest's counters: those of a run, and their median and spread over several."""

import json
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hwswap.guest import bitmaps

SIZES = (16, 32, 64, 128, 256, 512, 1024, 2048)
"""kB of large folios that the kernel counts."""

PAGE_KB = 4


@dataclass
class Run:
    """A load's run: counters before and after it, its own output, and how its bitmaps differ."""

    before: dict[str, int] = field(default_factory=dict)
    after: dict[str, int] = field(default_factory=dict)
    said: list[dict[str, Any]] = field(default_factory=list)
    bitmaps: list[str] = field(default_factory=list)

    def count(self, name: str) -> int:
        """Return how far a counter went up; 0 for one that this kernel has not."""
        return self.after.get(name, 0) - self.before.get(name, 0)


@dataclass
class Collected:
    """Everything that a guest printed, by load and number of the run."""

    runs: dict[tuple[str, int], Run] = field(default_factory=dict)
    done: bool = False
    _counters: dict[str, int] | None = None

    def feed(self, line: str) -> None:
        """Take a line of the guest's output."""
        if self._counters is not None:
            if line == "@end":
                self._counters = None
            elif line:
                name, value = line.split()
                self._counters[name] = int(value)
            return
        kind, *rest = line.split(" ", 3)
        if kind == "@counters":
            self._counters = getattr(self._run(rest), rest[2])
        elif kind == "@load" and rest[2].startswith("{"):
            self._run(rest).said.append(json.loads(rest[2]))
        elif kind == "@verify":
            self._run(rest).bitmaps.append(rest[2])
        elif kind == "@done":
            self.done = True

    def _run(self, words: list[str]) -> Run:
        return self.runs.setdefault((words[0], int(words[1])), Run())


def folios_out(run: Run) -> int:
    """Return how many folios were swapped out: single pages, and large ones whole."""
    large = sum(run.count(f"swpout_{size}") for size in SIZES)
    pages = sum(run.count(f"swpout_{size}") * size // PAGE_KB for size in SIZES)
    return run.count("pswpout") - pages + large


def _per(value: float, of: float) -> float | None:
    return value / of if of else None


def figures(run: Run) -> dict[str, float | None]:
    """Return the figures of a run; None where there is nothing to divide by.

    A microsecond of the guest's clock is a thousand instructions.
    """
    out, into = run.count("pswpout"), run.count("pswpin")
    written = sum(said.get("pages_written", 0) for said in run.said)
    tried = {size: run.count(f"swpout_{size}") + run.count(f"swpout_fallback_{size}") for size in SIZES}
    splits = {f"fall-backs, {size} kB": run.count(f"swpout_fallback_{size}") if tried[size] else None for size in SIZES}
    refused = [name for name in run.after if name.startswith("grants_refused_")]

    def of_grants(*names: str) -> int | None:
        return sum(map(run.count, names)) if "grant_units" in run.after else None

    return {
        "pages out": out,
        "pages in": into,
        "instructions": 1000.0 * run.count("usage_usec"),
        "instructions in the kernel (seen at ticks)": 1000.0 * run.count("system_usec"),
        "in the kernel, a page out or in": _per(1000.0 * run.count("system_usec"), out + into),
        "to write a page of the load": _per(sum(said.get("rounds_ns", 0) for said in run.said), written),
        "to free a page of the load": _per(sum(said.get("free_ns", 0) for said in run.said), written),
        "folios out": folios_out(run),
        "placed by grants": of_grants("grant_units"),
        "grants taken": of_grants("grants_popped"),
        "grants refused": of_grants(*refused),
        "searches from a grant that found a place further on": of_grants("grants_stray"),
        "... that found none": of_grants("grants_stale"),
        "large folios split": sum(run.count(f"swpout_fallback_{size}") for size in SIZES),
        **splits,
        "pages read ahead": run.count("swap_ra"),
        "pages read ahead and used": run.count("swap_ra_hit"),
    }


def spread(runs: Iterable[Mapping[str, float | None]]) -> dict[str, tuple[float, float, float] | None]:
    """Return the median, the least and the greatest of each figure over the runs; None if a run has none."""
    found: dict[str, list[float | None]] = {}
    for run in runs:
        for name, value in run.items():
            found.setdefault(name, []).append(value)
    result: dict[str, tuple[float, float, float] | None] = {}
    for name, values in found.items():
        numbers = [value for value in values if value is not None]
        whole = len(numbers) == len(values) and numbers
        result[name] = (statistics.median(numbers), min(numbers), max(numbers)) if whole else None
    return result


def faults(runs: Mapping[tuple[str, int], Run]) -> list[str]:
    """Return the errors of the runs, a sentence each: wrong bytes, bitmaps that differ, nothing swapped."""
    found = []
    for (load, number), run in runs.items():
        wrong = sum(said.get("mismatches", 0) for said in run.said)
        if wrong:
            found.append(f"{load}, run {number}: {wrong} bytes came back wrong.")
        if differing := sum(max(0, bitmaps.differences(line)) for line in run.bitmaps):
            found.append(f"{load}, run {number}: {differing} bitmap or cluster words differ from the kernel's tables.")
        if not run.count("pswpout"):
            found.append(f"{load}, run {number}: nothing was swapped out; a greater --scale makes the load larger.")
    return found
