# SPDX-License-Identifier: Apache-2.0
"""Commands on swap tables measured on build/model: `make bench-table` of the engine, short form."""

import pytest
from hwswap.bench import swap_tables, table_cycles
from hwswap.bench.table_cycles import Measured
from hwswap.model.rows import SLOTS
from hwswap.stimulus import table_load
from hwswap.stimulus.table_load import Case


@pytest.fixture(scope="module")
def commands():
    """Measure the short form: answers and words are compared with the golden model's."""
    return table_cycles.run(swap_tables.SHORT_LATENCIES)


def test_the_target_is_reached(commands):
    assert swap_tables.misses(commands) == []
    assert swap_tables.table(commands).row_count == len(commands)


def test_words_are_those_of_the_range(commands):
    moved = {
        (c.command, c.items): (c.words_read, c.words_written, c.result_words) for c in commands if c.unit == "slots"
    }
    for nr in table_load.SLOT_COUNTS:
        assert moved["RANGE", nr] == (nr, 0, 64)
        assert moved["FILL", nr] == moved["REPLACE", nr] == moved["CLEAR", nr] == (nr, nr, 0)
    assert moved["LOOKUP", 1] == moved[table_load.BY_REGISTER, 1] == (1, 0, 0)


def test_no_word_takes_less_than_a_cycle_and_no_trip_less_than_its_job(commands):
    for command in commands:
        assert command.round_trip >= command.busy >= max(command.words_read, command.words_written)


def test_latency_is_waited_for_once(commands):
    """Not once a burst: otherwise several would not be in flight."""
    slow = [figure for figure in table_cycles.run((100,)) if swap_tables.whole(figure)]
    fast = {(c.command, c.items): c.busy for c in commands}
    assert slow
    for figure in slow:
        waits = 2 if figure.words_written >= SLOTS else 1
        assert 0 < figure.busy - fast[figure.command, figure.items] <= waits * (100 - 20) + figure.words_read // 4


def test_a_miss_of_the_target_is_told():
    good = Measured("FILL", SLOTS, "slots", 20, busy=1100, round_trip=1200, words_read=SLOTS, words_written=SLOTS)
    bad = Measured(
        "RANGE", SLOTS, "slots", 20, busy=700, round_trip=800, words_read=SLOTS, words_written=0, result_words=64
    )
    short = Measured("RANGE", 1, "slots", 20, busy=100, round_trip=200, words_read=1, words_written=0, result_words=64)
    assert swap_tables.misses([good, bad, short]) == [
        "RANGE of 512 slots reaches 82.3 % of the port's peak at latency 20, less than 89 %"
    ]


def test_a_model_that_prints_other_things_is_refused():
    with pytest.raises(RuntimeError, match="make model"):
        table_cycles.measured([Case("RANGE", 1, "slots", 64)], [1, 2, 3], 20)
