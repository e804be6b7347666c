# SPDX-License-Identifier: Apache-2.0
"""The figures of the engine's cycles: distributions of cycles and latencies, by operation, order and path."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any


class Cycles(Counter[int]):
    """Occurrences of each number of cycles."""

    def percentile(self, percent: int) -> int:
        """Return the smallest number that so many per cent of all are not above; 0 when there is none."""
        below, all_ = 0, self.total()
        for value in sorted(self):
            below += self[value]
            if below * 100 >= all_ * percent:
                return value
        return 0

    @property
    def mean(self) -> float:
        """The average, 0 when there is none."""
        return sum(value * number for value, number in self.items()) / max(self.total(), 1)

    def summary(self) -> dict[str, float]:
        """Return count, mean, p50, p99 and max."""
        return {
            "count": self.total(),
            "mean": round(self.mean, 3),
            "p50": self.percentile(50),
            "p99": self.percentile(99),
            "max": max(self, default=0),
        }

    def share(self, limit: int) -> float:
        """Return the share of those not above a limit, 1 when there is none."""
        return sum(number for value, number in self.items() if value <= limit) / self.total() if self else 1.0


Key = tuple[str, int, str, bool]
"""Operation, order, path, and whether a cluster changed its list."""


@dataclass
class Figures:
    """The measurements of one trace or of several."""

    operations: int = 0
    cycles: int = 0
    groups: dict[Key, tuple[Cycles, Cycles]] = field(default_factory=dict)
    """Cycles and latency."""
    by_scans: dict[tuple[str, int, int], Cycles] = field(default_factory=dict)
    """By path, order and number of scanned clusters."""
    stalls: Counter[str] = field(default_factory=Counter)

    def add(self, report: dict[str, Any]) -> None:
        """Add a report of hwswap-bench."""
        self.operations += report["operations"]
        self.cycles += report["cycles"]
        for group in report["groups"]:
            key = group["kind"], group["order"], group["path"], group["list_move"]
            cycles, latency = self.groups.setdefault(key, (Cycles(), Cycles()))
            cycles.update(dict(group["cycles"]))
            latency.update(dict(group["latency"]))
        for row in report["by_scans"]:
            key_ = row["path"], row["order"], row["scans"]
            self.by_scans.setdefault(key_, Cycles()).update(dict(row["cycles"]))
        self.stalls.update(report["stalls"])

    def merged(self, choose: Callable[[Key], bool], which: int = 0) -> Cycles:
        """Return the cycles (or, with 1, latencies) of all groups that are chosen, together."""
        together = Cycles()
        for key, group in self.groups.items():
            if choose(key):
                together.update(group[which])
        return together

    def scanned(self) -> float | None:
        """Return the cost of one more scanned cluster, None if there were no long walks.

        It is the slope of the medians over the number of scanned clusters, from the third on: the first may be the
        hint's, the second the first of a list. Weighted, over paths and orders.
        """
        cost = weight = 0.0
        series: dict[tuple[str, int], dict[int, Cycles]] = {}
        for (path, order, scans), cycles in self.by_scans.items():
            series.setdefault((path, order), {})[scans] = cycles
        for by_scans in series.values():
            numbers = sorted(number for number in by_scans if number > 2)
            for few, more in pairwise(numbers):
                much = min(by_scans[few].total(), by_scans[more].total())
                step = by_scans[more].percentile(50) - by_scans[few].percentile(50)
                cost += much * step / (more - few)
                weight += much
        return cost / weight if weight else None
