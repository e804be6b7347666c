# SPDX-License-Identifier: Apache-2.0
"""The engine's cycles for each command on swap tables, by size and memory latency, on the Verilated RTL.

Commands are given one at a time, each with the engine at rest, to tables in the host's memory. Their answers and the
words they leave in memory are compared with the golden model's. Of each, three figures:

- *busy*: cycles that the engine has the job under way (STAT_TABLE_BUSY_CYCLES), without ring and completion;
- *round trip*: cycles from the doorbell to the completion in the host's memory; for a lookup by register, from the
  write of LOOKUP to the read that sees the answer;
- *words* read and written of tables and results, and their share of the port's peak, one word per cycle, in the busy
  cycles.
"""

import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hwswap.project.paths import BUILD, need
from hwswap.stimulus.table_load import COUNTERS, Case, Load

LATENCIES = (20, 50, 100)
"""Of the memory, in engine cycles."""


@dataclass(frozen=True)
class Measured:
    """One command: its operands, and its cost."""

    command: str
    items: int
    """Slots, or clusters where `unit` says so."""

    unit: str
    latency: int
    busy: int
    round_trip: int
    words_read: int
    words_written: int
    """Of tables."""

    result_words: int = 0
    """Written besides: bitmaps and counts."""

    @property
    def share(self) -> float:
        """Return the words moved as a share of those that the port could have moved in the busy cycles."""
        return (self.words_read + self.words_written + self.result_words) / self.busy


def numbers(output: str) -> list[int]:
    """Return the values that hwswap-play printed, in their order."""
    return [int(line.rsplit(" ", 1)[1], 0) for line in output.splitlines() if line.startswith("line ")]


def measured(cases: Sequence[Case], values: Sequence[int], latency: int) -> list[Measured]:
    """Return the figures of cases from the printed values: statistics and cycle before, cycle and statistics after."""
    each = 2 * (len(COUNTERS) + 1)
    if len(values) != each * len(cases):
        raise RuntimeError(
            f"hwswap-play printed {len(values)} values for {len(cases)} commands: run `make model` again"
        )
    found = []
    for number, case in enumerate(cases):
        *before, begin, end = values[each * number : each * number + len(COUNTERS) + 2]
        after = values[each * number + len(COUNTERS) + 2 : each * (number + 1)]
        busy, read, written = (then - now for now, then in zip(before, after, strict=True))
        found.append(
            Measured(case.name, case.items, case.unit, latency, busy, end - begin, read, written, case.result_words)
        )
    return found


def run(latencies: Sequence[int] = LATENCIES, seed: int = 1) -> list[Measured]:
    """Measure all commands at each memory latency; a wrong answer or word ends it with a sentence that names it."""
    load = Load(seed)
    text = load.text()
    program = need(BUILD / "model" / "hwswap-play")
    found: list[Measured] = []
    with tempfile.TemporaryDirectory(prefix="hwswap-") as folder:
        path = Path(folder) / "tables"
        path.write_text(text)
        for latency in latencies:
            done = subprocess.run(
                [program, path, "--latency", str(latency)], capture_output=True, text=True, check=False
            )
            if done.returncode:
                raise RuntimeError(f"the engine does not do what the golden model does: {done.stderr.strip()}")
            found += measured(load.cases, numbers(done.stdout), latency)
    return found
