# SPDX-License-Identifier: Apache-2.0
"""Lines of the kernel's bench as figures."""

from collections.abc import Iterable, Mapping
from typing import Any

from hwswap.results.schema import Figure

TOLERANCE = 0.03
"""Calls of one guest and of the next differ by no more: other programs run at the same time."""


def call(line: Mapping[str, Any]) -> str:
    """Return the name of a line's call, by its operation and order, as "allocate order 0"."""
    return f"{'allocate' if line['op'] == 'alloc' else 'free'} order {line['order']}"


def figures(lines: Iterable[tuple[str, str, Mapping[str, Any]]], unit: str = "instructions") -> list[Figure]:
    """Return a figure for each line that has calls: the average, with median and 99th percentile.

    Args:
        lines: column, state of swap, line.
        unit: of what the guest's clock counts.
    """
    return [
        Figure(
            f"{call(line)}, {state}".removesuffix(", "),
            column,
            line["avg"],
            unit,
            {"p50": line["p50"], "p99": line["p99"]},
            TOLERANCE,
        )
        for column, state, line in lines
        if line["n"]
    ]
