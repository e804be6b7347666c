# SPDX-License-Identifier: Apache-2.0
"""One sequence of what many CPUs did: equal where operations can be exchanged, forced where they cannot."""

from pathlib import Path

import pytest
from hwswap.compare import check
from hwswap.compare.forced import SKIPPED, SLEPT_FOR_TABLE, WITHOUT_TABLE
from hwswap.compare.linear import (
    APPEND,
    EMPTY,
    INTERLEAVED,
    MIGRATED,
    POP,
    READ,
    REMOVE,
    WRITE,
    Engine,
    Linear,
    Node,
    Trial,
    as_trace,
    linearise,
    topological,
)
from hwswap.compare.linear import Shared as SharedThings
from hwswap.model.follower import Mismatch
from hwswap.traces import trace
from hwswap.traces.records import FIRST_STEP, Op
from hwswap_map import Flag
from run_seed import SEED
from tracepoint_text import BLKDEV, DISCARD, FIRST, FREES, KINDS, ON, SECOND, SSD, Writer, made_of, text

DATA = Path(__file__).parents[1] / "data"


def sequence_that_holds(recorded: trace.Trace, path: Path) -> Linear:
    """Linearise; the sequence, written and read again, must be what a model does one after the other."""
    linear = linearise(recorded)
    made = as_trace(linear)
    trace.write(path, made.header, made.records)
    again = trace.read(path)
    assert not again.detailed
    outcome = check.replay(again)
    assert outcome.difference is None, str(outcome.difference)
    assert outcome.decisions == linear.decisions
    return linear


def test_one_cpu_decides_everything_itself(tmp_path):
    linear = sequence_that_holds(made_of(text(*ON, *FIRST, *SECOND, *FREES)), tmp_path / "a.hwst")
    assert linear.decisions == 2
    assert not linear.forced
    assert [record.op for record in linear.records] == [
        Op.PREPARE,
        Op.SWAPON,
        Op.ALLOC,
        Op.ALLOC,
        Op.FREE,
        Op.FREE,
    ]


def by(cpu: int, task: int, line: str) -> str:
    """Return a line of another CPU and task."""
    return f"{cpu} {task} {line.split(' ', 2)[2]}"


OTHER = tuple(
    by(1, 9, line)
    for line in (
        "0 7 alloc_begin order=3",
        "0 7 device_visit type=0 state=1",
        "0 7 cluster_isolate type=0 cluster=-1 flag=2 order=3",
        "0 7 cluster_isolate type=0 cluster=2 flag=1 order=0",
        "0 7 cluster_table type=0 cluster=2 state=0",
        "0 7 slots_alloc order=3 type=0 offset=1024 nr=8",
        "0 7 cluster_move type=0 cluster=2 flag=3 order=3",
        "0 7 alloc_end order=3 found=1",
    )
)


def test_allocations_that_share_nothing_in_both_directions_are_exchanged(tmp_path):
    """CPU 1 looks at FREE behind CPU 0 and ends before it: on other lists."""
    lines = (*ON, *FIRST[:4], *OTHER, *FIRST[4:])
    linear = sequence_that_holds(made_of(text(*lines)), tmp_path / "a.hwst")
    assert not linear.forced
    assert [record.order for record in linear.records if record.op == Op.ALLOC] == [4, 3], "CPU 0 was first at FREE"


def test_allocations_ahead_of_each_other_somewhere_are_taken_apart(tmp_path):
    """As before, but of one order: CPU 0 is first at FREE, CPU 1 at the tail of FRAG[4]."""
    other = [line.replace("order=3", "order=4").replace("nr=8", "nr=16") for line in OTHER]
    lines = (*ON, *FIRST[:4], *other, *FIRST[4:])
    linear = sequence_that_holds(made_of(text(*lines)), tmp_path / "a.hwst")
    assert linear.forced == {INTERLEAVED: 1}
    assert linear.decisions == 1
    steps = [record.op for record in linear.records if record.op >= FIRST_STEP]
    assert sorted(steps) == [Op.STEP_TAKE, Op.STEP_PUT, Op.STEP_GIVE, Op.STEP_NEXT, Op.STEP_VISIT]


def test_a_cluster_that_was_passed_over_is_forced(tmp_path):
    steps = list(FIRST)
    steps.insert(3, "0 7 cluster_skip type=0 cluster=1 state=1")
    for at in range(4, 8):
        steps[at] = steps[at].replace("cluster=1", "cluster=2").replace("offset=512", "offset=1024")
    linear = sequence_that_holds(made_of(text(*ON, *steps)), tmp_path / "a.hwst")
    assert linear.forced == {SKIPPED: 1}
    assert linear.decisions == 0
    taken = next(record for record in linear.records if record.op == Op.STEP_TAKE)
    assert (taken.a, taken.b) == (2, Flag.FREE)


def test_a_lock_that_was_taken_is_the_cause_only_where_it_was_met():
    """Not of any difference behind one: the search has to come to that very cluster."""
    trial = Trial(Engine(1, 1, 4), Node())
    trial.skipped = {(0, 3)}
    assert trial.cause((0, 3)) == SKIPPED
    assert trial.cause((0, 1)) == INTERLEAVED
    assert trial.cause() == INTERLEAVED


def test_nobody_came_between_an_allocation_that_was_alone(monkeypatch):
    """An engine with another rule is no reason to force: that would hide it."""
    monkeypatch.setattr(Engine, "usable", lambda *_: False)
    with pytest.raises(AssertionError, match="no other operation was under way"):
        linearise(made_of(text(*ON, *FIRST, *SECOND)))


def test_a_decision_of_the_model_that_differs_is_told():
    wrong = [line.replace("offset=528", "offset=544") for line in SECOND]
    with pytest.raises(Mismatch):
        linearise(made_of(text(*ON, *FIRST, *wrong)))


@pytest.mark.parametrize("cached", [False, True], ids=["", "cached"])
def test_what_a_model_writes_down_becomes_a_sequence(cached, tmp_path):
    """It sleeps for tables and wakes up elsewhere, finds no memory for some, and reclaims."""
    causes, asked = set(), 0
    for kinds in KINDS:
        for seed in (*range(3), SEED + 7):
            writer = Writer(seed, kinds, cached)
            for _ in writer.run(1500 if cached else 500):
                pass
            linear = sequence_that_holds(writer.trace(), tmp_path / "a.hwst.gz")
            causes |= set(linear.forced)
            assert linear.decisions > (100 if seed < 3 else 0)
            asked += sum(record.op == Op.ANSWER and record.c & 1 for record in linear.records)
    assert causes <= {WITHOUT_TABLE, MIGRATED, SLEPT_FOR_TABLE}
    assert causes >= ({MIGRATED} if cached else {WITHOUT_TABLE, MIGRATED})
    assert (asked > 20) == cached, "what is reclaimed is answered, not forced"


@pytest.mark.parametrize(("name", "most"), [("hogs", 0), ("rotating", 30), ("discard", 0), ("reclaim", 0)])
def test_recorded_traces_are_hardly_forced(name, most, tmp_path):
    recorded = trace.read(DATA / f"{name}.hwst.gz")
    linear = sequence_that_holds(recorded, tmp_path / "a.hwst")
    assert linear.forced.total() <= most
    made = recorded.header.counts
    assert linear.decisions + linear.forced.total() == made["alloc"] + made["discard_take"]


def order_of(uses: list[tuple[int, int]], nodes: int) -> dict[int, set[int]]:
    """Return who comes before whom, of (node, how) one after the other on one thing."""
    shared = SharedThings()
    for node, how in uses:
        shared.use(node, "thing", how)
    assert all(node < nodes for node in shared.before)
    return shared.before


@pytest.mark.parametrize(
    ("first", "then", "ordered"),
    [
        (READ, READ, False),
        (READ, WRITE, True),
        (WRITE, READ, True),
        (WRITE, WRITE, True),
        (APPEND, APPEND, True),
        (APPEND, POP, False),
        (POP, APPEND, False),
        (POP, POP, True),
        (REMOVE, POP, True),
        (POP, REMOVE, False),
        (REMOVE, REMOVE, False),
        (EMPTY, APPEND, True),
        (POP, EMPTY, True),
        (REMOVE, EMPTY, True),
        (EMPTY, EMPTY, False),
    ],
)
def test_which_uses_of_a_list_can_be_exchanged(first, then, ordered):
    assert bool(order_of([(0, first), (1, then)], 2)) == ordered


def test_what_is_behind_a_circle_is_not_in_it():
    nodes = [Node(at=[at]) for at in range(4)]
    order, left = topological(nodes, {0: {1}, 1: {0}, 2: {1}})
    assert order == [3]
    assert left == [0, 1]
    assert topological(nodes, {0: {3}}) == ([1, 2, 3, 0], [])


def test_kinds_of_devices_cover_all_flags():
    assert {flag for kinds in KINDS for flag in kinds} >= {SSD, SSD | DISCARD, BLKDEV}
