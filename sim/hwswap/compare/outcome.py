# SPDX-License-Identifier: Apache-2.0
"""The result of a comparison: the decisions that were compared, and the first difference as a sentence."""

from collections import Counter
from dataclasses import dataclass, field

from hwswap.traces.records import FAILED, NAMES, Record


@dataclass(frozen=True)
class Difference:
    """The first operation at which trace and model disagree."""

    number: int
    record: Record
    expected: str
    got: str

    def __str__(self) -> str:
        """Say it in one sentence."""
        op = NAMES[self.record.op].upper()
        what = f"order {self.record.order} on CPU {self.record.cpu}" if op == "ALLOC" else f"device {self.record.type}"
        return f"operation {self.number} ({op}, {what}): the trace has {self.expected}, the model {self.got}"


@dataclass
class Outcome:
    """The result of a replay: `decisions` were compared, in `forced` steps the trace was followed, by cause."""

    decisions: int = 0
    forced: Counter[str] = field(default_factory=Counter)
    difference: Difference | None = None


def place(type_: int, offset: int) -> str:
    """Say where an allocation went."""
    return "no space" if type_ == FAILED else f"device {type_} offset {offset}"
