# SPDX-License-Identifier: Apache-2.0
"""The output of Linux on the simulated SoC, collected line by line and judged."""

import json
import re
from dataclasses import dataclass, field
from typing import Any

from hwswap_soc.linux.linux_plan import ENGINE, THREAD

JSON_PREFIX = "HWSWAP-JSON "
DONE = re.compile(r"HWSWAP-DONE (\d+)")

TROUBLE = re.compile(
    r"Kernel panic|Oops|BUG:|WARNING:|Call Trace|stall|hwswap.*(detached|not attached)|Unable to handle"
)
"""Kernel messages after which no result counts."""

BITMAPS = re.compile(r"clusters (?P<clusters>\d+) differences (?P<differences>\d+)")
"""The driver's report when it has compared the words that the engine reads with the kernel's tables."""

PHASES = (
    (re.compile(r"^OpenSBI v"), "OpenSBI"),
    (re.compile(r"Linux version"), "kernel"),
    (re.compile(r'"kind":"init"'), "init"),
    (re.compile(r'"kind":"mode","mode":"(\w+)"'), "mode"),
    (re.compile(r'"kind":"held"'), "swapoff"),
)
"""Lines with which a part of the run begins, and its name."""


@dataclass
class Mode:
    """The results of one mode of the driver."""

    swaps: list[dict[str, Any]] = field(default_factory=list)
    benches: list[dict[str, Any]] = field(default_factory=list)
    full: list[dict[str, Any]] = field(default_factory=list)
    """The same lines, of an area that is 90 % full."""
    thread: list[dict[str, Any]] = field(default_factory=list)
    """Of each bench, the work of the thread that grants."""
    bitmaps: dict[str, Any] | None = None
    driver: dict[str, Any] = field(default_factory=dict)


def counters(text: str) -> dict[str, int | str]:
    """The counters of a file with a semicolon for each line's end; those that are 0 stay out, and longer lines."""
    pairs = (line.split(" ") for line in text.split(";"))
    named = {pair[0]: pair[1] for pair in pairs if len(pair) == 2 and pair[1] != "0"}
    return {name: int(value) if value.isdigit() else value for name, value in named.items()}


@dataclass
class Collected:
    """Everything that the console brought.

    Attributes:
        phases: name of each part of the run that began.
        status: the number after HWSWAP-DONE; None until then.
        trouble: lines of the kernel or of init that say that something went wrong.
    """

    modes: dict[str, Mode] = field(default_factory=dict)
    phases: list[str] = field(default_factory=list)
    held: dict[str, Any] | None = None
    status: int | None = None
    trouble: list[str] = field(default_factory=list)

    def feed(self, line: str) -> None:
        """Take one line of the console."""
        for pattern, name in PHASES:
            if found := pattern.search(line):
                self.phases.append(f"mode {found[1]}" if name == "mode" else name)
        done = DONE.search(line)
        if done:
            self.status = int(done[1])
        elif line.startswith(JSON_PREFIX):
            self._object(line.removeprefix(JSON_PREFIX))
        elif line.startswith("init: ") or TROUBLE.search(line):
            self.trouble.append(line)

    def _object(self, text: str) -> None:
        try:
            item = json.loads(text)
            kind, name = item.pop("kind"), item.pop("mode")
        except (ValueError, KeyError, AttributeError, TypeError):
            self.trouble.append(f"a line of results cannot be read: {text}")
            return
        if not name:
            if kind == "held":
                self.held = item
            return
        mode = self.modes.setdefault(name, Mode())
        if kind == "swap":
            mode.swaps.append(item)
        elif kind == "bench":
            mode.benches.append(item["result"])
        elif kind == "full":
            mode.full.append(item["result"])
        elif kind == "thread":
            mode.thread.append(item)
        elif kind == "bitmaps":
            found = BITMAPS.search(item["text"])
            mode.bitmaps = {key: int(value) for key, value in found.groupdict().items()} if found else None
        elif kind == "driver":
            mode.driver = counters(item["text"])


def failures(collected: Collected, wanted: tuple[str, ...]) -> list[str]:
    """Return one sentence per error; none when every mode in `wanted` swapped, verified and was measured."""
    found = list(collected.trouble)
    if collected.status is None:
        found.append("Linux did not come to its end.")
    elif collected.status:
        found.append(f"init ended with status {collected.status}.")
    for name in wanted:
        found += _mode_failures(name, collected.modes.get(name, Mode()))
    if collected.held is None or collected.held["wrong_bytes"]:
        found.append("Pages that stayed swapped out from mode to mode were not verified, or came back wrong.")
    return found


def _mode_failures(name: str, mode: Mode) -> list[str]:
    found = []
    if not mode.swaps:
        found.append(f"{name}: nothing was swapped.")
    for swap in mode.swaps:
        pages, size = swap["pages"], "64 kB" if swap["order"] else "4 kB"
        if swap["pages_out"] < pages or swap["pages_in"] < pages:
            found.append(
                f"{name}: of {pages} pages in {size} folios {swap['pages_out']} went out, {swap['pages_in']} came in."
            )
        if swap["wrong_bytes"] or swap["verified_bytes"] < pages * 4096:
            found.append(f"{name}: {swap['wrong_bytes']} of {swap['verified_bytes']} verified bytes are wrong.")
    if not mode.benches:
        found.append(f"{name}: the kernel's bench gave nothing.")
    for where, benches in (("", mode.benches), (" on an area that is nearly full", mode.full)):
        for bench in benches:
            what = f"{bench['op']} of order {bench['order']}{where}"
            if bench["failed"] or not bench["n"]:
                found.append(f"{name}: {bench['failed']} of {bench['n']} {what} failed.")
            if name == ENGINE and bench["op"] == "alloc" and not bench["granted"]:
                found.append(f"{name}: no folio of order {bench['order']} was placed by the engine{where}.")
    if name == THREAD and not any(bench.get("granted") for bench in mode.benches):
        # It is late where calls come back to back, but it is not always.
        found.append(f"{name}: no folio was placed by a grant.")
    if name == ENGINE:
        if mode.bitmaps is None or mode.bitmaps["differences"]:
            found.append(f"{name}: what the engine reads differs from the kernel's tables: {mode.bitmaps}.")
        if mode.driver.get("detaches"):
            found.append(f"{name}: the driver gave the engine up.")
    return found
