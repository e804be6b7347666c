# SPDX-License-Identifier: Apache-2.0
"""One sequence of what many CPUs did: equal where operations can be exchanged, forced where they cannot."""

from collections.abc import Collection, Sequence
from pathlib import Path

import pytest
from hwswap.compare import check
from hwswap.compare.forced import (
    GONE,
    LATE,
    OTHER_MOMENT,
    RECLAIMED_SLOTS,
    SKIPPED,
    SLEPT_FOR_TABLE,
    WITHOUT_TABLE,
)
from hwswap.compare.linear import (
    APPEND,
    AVAILABLE_LIST,
    EMPTY,
    INTERLEAVED,
    MIGRATED,
    POP,
    READ,
    REMOVE,
    WRITE,
    Around,
    Engine,
    Linear,
    Node,
    NotOnRecord,
    Trial,
    Unequal,
    as_trace,
    linearise,
    topological,
)
from hwswap.compare.linear import Shared as SharedThings
from hwswap.model.follower import Mismatch
from hwswap.model.steps import Attempt, HalfUsed, Resume
from hwswap.traces import trace
from hwswap.traces.records import FIRST_STEP, SLEPT, Op, Record
from hwswap_map import Flag, Status
from run_seed import SEED
from tracepoint_text import BLKDEV, DISCARD, FIRST, FREES, FULL_AND_FREED, KINDS, ON, SECOND, SSD, Writer, made_of, text

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
    """Not of any difference behind one: the search has to come to that very cluster, on the list looked at next."""
    trial = trial_of(others=[Node(at=[0, 9])])
    trial.skipped = {(0, 3)}
    assert str(trial.unequal((0, 3))) == SKIPPED
    assert str(trial.unequal((0, 1))) == INTERLEAVED
    assert str(trial.unequal()) == INTERLEAVED
    steps = list(FIRST)
    steps.insert(2, "0 7 cluster_skip type=0 cluster=1 state=1")
    with pytest.raises(Mismatch):  # another list was looked at in between: on FREE the cluster has to be taken
        linearise(made_of(text(*ON, *(line.replace("cluster=1 flag=1", "cluster=2 flag=1") for line in steps))))


def trial_of(*records: Record, others: Sequence[Node] = (), going: Collection[int] = (), done: int = 0) -> Trial:
    """Return a trial of an allocation with these records, beside others, that has come so far."""
    node = Node(list(records) or [Record(Op.END, 0, 0, 0)], at=list(range(max(len(records), 1))), number=1)
    trace_ = trace.Trace(trace.Header("recorded", "7.3.4", "tracepoints", "by hand", None, 4), list(records))
    trial = Trial(Engine(1, 4, 4), node, Around(trace_, others, going))
    trial.done = done
    return trial


def begun_and(*records: Record) -> list[Record]:
    return [Record(Op.BEGIN, 0, 0, 0, c=1), *records]


BESIDE = [Node(at=[0, 9])]
SLEEP = Record(Op.TABLE, 0, 0, 0, 1, SLEPT, 1)


def test_slept_for_a_table_is_a_cause_only_behind_the_sleep():
    """And only where another operation was under way, or it woke up elsewhere."""
    records = begun_and(SLEEP, Record(Op.SCANNED, 0, 0, 0, 512, c=1))
    assert str(trial_of(*records, others=BESIDE, done=2).unequal()) == SLEPT_FOR_TABLE
    assert str(trial_of(*records, others=BESIDE, done=1).unequal()) == INTERLEAVED, "it has not slept yet"
    with pytest.raises(NotOnRecord, match="no other operation was under way"):
        trial_of(*records, done=2).unequal()
    elsewhere = [*records[:2], records[2]._replace(cpu=1)]
    assert str(trial_of(*elsewhere, done=2).unequal()) == SLEPT_FOR_TABLE


def scan_of(trial: Trial) -> Attempt:
    """Swap a device on for a trial's engine; return a search of its second cluster that is at its first slot."""
    engine = trial.engine
    assert engine.prepare(0, 2048, 0, SSD, 0) == Status.OK
    assert engine.swapon(0) == Status.OK
    device = engine.devices[0]
    return Attempt(device, device.clusters[1], 0, 0)


def test_another_cpu_is_a_cause_only_behind_a_sleep():
    record = Record(Op.ALLOC, 1, 0, 0, 512, c=1)
    slept, awake = trial_of(*begun_and(SLEEP, record), done=2), trial_of(*begun_and(record), done=1)
    with pytest.raises(Unequal, match=MIGRATED):
        slept.at_scan(scan_of(slept), record, 512)
    with pytest.raises(NotOnRecord, match=f"the records do not show why .{MIGRATED}"):
        awake.at_scan(scan_of(awake), record, 512)


def test_write_permission_that_went_is_a_cause_only_near_a_swapoff():
    nothing, off = Record(Op.SCANNED, 0, 0, 0, 512, c=1), Record(Op.SWAPOFF_BEGIN, 0, 0, 0)
    going = trial_of(*begun_and(nothing, off), done=1)
    with pytest.raises(Unequal, match=LATE):
        going.at_scan(scan_of(going), nothing, 512)
    other = trial_of(*begun_and(nothing, off._replace(type=1)), done=1)
    with pytest.raises(NotOnRecord, match="no other operation was under way"):
        other.at_scan(scan_of(other), nothing, 512)


def test_a_device_that_was_going_is_a_cause_only_behind_its_swapoff():
    for going in ([0], []):
        trial = trial_of(*begun_and(), going=going)
        device = scan_of(trial).device
        device.writeok = False
        with pytest.raises(Unequal if going else NotOnRecord, match=GONE):
            trial.resume(Resume(device, 512), None)


def test_half_used_at_another_moment_is_a_cause_only_where_others_made_the_difference():
    """The others give or free that many slots, or a device is turned on or off."""
    half = Record(Op.HALF_USED, 0, 0, 0, 1, c=1)
    most = Record(Op.FREE, 1, 0, 0, 512, 512)

    def answered(*behind: Record, others: Sequence[Node] = ()) -> None:
        trial = trial_of(*begun_and(half, *behind), others=others, done=1)
        trial.asked = True
        device = scan_of(trial).device
        device.used = device.total // 2 - 20
        trial.answer(HalfUsed())

    with pytest.raises(NotOnRecord, match=OTHER_MOMENT):
        answered()
    with pytest.raises(Unequal, match=OTHER_MOMENT):
        answered(others=[Node([most], at=[1])])
    with pytest.raises(Unequal, match=OTHER_MOMENT):
        answered(Record(Op.ALLOC, 1, 9, 0, 1024, c=2))
    with pytest.raises(NotOnRecord, match=OTHER_MOMENT):
        answered(Record(Op.ALLOC, 1, 0, 0, 1024, c=2))
    with pytest.raises(NotOnRecord, match=OTHER_MOMENT):
        answered(Record(Op.END, 1, 0, 0, c=2), Record(Op.ALLOC, 1, 9, 0, 1024, c=3))
    with pytest.raises(Unequal, match=OTHER_MOMENT):
        answered(Record(Op.SWAPON, 0, 0, 1))


def test_a_scan_that_stopped_to_reclaim_is_a_cause_only_beside_another_operation():
    """The engine does not ask there: not half is in use."""
    record = Record(Op.RECLAIM, 0, 0, 0, 512, c=1)
    for others in (BESIDE, []):
        trial = trial_of(*begun_and(record), others=others, done=1)
        trial.asked = True
        with pytest.raises(Unequal if others else NotOnRecord, match=RECLAIMED_SLOTS):
            trial.reclaim(scan_of(trial), record)


def test_nobody_came_between_an_allocation_that_was_alone(monkeypatch):
    """An engine with another rule is no reason to force: that would hide it."""
    monkeypatch.setattr(Engine, "usable", lambda *_: False)
    with pytest.raises(NotOnRecord, match="no other operation was under way"):
        linearise(made_of(text(*ON, *FIRST, *SECOND)))


def test_a_cluster_that_goes_elsewhere_is_not_put_back(monkeypatch):
    """A free that leaves a cluster on another list than the kernel's is not mended."""
    move = Engine.move

    def wrong(engine, device, cluster, flag):
        move(engine, device, cluster, Flag.FRAG if flag == Flag.NONFULL else flag)

    monkeypatch.setattr(Engine, "move", wrong)
    with pytest.raises(NotOnRecord, match="cluster 1 of device 0 goes to NONFULL, and at once to FRAG"):
        linearise(made_of(text(*ON, *FIRST, *SECOND, *FREES)))


@pytest.mark.parametrize("rule", ["join", "set_right"])
def test_a_wrong_rule_of_the_available_list_is_not_mended(rule, monkeypatch):
    """Devices that come back are the first of their equals, or do not come back; operations are one after the other."""

    def first(engine, device):
        engine.available.insert(0, device)

    def never(engine, device):
        if device.used == device.total:
            engine.available.remove(device)

    on, filled_and_freed = FULL_AND_FREED[:3], FULL_AND_FREED[3:17]
    assert "slots_free" in filled_and_freed[-2]
    recorded = made_of(text(*on, *(line.replace("type=0", "type=1") for line in on), *filled_and_freed))
    assert not linearise(recorded).forced
    monkeypatch.setattr(Engine, rule, first if rule == "join" else never)
    mine = "[0, 1]" if rule == "join" else "[1]"
    with pytest.raises(NotOnRecord, match="no two that were under way together changed that") as caught:
        linearise(recorded)
    assert f"the available list is [1, 0], and {mine} where" in str(caught.value)


def test_a_free_that_is_counted_before_it_is_recorded_keeps_a_device_on_the_list(tmp_path):
    """CPU 1 takes the last slot while CPU 0 is in the middle of a free: for the kernel the device was never full."""
    linear = sequence_that_holds(made_of(text(*FULL_AND_FREED)), tmp_path / "a.hwst")
    assert linear.forced == {AVAILABLE_LIST: 1}
    assert linear.decisions == 3, "that is no decision"


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
