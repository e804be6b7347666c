# SPDX-License-Identifier: Apache-2.0
"""Result files with figures that no measurement gives, so that they are known again on the page."""

import json
from pathlib import Path
from typing import Any


def line(op: str, order: int, average: int, n: int = 10, failed: int = 0) -> dict[str, Any]:
    """Return a line of the kernel's bench."""
    return {
        "op": op,
        "order": order,
        "n": n,
        "failed": failed,
        "p50": average - 101,
        "avg": average,
        "p99": average + 101,
    }


def demo(factor: float) -> dict[str, Any]:
    """Return what `make demo` writes, as far as the report reads it."""
    engine = [line("alloc", 0, int(4242 * factor)), line("free", 0, int(2000 * factor)), line("free", 4, 0, 0)]
    if factor != 1:
        for entry in engine[:2]:
            entry["p50"], entry["p99"] = (
                int(factor * value) for value in (entry["avg"] / factor - 101, entry["avg"] / factor + 101)
            )
    failing = line("alloc", 4, int(1500 * factor), failed=10)
    failing["p50"], failing["p99"] = int(factor * 1399), int(factor * 1601)
    return {
        "seed": 7,
        "commits": {"hwswap": "abcdef123456", "patches": "fedcba654321"},
        "versions": {"linux": "7.3.4", "qemu": "QEMU 11"},
        "bench": {
            "unpatched": [line("alloc", 0, 4000), line("free", 0, 2000)],
            "fragmented-unpatched": [line("alloc", 4, 3000, failed=10)],
            "hint": engine,
            "fragmented-hint": [failing],
        },
        "checks": [{"text": "all bytes verified", "passed": True}],
    }


def offload() -> dict[str, Any]:
    """Return what `make bench-offload PART=calls SHORT=1` writes."""
    bench = [
        {"column": column, "state": "empty", **line("alloc", 0, average)}
        for column, average in (("unpatched", 462), ("grants", 466), ("engine", 465), ("tuned", 488))
    ]
    return {
        "calls": {"seed": 1, "short": True, "commits": {"hwswap": "abcdef123456"}, "linux": "7.3.4", "qemu": "QEMU 11",
                  "bench": bench, "counters": {}}
    }  # fmt: skip


def formal() -> dict[str, Any]:
    """Return what `make formal` writes."""
    results = ("unbounded", "unbounded", "bounded")
    return {"commit": "abcdef123456", "seed": 1, "properties": [{"result": result} for result in results]}


def write(folder: Path, factor: float = 1) -> Path:
    """Write a run's results; return the folder.

    Args:
        folder: to be made.
        factor: by which the figures of mode hint differ from those of another run.
    """
    made = {
        "demo/demo.json": demo(factor),
        "bench-offload/offload.json": offload(),
        "formal/formal.json": formal(),
        "bench-new/new.json": {},
        "model-x/engine.json": {},
    }
    for place, content in made.items():
        path = folder / place
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(content))
    return folder
