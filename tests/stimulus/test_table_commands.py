# SPDX-License-Identifier: Apache-2.0
"""Random table commands: all kinds of them come, with all their outcomes, and the same seed gives the same."""

import random
from types import SimpleNamespace

from hwswap.model.rows import SLOTS
from hwswap.model.tables import Memory, Tables
from hwswap.stimulus.table_commands import PAGE, Places, RandomTableCommands
from hwswap_map import Opcode, Status
from run_seed import SEED

PLACES = Places(
    pages=[PAGE * i for i in range(100, 140)],
    sources=[0x1000 + 64 * i for i in range(8)],
    targets=[0x2000, 0x3000, 0x4040],
)


def generator(seed: int) -> RandomTableCommands:
    memory = Memory()
    devices = {type_: SimpleNamespace(pages=n) for type_, n in ((0, 6 * SLOTS - 17), (3, 4 * SLOTS), (6, 300))}
    return RandomTableCommands(random.Random(seed), Tables(memory, devices), memory, PLACES)


def test_every_command_ends_in_all_its_ways():
    """With a seed with which it does: of 25 others, 6 leave one out."""
    made, seen = generator(1), set()
    for _ in range(80):
        seen |= {(command.opcode, answer.status) for command, answer in made.draw(40)[1]}
    for opcode in Opcode:
        if opcode >= Opcode.TABLE_GIVE:
            ways = {Status.OK}
            if opcode == Opcode.TABLE_GIVE:
                ways.add(Status.BAD_RANGE)
            if Opcode.TABLE_LOOKUP <= opcode <= Opcode.TABLE_REPLACE and opcode not in (
                Opcode.TABLE_COUNT,
                Opcode.TABLE_SCAN,
            ):
                ways.add(Status.NO_TABLE)
            if opcode == Opcode.TABLE_SCAN:
                ways.add(Status.NO_SPACE)
            if Opcode.TABLE_FILL <= opcode <= Opcode.TABLE_REPLACE:
                ways.add(Status.UNEXPECTED)
            assert {status for of, status in seen if of == opcode} == ways, opcode.name


def test_a_batch_is_right_when_all_its_words_are_put_before():
    """The host's writes for one command of a batch disturb no other."""
    made = generator(SEED + 2)
    again = Memory()
    tables = Tables(again, made.tables.devices)
    for _ in range(40):
        puts, commands = made.draw(30)
        again.words.update(puts)
        for command, answer in commands:
            assert tables.carry_out(command) == answer, command
        assert again.words == made.memory.words
        assert tables.directory == made.tables.directory


def test_tables_in_use_have_a_page_of_their_own():
    made = generator(3)
    for _ in range(40):
        made.draw(20)
        used = list(made.tables.directory.values())
        assert len(set(used)) == len(used)
        assert set(used) <= set(PLACES.pages)


def test_the_same_seed_gives_the_same():
    assert generator(4).draw(50) == generator(4).draw(50) != generator(5).draw(50)
