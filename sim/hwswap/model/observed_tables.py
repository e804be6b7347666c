# SPDX-License-Identifier: Apache-2.0
"""The golden model of swap tables, which counts the results of its commands: command x status x kind of slot."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from hwswap_map import Opcode, Status, TableKind

from hwswap.model.host_memory import Command
from hwswap.model.rows import SLOTS
from hwswap.model.table_words import KINDS, kind_of
from hwswap.model.tables import Answer, Extent, Memory, Tables, slot_of

CHANGING = (Opcode.TABLE_FILL, Opcode.TABLE_CLEAR, Opcode.TABLE_REPLACE)
OF_RANGE = (Opcode.TABLE_RANGE, *CHANGING)


class TableBin(NamedTuple):
    """A command on swap tables, by ring or by register: its opcode, its status, and its object.

    `of` is, for a command that is done, a kind of slot: the one that LOOKUP or SCAN found, or one that was among those
    that RANGE or COUNT looked at, or that FILL, CLEAR or REPLACE changed; for UNEXPECTED, the kind of the first that
    was not as expected. Else it is "".
    """

    command: str
    status: str
    of: str


def table_goals() -> Iterator[TableBin]:
    """Yield all that can happen to commands on swap tables.

    REPLACE changes cached slots alone; taking tables needs no access to memory where the directory is on chip.
    """
    for opcode in Opcode:
        if not Opcode.TABLE_GIVE <= opcode <= Opcode.TABLE_REPLACE:
            continue
        refusals = [Status.BAD_DEVICE, Status.BAD_RANGE]
        done = [""]
        if opcode not in (Opcode.TABLE_GIVE, Opcode.TABLE_TAKE):
            done = [kind.name for kind in TableKind]
        if opcode == Opcode.TABLE_REPLACE:
            done = [TableKind.CACHED.name, TableKind.UNUSED.name]
        if opcode != Opcode.TABLE_TAKE:
            refusals.append(Status.BUS_ERROR)
        if opcode in OF_RANGE or opcode == Opcode.TABLE_LOOKUP:
            refusals.append(Status.NO_TABLE)
        if opcode == Opcode.TABLE_SCAN:
            refusals.append(Status.NO_SPACE)
        yield from (TableBin(opcode.name, Status.OK.name, of) for of in done)
        yield from (TableBin(opcode.name, status.name, "") for status in refusals)
        if opcode in CHANGING:
            yield from (TableBin(opcode.name, Status.UNEXPECTED.name, kind.name) for kind in TableKind)


class ObservedTables(Tables):
    """The golden model of swap tables, which counts the results of its commands."""

    def __init__(self, memory: Memory, devices: Mapping[int, Extent], seen: Counter[TableBin]) -> None:
        """Begin without tables."""
        super().__init__(memory, devices)
        self.seen = seen

    def carry_out(self, command: Command) -> Answer:
        """Carry a command out and count it."""
        offset = slot_of(command)
        before: list[TableKind] = []
        ranged = command.opcode in OF_RANGE and command.type in self.devices
        if ranged and self.inside(command.type, offset, command.nr):
            before = [kind_of(word) for word in self.words(command.type, *divmod(offset, SLOTS), command.nr)]
        answer = super().carry_out(command)
        for of in self.of_what(command, answer, before):
            self.seen[TableBin(Opcode(command.opcode).name, answer.status.name, of)] += 1
        return answer

    def of_what(self, command: Command, answer: Answer, before: list[TableKind]) -> set[str]:
        """Return the objects of a command; `before` are the kinds of a range's slots before it."""
        opcode, status = command.opcode, answer.status
        if status == Status.UNEXPECTED:
            return {before[answer.result - slot_of(command)].name}
        if status != Status.OK or opcode in (Opcode.TABLE_GIVE, Opcode.TABLE_TAKE):
            return {""}
        if opcode == Opcode.TABLE_LOOKUP:
            return {kind_of(answer.result).name}
        if opcode == Opcode.TABLE_SCAN:
            return {kind_of(self.words(command.type, *divmod(answer.result, SLOTS), 1)[0]).name}
        if opcode == Opcode.TABLE_COUNT:
            counts = self.memory.load(command.arg2, KINDS)
            return {kind.name for kind in TableKind if counts[kind]}
        return {kind.name for kind in before}
