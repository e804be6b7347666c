# SPDX-License-Identifier: Apache-2.0
"""Statistical traces: as many operations as were counted, decided by the golden model, and said to be that."""

from collections import Counter
from itertools import pairwise

import pytest
from fakes import Kernel
from hwswap.cli import main as cli
from hwswap.compare import check
from hwswap.kernel import lockstep
from hwswap.model.golden import BLKDEV, DISCARD, SOLIDSTATE
from hwswap.traces import samples, statistical, trace
from hwswap.traces.samples import Sample, SampleError, Samples, Swap
from hwswap.traces.statistical import Maker
from hypothesis import given, settings
from hypothesis import strategies as st


def swap(name="/dev/a", pages=2047, used=0, priority=-1, **more):
    return Swap(name, more.pop("partition", True), pages, used, priority, more.pop("rotational", False), **more)


def sample(seconds, swaps, out=0, back=0, sizes=None, **vmstat):
    return Sample(float(seconds), tuple(swaps), {"pswpout": out, "pswpin": back, **vmstat}, sizes or {})


def made_of(*taken, seed=1, cpus=2, discard=False):
    return Maker(Samples("6.12", cpus, 1.0, list(taken)), seed, discard).make()


def replayed(made):
    """Replay on the golden model, which must decide the same; return how many slots are in use at the end."""
    trace.validate(made.trace.records, made.trace.header.cpus)
    assert check.replay(made.trace).difference is None
    held = 0
    for record in made.trace.records:
        if record.op == trace.Op.ALLOC and record.type != trace.FAILED:
            held += 1 << record.order
        elif record.op == trace.Op.FREE:
            held -= record.b
    return held


def asked(made):
    """Allocations by order, those at the start left out: those that got slots, and those that did not."""
    good, failed = Counter(), Counter()
    for record in made.trace.records[made.start :]:
        if record.op == trace.Op.ALLOC:
            (failed if record.type == trace.FAILED else good)[record.order] += 1
    return good, failed


def freed(made):
    return sum(record.b for record in made.trace.records if record.op == trace.Op.FREE)


def test_the_numbers_are_those_that_were_sampled():
    made = made_of(
        sample(0, [swap(pages=8191)]),
        sample(
            1,
            [swap(pages=8191, used=600)],
            640,
            30,
            {2: {"swpout": 10, "swpin": 2}, 4: {"swpout": 5}, 9: {"swpout": 1}},
        ),
        sample(
            2,
            [swap(pages=8191, used=100)],
            700,
            90,
            {2: {"swpout": 20, "swpin": 2}, 4: {"swpout": 5}, 9: {"swpout": 1}},
        ),
    )
    good, failed = asked(made)
    # 640 + 60 pages, of which 20 folios of 4, 5 of 16 and 1 of 512.
    assert good == {0: 700 - 80 - 80 - 512, 2: 20, 4: 5, 9: 1}
    assert not failed and not made.singles and not made.undone and not made.uncounted
    assert freed(made) == made.freed == 700 - 100
    assert replayed(made) == 100


def test_pages_of_zeros_and_those_kept_compressed_have_slots_too():
    made = made_of(
        sample(0, [swap()], zswpout=0, zswpwb=0, swpout_zero=0, sizes={4: {"swpout": 0, "zswpout": 0}}),
        sample(1, [swap(used=60)], 30, zswpout=40, zswpwb=20, swpout_zero=10, sizes={4: {"swpout": 1, "zswpout": 1}}),
    )
    assert asked(made)[0] == {0: 60 - 32, 4: 2}
    assert freed(made) == 0


def test_slots_in_use_at_the_start_are_those_of_each_device():
    made = made_of(
        sample(0, [swap(used=700, priority=3), swap("/dev/b", 1000, 1000)]),
        sample(1, [swap(used=700, priority=3), swap("/dev/b", 1000, 1000)]),
    )
    used = Counter()
    for record in made.trace.records:
        if record.op == trace.Op.ALLOC:
            used[record.type] += 1 << record.order
    assert made.start == len(made.trace.records)
    assert f"the first {made.start} records are what was before" in made.trace.header.workload
    assert used == {0: 700, 1: 1000}
    assert replayed(made) == 1700


def test_devices_are_as_they_were_told():
    made = made_of(
        sample(0, [swap(rotational=True, priority=7, can_discard=True), swap("/f", 99, partition=False)]),
        discard=True,
    )
    devices = [record for record in made.trace.records if record.op == trace.Op.PREPARE]
    assert [(record.type, record.a, record.b, record.c) for record in devices] == [
        (0, 2048, BLKDEV | DISCARD, 7),
        (1, 100, SOLIDSTATE, -1),
    ]
    assert made_of(sample(0, [swap(can_discard=True)])).trace.records[0].b == BLKDEV | SOLIDSTATE


def test_folios_without_room_in_the_kernel_are_asked_for_and_given_back():
    made = made_of(
        sample(0, [swap()], sizes={9: {"swpout_fallback": 0}}),
        sample(1, [swap(used=0)], sizes={9: {"swpout_fallback": 3}}),
    )
    assert made.failed == made.undone == {9: 3}
    assert asked(made)[0] == {9: 3}
    assert freed(made) == 3 * 512 and made.freed == 0
    assert replayed(made) == 0


def test_a_folio_that_the_model_has_no_room_for_takes_single_slots():
    # A file takes no large folios.
    made = made_of(
        sample(0, [swap(partition=False)], sizes={2: {"swpout": 0}}),
        sample(1, [swap(partition=False, used=8)], 8, sizes={2: {"swpout": 2}}),
    )
    assert made.singles == {2: 2}
    assert asked(made) == ({0: 8}, {2: 2})
    assert replayed(made) == 8


def test_more_slots_in_use_than_were_counted_are_allocated_and_said():
    made = made_of(sample(0, [swap()]), sample(1, [swap(used=50)], 20))
    assert made.uncounted == 30
    assert asked(made)[0] == {0: 50}
    assert trace.version_of(made.trace.records) == 1  # what every replayer knows
    assert any("30 single slots are allocated beyond" in line for line in statistical.summary(made))


def test_a_large_folio_counted_before_its_pages_is_taken_off_the_next_interval():
    made = made_of(
        sample(0, [swap()], 0, sizes={4: {"swpout": 0}}),
        sample(1, [swap(used=16)], 10, sizes={4: {"swpout": 1}}),
        sample(2, [swap(used=30)], 30, sizes={4: {"swpout": 1}}),
    )
    assert asked(made)[0] == {4: 1, 0: 14}


def test_devices_come_and_go():
    one, other = swap("/dev/a", 1023), swap("/dev/b", 511)
    made = made_of(
        sample(0, [swap("/dev/a", 1023, 300)]),
        sample(1, [swap("/dev/a", 1023, 700), swap("/dev/b", 511, 100)], 600),
        sample(2, [swap("/dev/b", 511, 400)], 650),
        sample(3, [one, swap("/dev/b", 511, 10)], 650),
        sample(4, [one], 650),
    )
    life = [(r.op, r.type) for r in made.trace.records if r.op in (trace.Op.SWAPON, trace.Op.SWAPOFF)]
    assert life[:2] == [(trace.Op.SWAPON, 0)] * 2  # to be filled, and with its permission back
    assert life[2:] == [(trace.Op.SWAPON, 1), (trace.Op.SWAPOFF, 0), (trace.Op.SWAPON, 0), (trace.Op.SWAPOFF, 1)]
    assert other.identity != one.identity
    assert replayed(made) == 0


def test_a_device_that_is_switched_on_anew_with_another_priority_is_another():
    made = made_of(sample(0, [swap(used=5)]), sample(1, [swap(used=5, priority=9)]))
    assert [r.c for r in made.trace.records if r.op == trace.Op.PREPARE] == [-1, 9]
    assert made.uncounted == 5  # what was on the old one
    assert replayed(made) == 5


def test_what_was_allocated_without_a_device_is_left_out_and_said():
    made = made_of(sample(0, [swap()]), sample(1, []), sample(2, [], 30), sample(3, [swap(used=2)], 40))
    assert made.unseen == 30
    assert asked(made)[0] == {0: 10}
    assert replayed(made) == 2
    assert any(line.startswith("30 slots are left out") for line in statistical.summary(made))


def test_discards_are_done_and_slots_come_back():
    device = {"can_discard": True}
    taken = [sample(0, [swap(pages=1023, **device)])]
    taken += [
        sample(i, [swap(pages=1023, used=1023 if i % 2 else 0, **device)], 1023 * ((i + 1) // 2)) for i in (1, 2, 3)
    ]
    made = made_of(*taken, discard=True)
    assert made.trace.header.counts["discard_done"] >= 1
    assert replayed(made) == 1023


def test_the_same_seed_makes_the_same_trace_and_another_another():
    taken = sample(0, [swap()]), sample(1, [swap(used=300)], 500, 100, {3: {"swpout": 9}})
    assert made_of(*taken, seed=5).trace.records == made_of(*taken, seed=5).trace.records
    assert made_of(*taken, seed=5).trace.records != made_of(*taken, seed=6).trace.records


def test_counters_that_go_back_are_refused():
    with pytest.raises(SampleError, match="pswpout goes back by 3"):
        made_of(sample(0, [swap()], 10), sample(1, [swap()], 7))


def test_time_that_goes_back_is_refused():
    with pytest.raises(SampleError, match="at 1.0 s comes behind that at 2.0 s"):
        made_of(sample(2, [swap()]), sample(1, [swap()]))


def test_too_many_operations_are_refused_and_a_part_is_not(monkeypatch):
    monkeypatch.setattr(statistical, "MOST", 100)
    taken = [sample(0, [swap()]), sample(1, [swap(used=90)], 90), sample(2, [swap(used=190)], 190)]
    with pytest.raises(SampleError, match="up to 190 operations"):
        made_of(*taken)
    part = statistical.until(Samples("6.12", 1, 1.0, taken), 1.5)
    assert asked(Maker(part, 1).make())[0] == {0: 90}
    with pytest.raises(SampleError, match="no sample up to -1"):
        statistical.until(part, -1)


@pytest.mark.parametrize("seed", [-1, 1 << 64])
def test_a_seed_that_no_header_holds_is_refused(seed):
    with pytest.raises(SampleError, match="choose one from 0"):
        made_of(sample(0, [swap()]), seed=seed)


@st.composite
def histories(draw):
    """Samples of a kernel that swapped: devices of any kind, and counters that fit the slots in use, or do not."""
    devices = [
        swap(
            f"/dev/{i}",
            draw(st.integers(1, 1500)),
            0,
            draw(st.integers(-3, 3)),
            partition=draw(st.booleans()),
            rotational=draw(st.booleans()),
            can_discard=draw(st.booleans()),
        )
        for i in range(draw(st.integers(1, 4)))
    ]
    counters, sizes, taken = Counter(), {order: Counter() for order in (1, 2, 4, 9)}, []
    for at in range(draw(st.integers(1, 5))):
        there = [device for device in devices if at == 0 or draw(st.integers(0, 5))]
        swaps = [
            swap(
                d.name,
                d.pages,
                draw(st.integers(0, d.pages)),
                d.priority,
                partition=d.partition,
                rotational=d.rotational,
                can_discard=d.can_discard,
            )
            for d in there
        ]
        taken.append(
            sample(at, swaps, counters["out"], counters["in"], {order: dict(told) for order, told in sizes.items()})
        )
        counters["out"] += draw(st.integers(0, 800))
        counters["in"] += draw(st.integers(0, 400))
        for told in sizes.values():
            told["swpout"] += draw(st.integers(0, 4))
            told["swpout_fallback"] += draw(st.integers(0, 2))
            told["swpin"] += draw(st.integers(0, 3))
    return taken


@settings(max_examples=60, deadline=None)
@given(histories(), st.integers(0, 1 << 32), st.booleans())
def test_any_history_becomes_a_trace_that_replays_with_its_numbers(taken, seed, discard):
    made = made_of(*taken, seed=seed, discard=discard)
    assert replayed(made) == statistical.in_use(taken[-1])
    good, failed = asked(made)
    found = list(statistical.intervals(Samples("6.12", 2, 1.0, taken)))
    seen = [one for one in found if one.before.swaps or one.after.swaps]
    counted = sum((one.allocated for one in seen), Counter())
    without = sum((one.failed for one in seen), Counter())
    assert made.unseen == sum(statistical.slots(one.allocated) for one in found if one not in seen)
    for order in range(1, 10):
        assert good[order] + failed[order] == counted[order] + without[order]
        assert good[order] == counted[order] - made.singles[order] + made.undone[order]
    assert good[0] == counted[0] + made.uncounted + statistical.slots(made.singles)
    assert freed(made) == made.freed + statistical.slots(made.undone)
    for one, (before, after) in zip(found, pairwise(taken), strict=True):
        grown = statistical.slots(one.allocated) + one.uncounted - one.freed
        assert grown == statistical.in_use(after) - statistical.in_use(before)


# The commands


@pytest.fixture
def kernel(tmp_path):
    made = Kernel(tmp_path / "root", swaps=[("/dev/vda", "partition", 4095, 12, 3)], disks={"vda": (0, 4096)})
    made.sizes = {order: {"swpout": 0, "swpout_fallback": 0} for order in range(1, 10)}
    made.write()
    return made


@pytest.fixture
def sampled(kernel, tmp_path, monkeypatch):
    """Run `trace sample` on a kernel that swaps while it waits; return the trace's path."""
    number = 0

    def wait(seconds):
        nonlocal number
        number += 1
        kernel.vmstat["pswpout"] += 100
        kernel.sizes[2]["swpout"] += 5
        kernel.swaps = [("/dev/vda", "partition", 4095, 12 + 70 * number, 3)]
        kernel.write()
        if number == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(samples.take, "__defaults__", (*samples.take.__defaults__[:-1], wait))
    path = tmp_path / "a.hwst.gz"
    arguments = ["--root", str(kernel.root), "--seconds", "50", "--interval", "0.1", "--seed", "4"]
    assert cli.main(["trace", "sample", "-o", str(path), *arguments]) == 0
    return path


def test_sample_writes_samples_and_a_trace_that_says_what_it_is(sampled, tmp_path, capsys):
    capsys.readouterr()
    header = trace.read(sampled).header
    assert (header.kind, header.kernel, header.source, header.seed) == (
        "statistical",
        "6.12.9-stock",
        "golden model",
        4,
    )
    assert header.counts["alloc"] == 12 + 3 * (100 - 20 + 5)  # ended early in the fourth interval
    assert cli.main(["trace", "info", str(sampled)]) == 0
    assert "statistical" in capsys.readouterr().out
    assert cli.main(["trace", "check", str(sampled)]) == 0
    assert "none is a kernel's" in capsys.readouterr().out
    again = tmp_path / "b.hwst.gz"
    kept = tmp_path / "a.samples.jsonl"
    assert cli.main(["trace", "estimate", str(kept), "--seed", "4", "-o", str(again)]) == 0
    assert "statistical, " in capsys.readouterr().out
    assert trace.read(again).records == trace.read(sampled).records
    assert cli.main(["trace", "estimate", str(kept), "-o", str(again), "--until", "0"]) == 0
    assert trace.read(again).header.counts["alloc"] == 12


def test_lockstep_refuses_a_statistical_trace(sampled):
    with pytest.raises(lockstep.LockstepError, match="is statistical: .* none is a kernel's"):
        lockstep.run_trace(sampled, "a")


def test_no_swap_is_one_sentence_and_status_1(kernel, tmp_path, capsys):
    kernel.swaps = []
    kernel.write()
    path = tmp_path / "none.hwst"
    assert cli.main(["trace", "sample", "-o", str(path), "--root", str(kernel.root)]) == 1
    err = capsys.readouterr().err
    assert "no swap is active" in err
    assert len(err.splitlines()) == 1
    assert not path.exists()
