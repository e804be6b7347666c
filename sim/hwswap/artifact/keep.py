# SPDX-License-Identifier: Apache-2.0
"""Keeps results of runs in the repository, compressed: what is behind the figures, for those who run nothing.

`hwswap artifact --keep` copies results from build/ to docs/measured/, where `hwswap report` reads them as it does those
of a run. What differs from its commit, or names a folder of the machine, is not kept.
"""

import gzip
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hwswap.artifact.claims import Command
from hwswap.project import paths

KEPT = paths.ROOT / "docs/measured"
"""Where results are kept: FOLDER/NAME.json of build/ as FOLDER/NAME.json.gz."""

BESIDE = (
    "bench-loads/*.json",
    "bench-soc/*.json",
    "experiments/*.json",
    "soc-linux/*.json",
    "soc-linux-smp/*.json",
    "bench-offload/*.json",
)
"""Results below build/ that figures of docs are from, beside those of the list of figures."""


@dataclass(frozen=True)
class Copy:
    """A result that was looked at.

    Attributes:
        place: below build/.
        fault: why it is not kept, a sentence; empty if it is.
        size: bytes that it takes compressed.
    """

    place: str
    fault: str = ""
    size: int = 0


def commits(result: Any) -> Iterator[str]:
    """Yield the commits that a result says it is of."""
    if isinstance(result, dict):
        for name, value in result.items():
            if name in ("commit", "hwswap") and isinstance(value, str):
                yield value
            else:
                yield from commits(value)
    elif isinstance(result, list):
        for value in result:
            yield from commits(value)


def fault(text: str, root: Path) -> str:
    """Return why a result is not to be kept, a sentence; empty if it may be.

    Args:
        text: of the file.
        root: the repository on this machine.
    """
    try:
        its = set(commits(json.loads(text)))
    except ValueError:
        return "it is no JSON: run its command again"
    if not its:
        return "it does not say which commit it is of"
    if wrong := sorted(commit for commit in its if commit.endswith("-dirty") or commit == "unknown"):
        return f"it is of {wrong[0]}: run its command again in a clean clone"
    if str(root) in text:
        return f"it has a path of this machine, {root}"
    return ""


def places(commands: Iterable[Command], build: Path) -> list[str]:
    """Return the results that there are in build/, by their places."""
    named = {build.parent / figure.file for command in commands for figure in command.figures}
    found = {path for path in named if path.is_file()}
    for pattern in BESIDE:
        found |= set(build.glob(pattern))
    return sorted(path.relative_to(build).as_posix() for path in found)


def keep(commands: Iterable[Command], build: Path, target: Path = KEPT) -> list[Copy]:
    """Copy results; return what became of each.

    Args:
        commands: with the list's figures.
        build: folder of results.
        target: folder of copies.
    """
    copies = []
    for place in places(commands, build):
        text = (build / place).read_text()
        if why := fault(text, build.parent):
            copies.append(Copy(place, why))
            continue
        file = target / f"{place}.gz"
        file.parent.mkdir(parents=True, exist_ok=True)
        # Without a time, so that the same result is the same file.
        content = gzip.compress(text.encode(), 9, mtime=0)
        file.write_bytes(content)
        copies.append(Copy(place, size=len(content)))
    return copies
