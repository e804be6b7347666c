# SPDX-License-Identifier: Apache-2.0
"""Outcomes of faults, kept on disk as they come, so that an interrupted run goes on where it was."""

import contextlib
import hashlib
import json
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hwswap.verify import equivalence, yosys

NONE = "none"
"""What a survivor is that is proved to be no fault: it changes nothing, in whatever state and with whatever input."""

OUT_OF_TIME = "out of time"
"""What a survivor is of which a proof was ended by the time it took: a survivor, and named."""

NO_VERDICT = "no verdict"
"""How a test ended that says nothing of a fault: the program was killed, or the simulation itself gave up."""


@dataclass
class Outcome:
    """What became of a fault: `by` which test ("" for a survivor), how ("difference", ...), and what was said.

    How is "" for a survivor, NONE if that is proved of it.
    """

    number: int
    by: str
    how: str
    said: str
    seconds: float


def digest(*parts: bytes) -> str:
    """Return a hash."""
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


class Notes:
    """Lines of JSON on disk, added as they come."""

    def __init__(self, path: Path) -> None:
        """Take a file that may not be there yet."""
        self.path = path
        self.lock = threading.Lock()

    def read(self) -> Iterator[dict[str, Any]]:
        """Yield what is there."""
        if self.path.exists():
            for line in self.path.read_text().splitlines():
                with contextlib.suppress(ValueError):  # cut short by an interruption
                    yield json.loads(line)

    def add(self, **values: object) -> None:
        """Add a line."""
        with self.lock, self.path.open("a") as file:
            file.write(json.dumps(values) + "\n")


class Results:
    """What tests made of faults; what another model or other tests did does not count.

    That a fault was killed holds as long as its test stays the same, that it survived as long as all of them do.
    """

    def __init__(self, path: Path, model: str, tests: dict[str, str]) -> None:
        """Read what is there: `model` and `tests` are hashes."""
        self.keys = {name: digest(model.encode(), test.encode()) for name, test in tests.items()}
        self.together = digest(*(key.encode() for key in self.keys.values()))
        self.notes = Notes(path)
        self.known: dict[int, Outcome] = {}
        for values in self.notes.read():
            key = values.pop("key", None)
            outcome = Outcome(**values)
            if key == self.key(outcome):
                self.known[outcome.number] = outcome

    def key(self, outcome: Outcome) -> str | None:
        """Return the hash of all that an outcome follows from."""
        return self.keys.get(outcome.by) if outcome.how not in ("", NO_VERDICT) else self.together

    def add(self, outcome: Outcome) -> None:
        """Note an outcome."""
        self.known[outcome.number] = outcome
        self.notes.add(key=self.key(outcome), **asdict(outcome))


class Proofs:
    """What was proved of survivors, or could not be within its limits."""

    def __init__(self, path: Path, faults: str) -> None:
        """Read what is there; `faults` is a hash of the netlist with the faults."""
        sources = (Path(str(module.__file__)).read_bytes() for module in (equivalence, yosys))
        self.key = digest(faults.encode(), *sources)
        self.notes = Notes(path)
        self.known: dict[int, str] = {
            values["number"]: values["how"] for values in self.notes.read() if values["key"] == self.key
        }
        """NONE, OUT_OF_TIME, or "" if nothing was proved."""

    def add(self, number: int, how: str) -> None:
        """Note what came of trying."""
        self.known[number] = how
        self.notes.add(key=self.key, number=number, how=how)
