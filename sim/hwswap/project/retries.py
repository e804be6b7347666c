# SPDX-License-Identifier: Apache-2.0
"""Counts retries, by name, so that none is silent: a line at the end of pytest, and of a command.

Retries happen in several processes: workers of pytest, pools, simulators. So they are counted in files, a line each,
whose names all processes inherit; the counts of a process that dies are there as well.
"""

import os
import tempfile
from collections import Counter
from collections.abc import Mapping
from typing import Self

VARIABLE = "HWSWAP_RETRIES"
"""Names of the files to count in, of the innermost collection first."""


def count(what: str, times: int = 1) -> None:
    """Count that something was tried again, so many times. `what` names it in a few words, in the singular."""
    for name in filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)):
        # A line is written at once, so those of several processes do not mix.
        with open(name, "a") as file:
            file.write(f"{times} {what}\n")


def sentence(counts: Mapping[str, int]) -> str:
    """Return the line that tells them all."""
    each = ", ".join(f"{what} {times}" for what, times in sorted(counts.items()))
    return f"retries: {each or 'none'}"


class Collection:
    """A context manager: the retries of this process and those that it starts, from its entry on.

    One within another counts for both, unless it is `apart`: for retries that a test provokes.
    """

    def __init__(self, apart: bool = False) -> None:
        """Not begun yet."""
        self._apart = apart
        self._text = ""

    def __enter__(self) -> Self:
        """Begin to count."""
        self._outer = os.environ.get(VARIABLE)
        self._file = tempfile.NamedTemporaryFile("r", prefix="hwswap-retries-")
        outer = None if self._apart else self._outer
        os.environ[VARIABLE] = os.pathsep.join(filter(None, (self._file.name, outer)))
        return self

    def __exit__(self, *_: object) -> None:
        """End: further retries count for those around it alone."""
        self._read()
        self._file.close()
        if self._outer is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = self._outer

    def _read(self) -> str:
        """Return all lines, also of those that are added meanwhile."""
        if not self._file.closed:
            self._text += self._file.read()
        return self._text

    @property
    def counts(self) -> dict[str, int]:
        """Return the number of retries by name."""
        found: Counter[str] = Counter()
        for line in self._read().splitlines():
            times, _, what = line.partition(" ")
            found[what] += int(times)
        return dict(+found)
