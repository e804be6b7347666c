# SPDX-License-Identifier: Apache-2.0
"""Commands on swap tables that are refused, each with its reason, which is written down here and not the model's."""

from collections.abc import Iterator

import hwswap_map as m
from hwswap_map import Opcode, Status, TableKind

from hwswap.model.host_memory import Command
from hwswap.model.rows import SLOTS
from hwswap.model.table_words import ANY
from hwswap.model.tables import Answer
from hwswap.stimulus.script import WORD
from hwswap.stimulus.table_host import TableHost

COMMANDS = tuple(opcode for opcode in Opcode if Opcode.TABLE_GIVE <= opcode <= Opcode.TABLE_REPLACE)
RANGED = (Opcode.TABLE_RANGE, Opcode.TABLE_FILL, Opcode.TABLE_CLEAR, Opcode.TABLE_REPLACE)
BY_CLUSTER = (Opcode.TABLE_GIVE, Opcode.TABLE_TAKE)
BY_SLOT = (Opcode.TABLE_LOOKUP, Opcode.TABLE_COUNT, Opcode.TABLE_SCAN)
NO_ADDRESS = (Opcode.TABLE_TAKE, Opcode.TABLE_LOOKUP, Opcode.TABLE_REPLACE)
"""Commands that write no result, and get no list of tables."""


def wrong(type_: int, pages: int, target: int) -> Iterator[Command]:
    """Return commands whose range or argument is wrong.

    Args:
        type_: a device.
        pages: its slots.
        target: an address of results.
    """
    last = -(-pages // SLOTS)
    for opcode in RANGED:
        # One slot more than the cluster has, from a slot with every bit set and from each with one.
        crossing = [(slot, SLOTS + 1 - slot) for slot in (SLOTS - 1, *(1 << bit for bit in range(9)))]
        beyond = ((512, 1023), (pages - 1, 2), (pages, 1), (0xFFFF_FFFF, 1))
        for slot, nr in ((0, 0), (0, SLOTS + 1), (0, 1023), *crossing, *beyond):
            yield Command(opcode, type_, nr=nr, arg0=slot | ANY << 32, arg1=1)
    for opcode in BY_CLUSTER:
        clusters = ((0, 0), (0, last + 1), (0, 1023), (last - 1, 2), (last, 1), (0xFFFF_FE00 // SLOTS, 1))
        for cluster, nr in clusters:
            yield Command(opcode, type_, nr=nr, arg0=cluster * SLOTS)
    for opcode in BY_SLOT:
        for slot in (pages, last * SLOTS, pages + SLOTS, 0xFFFF_FFFF):
            yield Command(opcode, type_, arg0=slot | ANY << 32)
    for opcode in sorted(set(COMMANDS) - set(NO_ADDRESS)):
        for bit in range(6):
            yield Command(opcode, type_, nr=1, arg0=1 | ANY << 32, arg1=1, arg2=target | 1 << bit)
    for shadow in (2, 10, 30):
        yield Command(Opcode.TABLE_CLEAR, type_, nr=1, arg0=1 | ANY << 32, arg1=shadow)


def refusals(host: TableHost, absent: tuple[int, ...]) -> None:
    """Let each command be refused: no such device, no such slots, wrong arguments, no table, nothing to be found.

    Args:
        host: that has devices; device 3 has no table of its cluster 1 afterwards.
        absent: devices that there are not.
    """
    host.script.note("refusals of commands on tables")
    target = host.places.targets[0]
    for type_ in absent:
        answers = host.same(*(Command(opcode, type_, nr=1, arg0=1, arg1=1) for opcode in COMMANDS))
        assert answers == [Answer(Status.BAD_DEVICE)] * len(COMMANDS)
    for type_, device in host.tables.devices.items():
        commands = list(wrong(type_, device.pages, target))
        assert host.same(*commands) == [Answer(Status.BAD_RANGE)] * len(commands)
    without = SLOTS | ANY << 32
    host.same(Command(Opcode.TABLE_SCAN, 3, arg0=SLOTS), Command(Opcode.TABLE_TAKE, 3, nr=1, arg0=SLOTS))
    answers = host.same(
        Command(Opcode.TABLE_LOOKUP, 3, arg0=SLOTS),
        *(Command(opcode, 3, nr=9, arg0=without, arg2=target) for opcode in RANGED),
        Command(Opcode.TABLE_SCAN, 3, arg0=SLOTS | 1 << 32 + TableKind.BAD, arg1=SLOTS),
    )
    assert [answer.status for answer in answers] == [*[Status.NO_TABLE] * 5, Status.NO_SPACE]
    host.script.read(m.STAT_COMMAND_ERRORS_OFFSET, host.script.errors, WORD)
    for type_ in host.tables.devices:
        host.same(Command(Opcode.TABLE_COUNT, type_, arg2=target))
    host.all_words()
