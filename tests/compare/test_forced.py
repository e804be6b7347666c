# SPDX-License-Identifier: Apache-2.0
"""Replay step by step: from tracepoint text by hand, and from models that write down their steps."""

import random

import pytest
from hwswap.compare import check
from hwswap.compare.forced_lists import (
    LATE,
    OTHER_MOMENT,
    RECLAIMED_CLUSTER,
    RECLAIMED_SLOTS,
    SKIPPED,
    SLEPT_FOR_TABLE,
    WITHOUT_TABLE,
)
from hwswap.model.clusters import DISCARD
from hwswap.traces import trace
from hwswap.traces.records import FAILED, Op, Record
from hwswap_map import Flag
from run_seed import SEED
from tracepoint_text import FIRST, FREES, KINDS, ON, SECOND, SSD, Writer, made_of, text


def test_the_text_of_one_cpu_becomes_records_and_the_model_agrees():
    found = made_of(text(*ON, *FIRST, *SECOND, *FREES))
    assert [record.op for record in found.records[:4]] == [Op.PREPARE, Op.SWAPON, Op.AVAILABLE, Op.BEGIN]
    assert found.records[6] == Record(Op.ISOLATE, 0, 0, 0, 1, Flag.FREE, 1)
    assert found.detailed
    outcome = check.replay(found)
    assert outcome.difference is None, str(outcome.difference)
    assert outcome.decisions == 2
    assert not outcome.forced


def agrees(lines: list[str], forced: dict[str, int]) -> None:
    """See that the model follows lines, forced so often by each cause."""
    outcome = check.replay(made_of(lines))
    assert outcome.difference is None, str(outcome.difference)
    assert outcome.forced == forced


def changed(lines: tuple[str, ...], before: str, after: str) -> tuple[str, ...]:
    assert sum(before in line for line in lines) == 1
    return tuple(line.replace(before, after) for line in lines)


SMALL_ON = changed(ON, "max=2048 pages=2047", "max=1024 pages=1023")


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("isolate type=0 cluster=1", "isolate type=0 cluster=2", "the trace has cluster 2, the model clu"),
        ("offset=512 nr=16", "offset=528 nr=16", "device 0 offset 528, the model device 0 offset 512"),
        ("flag=3 order=4", "flag=2 order=4", "cluster 1 moved to NONFULL, the model moves it to FRAG"),
        ("cluster=-1 flag=2", "cluster=-1 flag=3", "a look at FRAG[4] of device 0, the model looks at NON"),
        ("cluster_table type=0 cluster=1", "cluster_table type=0 cluster=2", "a table for cluster 2"),
    ],
)
def test_each_step_is_compared(before, after, message):
    outcome = check.replay(made_of(text(*ON, *changed(FIRST, before, after))))
    assert message in str(outcome.difference)


@pytest.mark.parametrize("missing", range(len(FIRST) - 1))
def test_a_missing_step_is_noticed(missing):
    """All but the last, without which the allocation would just go on."""
    lines = [line for number, line in enumerate((*FIRST, *SECOND)) if number != missing]
    try:
        outcome = check.replay(made_of(text(*ON, *lines)))
    except trace.TraceError:
        return
    assert outcome.difference is not None


def test_a_free_of_another_cpu_between_the_steps_is_seen():
    """CPU 1 frees while CPU 0 sleeps for a table; CPU 0 ends as CPU 2."""
    steps = [line.replace("cluster=1", "cluster=2").replace("offset=512", "offset=1024") for line in FIRST]
    steps[4:] = [line.replace("0 7", "2 7").replace("state=0", "state=1") for line in steps[4:]]
    between = ("1 9 slots_free type=0 offset=512 nr=512", "1 9 cluster_move type=0 cluster=1 flag=1 order=9")
    again = [line.replace("0 7", "2 5").replace("offset=528", "offset=1040") for line in SECOND]
    agrees(text(*ON, *LAST_FREE, *steps[:4], *between, *steps[4:], *again), {SLEPT_FOR_TABLE: 1})


def test_a_cluster_whose_lock_is_taken_is_passed_over():
    steps = [line.replace("cluster=1", "cluster=2").replace("offset=512", "offset=1024") for line in FIRST]
    steps.insert(3, "0 7 cluster_skip type=0 cluster=1 state=1")
    agrees(text(*ON, *steps), {SKIPPED: 1})


def test_without_memory_for_a_table_the_kernel_is_followed():
    lines = (
        "0 7 alloc_begin order=9",
        "0 7 device_visit type=0 state=1",
        "0 7 cluster_isolate type=0 cluster=1 flag=1 order=0",
        "0 7 cluster_table type=0 cluster=1 state=2",
        "0 7 cluster_move type=0 cluster=1 flag=1 order=0",
        "0 7 half_used type=0 state=0",
        "0 7 slots_alloc order=9 type=0 offset=0 nr=0",
        "0 7 alloc_end order=9 found=0",
    )
    agrees(text(*ON, *lines), {WITHOUT_TABLE: 1})
    wrong = check.replay(made_of(text(*ON, *changed(lines, "half_used type=0 state=0", "half_used type=0 state=1"))))
    assert "half used: True, the model half used: False" in str(wrong.difference)


GOING = ("1 3 device_writeok type=0 state=0", "1 3 device_available type=0 state=0")


def test_slots_may_be_given_just_after_write_permission_went():
    """Another CPU had seen it before; the allocation's event is under another lock than the flag's."""
    agrees(text(*ON, *FIRST[:5], *GOING, *FIRST[5:]), {LATE: 1})


def test_slots_may_be_refused_just_before_write_permission_is_seen_to_go():
    """The flag goes under swap_avail_lock, its event follows; a scan reads the flag under its cluster's lock."""
    refused = (
        *FIRST[:5],
        "0 7 cluster_scan type=0 offset=512 order=4",
        *GOING,
        "0 7 cluster_move type=0 cluster=1 flag=1 order=0",
        "0 7 half_used type=0 state=0",
        "0 7 cluster_isolate type=0 cluster=-1 flag=3 order=4",
        "0 7 slots_alloc order=4 type=0 offset=0 nr=0",
        "0 7 alloc_end order=4 found=0",
    )
    agrees(text(*ON, *refused), {LATE: 1})
    staying = tuple(line for line in refused if line not in GOING)
    assert "nothing, the model device 0 offset 512" in str(check.replay(made_of(text(*ON, *staying))).difference)


def test_slots_are_not_given_long_after_write_permission_went():
    """An allocation that begins behind the swapoff sees the flag."""
    outcome = check.replay(made_of(text(*ON, *FIRST, *GOING, *SECOND)))
    assert "the model gives none of device 0, which has long been going" in str(outcome.difference)
    assert check.replay(made_of(text(*ON, *FIRST, SECOND[0], *GOING, *SECOND[1:]))).forced == {LATE: 1}


LAST_FREE = (
    "1 9 alloc_begin order=9",
    "1 9 device_visit type=0 state=1",
    "1 9 cluster_isolate type=0 cluster=1 flag=1 order=0",
    "1 9 cluster_table type=0 cluster=1 state=0",
    "1 9 slots_alloc order=9 type=0 offset=512 nr=512",
    "1 9 cluster_move type=0 cluster=1 flag=4 order=9",
    "1 9 alloc_end order=9 found=1",
)
NOTHING_FREE = (
    "0 7 alloc_begin order=9",
    "0 7 device_visit type=0 state=1",
    "0 7 cluster_isolate type=0 cluster=-1 flag=1 order=0",
    "0 7 half_used type=0 state=1",
    "0 7 cluster_isolate type=0 cluster=-1 flag=4 order=0",
    "0 7 slots_alloc order=9 type=0 offset=0 nr=0",
    "0 7 alloc_end order=9 found=0",
)


def test_half_used_is_another_cpus_doing_or_a_difference():
    """CPU 1 has counted the slots that it is in the middle of giving; on one CPU nobody else has."""
    agrees(text(*SMALL_ON, *LAST_FREE[:4], *NOTHING_FREE, *LAST_FREE[4:]), {OTHER_MOMENT: 1})
    alone = [f"0{line[1:]}" for line in (*SMALL_ON, *LAST_FREE[:4], *NOTHING_FREE, *LAST_FREE[4:])]
    assert "half used: True, the model half used: False" in str(check.replay(made_of(text(*alone))).difference)


RECLAIM = (
    "1 9 alloc_begin order=4",
    "1 9 device_visit type=0 state=1",
    "1 9 cluster_isolate type=0 cluster=-1 flag=2 order=4",
    "1 9 cluster_isolate type=0 cluster=-1 flag=1 order=0",
    "1 9 half_used type=0 state=0",
    "1 9 cluster_isolate type=0 cluster=1 flag=3 order=4",
    "1 9 slots_alloc order=4 type=0 offset=528 nr=16",
    "1 9 cluster_move type=0 cluster=1 flag=3 order=4",
    "1 9 alloc_end order=4 found=1",
    "0 7 alloc_begin order=4",
    "0 7 reclaim_begin type=0 offset=528 order=4",
    "0 7 slots_free type=0 offset=528 nr=16",
    "0 7 cluster_move type=0 cluster=1 flag=2 order=4",
    "0 7 reclaim_end type=0 offset=528 order=4 usable=1 clear=1",
    "0 7 slots_alloc order=4 type=0 offset=528 nr=16",
    "0 7 cluster_move type=0 cluster=1 flag=3 order=4",
    "0 7 alloc_end order=4 found=1",
)


def test_what_is_reclaimed_in_a_scan_is_free_for_it():
    agrees(text(*SMALL_ON, *FIRST, *RECLAIM), {RECLAIMED_SLOTS: 1})
    for before, after, message in (
        ("reclaim_begin type=0 offset=528", "reclaim_begin type=0 offset=560", "takes slot 32 before that"),
        ("usable=1 clear=1", "usable=1 clear=0", "usable 1, clear 0, the model usable 1, clear 1"),
    ):
        outcome = check.replay(made_of(text(*SMALL_ON, *FIRST, *changed(RECLAIM, before, after))))
        assert message in str(outcome.difference)


@pytest.mark.parametrize("kinds", KINDS, ids=str)
@pytest.mark.parametrize("cached", [False, True], ids=["", "cached"])
def test_a_model_that_writes_down_its_steps_is_followed_without_a_difference(kinds, cached, tmp_path):
    forced, own = 0, range(3 if cached else 6)
    for seed in (*own, SEED + 7):
        written = Writer(seed, kinds, cached).run(2500 if cached else 500)
        trace.write(tmp_path / "a.hwst.gz", written.header, written.records)
        again = trace.read(tmp_path / "a.hwst.gz")
        outcome = check.replay(again)
        assert outcome.difference is None, str(outcome.difference)
        assert outcome.decisions > (150 if seed in own else 0)
        if seed in own:  # how much another seed reclaims is anything
            forced += outcome.forced[RECLAIMED_SLOTS] + outcome.forced[RECLAIMED_CLUSTER]
    assert (forced > 20) == cached


def test_a_changed_result_is_named_wherever_it_is():
    written = Writer(3, (SSD, SSD | DISCARD)).run(200)
    rng = random.Random(SEED + 1)
    allocated = [i for i, r in enumerate(written.records) if r.op == Op.ALLOC and r.type != FAILED]
    for at in rng.sample(allocated, 20):
        record = written.records[at]
        records_ = list(written.records)
        records_[at] = record._replace(a=record.a ^ 1 << record.order)
        outcome = check.replay(trace.Trace(written.header, records_))
        assert outcome.difference is not None
        assert outcome.difference.number == at
