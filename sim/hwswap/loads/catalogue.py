# SPDX-License-Identifier: Apache-2.0
"""The loads: a script each in sim/guest/loads, whose comments describe it and its needs beside the guest's own.

`# title:` is its name in tables, `# needs:` names a folder of build/ that has a program of the host's Debian.
"""

from dataclasses import dataclass
from pathlib import Path

from hwswap.kernel.record import needed, words_of
from hwswap.project import paths
from hwswap.project.arguments import chosen

SCRIPTS = paths.ROOT / "sim/guest/loads"


@dataclass(frozen=True)
class Load:
    """A load."""

    name: str
    title: str
    script: str

    def files(self) -> dict[str, bytes]:
        """Return its files for the guest, path -> content."""
        return {f"loads/{self.name}": self.script.encode(), **needed(self.script)}


def read(file: Path) -> Load:
    """Return the load of a script."""
    text = file.read_text()
    title = words_of(text, "title")
    if not title:
        raise ValueError(f"{file}: there is no line '# title: ...', which says what the load is called")
    return Load(file.stem, " ".join(title), text)


def loads(names: list[str] | None = None, folder: Path = SCRIPTS) -> list[Load]:
    """Return the loads of these names, or all; RuntimeError names those that there are."""
    found = {file.stem: file for file in sorted(folder.glob("*.sh"))}
    return [read(file) for file in chosen("load", names or (), found)]
