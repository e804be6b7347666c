# SPDX-License-Identifier: Apache-2.0
"""Counts what is tried again, by name, so that no retry is silent: pytest and the command print one line at their end.

Retries happen in several processes: workers of pytest, pools, simulators. So they are counted in files that all of them
inherit the names of, a line each; what a process that dies has counted is there as well.
"""

import os
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

VARIABLE = "HWSWAP_RETRIES"
"""Names of the files to count in, of the innermost collection first."""


def count(what: str, times: int = 1) -> None:
    """Count that something was tried again, so many times. `what` says in a few words what, in the singular."""
    if times:
        _append(f"{times} {what}\n")


def may_come() -> None:
    """Say that something begins that may be tried again: then the command says it, too, when nothing was."""
    _append("")


def sentence(counts: Mapping[str, int]) -> str:
    """Return the line that tells them all."""
    each = ", ".join(f"{what} {times}" for what, times in sorted(counts.items()))
    return f"retries: {each or 'none'}"


def _append(text: str) -> None:
    for name in filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)):
        # A line is written at once, so those of several processes do not mix.
        with open(name, "a") as file:
            file.write(text)


class Collection:
    """A context manager: what this process and those that it starts try again from its entry on.

    One within another counts for both, unless it is `apart`: for retries that a test provokes.
    """

    def __init__(self, apart: bool = False) -> None:
        """Not begun yet."""
        self._apart = apart
        self._could: bool | None = None
        self._counts: dict[str, int] = {}

    def __enter__(self) -> Self:
        """Begin to count."""
        self._outer = os.environ.get(VARIABLE)
        # Not made yet: it is there from the first line on, or from may_come().
        self._folder = tempfile.TemporaryDirectory(prefix="hwswap-retries-")
        self._file = Path(self._folder.name) / "counts"
        outer = None if self._apart else self._outer
        os.environ[VARIABLE] = os.pathsep.join(filter(None, (str(self._file), outer)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End: what is tried again from now on counts for those around it alone."""
        self._could, self._counts = self.could, self.counts
        if self._outer is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = self._outer
        self._folder.cleanup()

    @property
    def could(self) -> bool:
        """Whether anything was begun that may be tried again."""
        return self._file.exists() if self._could is None else self._could

    @property
    def counts(self) -> dict[str, int]:
        """How often each was tried again."""
        if self._could is not None:
            return self._counts
        found: Counter[str] = Counter()
        for line in self._file.read_text().splitlines() if self.could else ():
            times, _, what = line.partition(" ")
            found[what] += int(times)
        return dict(found)
