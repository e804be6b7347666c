# SPDX-License-Identifier: Apache-2.0
"""The handling of a kernel's answers; no guest is started."""

from collections import Counter
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from hwswap.guest.qemu import GuestError
from hwswap.kernel import fuzz, fuzz_tally
from hwswap.kernel.fuzz_tally import Tally
from hwswap.model.clusters import DISCARD
from hwswap.model.golden import Allocator
from hwswap.model.rows import SLOTS
from hwswap.rtl.replay import Outcome
from hwswap.stimulus import kernel_streams
from hwswap.traces import trace
from hwswap.traces.stream import Shape
from hwswap.traces.trace import Trace

CASE = next(iter(kernel_streams.cases(1, 2_000)))
MADE, PATHS = kernel_streams.generate(CASE.shape)


def record(op, failed=False):
    return next(
        number
        for number, each in enumerate(MADE.records)
        if each.op == op and (op != trace.Op.ALLOC or (each.type == trace.FAILED) == failed)
    )


def test_another_answer_is_named_with_its_operation():
    number = record(trace.Op.ALLOC)
    there = MADE.records[number]
    said = fuzz.answer({"record": number, "answer": [7, 99]}, MADE)
    assert said.startswith(
        f"operation {number}, order {there.order} on CPU {there.cpu}: the kernel has device 7, slot 99"
    )
    assert said.endswith(f"the golden model device {there.type}, slot {there.a}")
    said = fuzz.answer({"record": record(trace.Op.ALLOC, failed=True), "answer": [0, 1]}, MADE)
    assert said.endswith("the kernel has device 0, slot 1, the golden model no slots")
    said = fuzz.answer({"record": number, "answer": -12}, MADE)
    assert "the kernel has error -12" in said
    number = record(trace.Op.FREE)
    said = fuzz.answer({"record": number, "answer": -22}, MADE)
    assert said == f"operation {number}, a free of {MADE.records[number].b} slots: error -22"


def test_other_discards_are_named_with_both_numbers():
    records = [trace.prepare(3, 4 * SLOTS, DISCARD, -1), trace.swapon(3), trace.alloc(0, 0, None)]
    for offset in (SLOTS, 2 * SLOTS):
        records += [trace.discard_take(3, offset), trace.discard_done(3, offset)]
    made = Trace(MADE.header, [*records, trace.discard_take(3, 0)])
    said = fuzz.answer({"record": 7, "answer": 3}, made)
    assert said == "operation 7, discards of device 3: the kernel has 3 clusters, the golden model 2"
    assert "the kernel has error -19, the golden model 2" in fuzz.answer({"record": 7, "answer": -19}, made)
    made.records[3:7] = []
    assert fuzz.answer({"record": 3, "answer": 1}, made).endswith("the kernel has 1 clusters, the golden model 0")


def test_batches_alternate_between_the_kernels_and_have_all_streams():
    drawn = list(fuzz.batches(5, 60_000))
    assert [kernel for kernel, _ in drawn][:4] == 2 * list(fuzz.KERNELS)
    assert [case for _, cases in drawn for case in cases] == list(kernel_streams.cases(5, 60_000))


def counted():
    """Return the tally of a run that had exactly enough of everything."""
    tally = Tally(operations=1_000_000, traced=500_000)
    tally.paths["free"] = 7
    tally.taken.update({name: round(share * 5e5) for name, share in fuzz_tally.LEAST_TAKEN.items()})
    tally.allocated.update({order: round(share * 1e6) for order, share in enumerate(fuzz_tally.LEAST_ORDERS)})
    tally.events.update({name: round(share * 1e6) for name, share in fuzz_tally.LEAST_EVENTS.items()})
    return tally


def test_a_run_has_to_have_enough_of_everything():
    assert fuzz_tally.missing(counted()) == []
    for what, key, text in (
        ("taken", "frag", "clusters taken off lists FRAG"),
        ("events", "allocations that failed", "allocations that failed"),
        ("events", "allocations on large devices, nearly full", "on large devices, nearly full"),
        ("allocated", 7, "allocations of order 7"),
        ("events", "files", "files"),
        ("events", "clusters discarded when asked", "clusters discarded when asked"),
        ("events", "allocations that discarded", "allocations that discarded"),
    ):
        tally = counted()
        getattr(tally, what)[key] -= 1
        (said,) = fuzz_tally.missing(tally)
        assert text in said
    # A failed allocation is one of its order, too.
    tally = counted()
    tally.allocated[3] -= 5
    tally.failed[3] += 5
    assert fuzz_tally.missing(tally) == []


def test_counts_of_kernels_are_the_golden_model_s():
    tally = counted()
    for name, path in (("allocations in empty clusters", "free"), ("allocations that failed", "fail")):
        tally.paths[path] = tally.events[name]
    assert fuzz_tally.unlike(tally) == []
    tally.paths["free"] += 1
    (said,) = fuzz_tally.unlike(tally)
    assert said.startswith("11,801 allocations ended at free by the golden model, and 11,800 allocations in empty")


def test_tallies_add_up():
    total, part = counted(), counted()
    total.add(part)
    assert (total.operations, total.traced) == (2_000_000, 1_000_000)
    assert total.paths["free"] == 14 and fuzz_tally.missing(total) == []


def test_operations_count_for_lists_only_where_the_kernel_has_tracepoints(monkeypatch, tmp_path):
    said = {"records": len(MADE.records), "allocated": [1] * 10, "failed": [2] * 10}
    said |= dict.fromkeys(fuzz_tally.COUNTED, 3)
    for taken, traced in ((Counter(), 0), (Counter(free=9), len(MADE.records))):
        monkeypatch.setattr(fuzz, "on_kernel", lambda *_, taken=taken: fuzz.Said([said], taken))
        monkeypatch.setattr(fuzz, "on_rtl", lambda *_: "")
        tally, found = fuzz.carry_out("patched", [CASE], tmp_path / "a.log", Allocator)
        assert found is None and (tally.taken, tally.traced) == (taken, traced)
        assert tally.events["allocations that failed"] == 20 and tally.events["swapons"] == 3


def test_streams_of_a_guest_that_dies_are_kept(monkeypatch, tmp_path):
    def dies(*_):
        raise GuestError("the guest did not come up")

    monkeypatch.setattr(fuzz, "on_kernel", dies)
    with pytest.raises(RuntimeError, match="did not come up; its streams: .*, for hwswap fuzz --replay"):
        fuzz.carry_out("patched", [CASE], tmp_path / "a.log", Allocator)
    (kept,) = tmp_path.glob("died-patched-*/0000.hwst")
    assert trace.read(kept).records == MADE.records


def test_an_engine_that_was_given_less_than_the_stream_is_not_equal(monkeypatch):
    report = {"ops": len(MADE.records) - 1}
    monkeypatch.setattr(fuzz.replay, "replay", lambda *_, **__: Outcome(True, "", report))
    assert fuzz.on_rtl(CASE, MADE) == f"of {len(MADE.records)} operations the engine was given {report['ops']}"
    report["ops"] += 1
    assert not fuzz.on_rtl(CASE, MADE)


def test_a_guest_that_ends_early_is_an_error(monkeypatch):
    @contextmanager
    def guest(*_, files, **__):
        assert files["cases/0000"][:8] == b"HWSWAPTR"
        out = '@case 0000 {"records": 2000}\n@taken free 30\n@taken frag 1\n@taken free 12\n'
        done = SimpleNamespace(check=lambda: out)
        yield SimpleNamespace(check_log=lambda: None, wait_job=lambda *_, **__: done)

    monkeypatch.setattr(fuzz, "Guest", guest)
    assert fuzz.on_kernel("patched", [MADE], None) == fuzz.Said([{"records": 2000}], Counter(free=42, frag=1))
    with pytest.raises(RuntimeError, match="patched: of 2 streams 1 came to their end"):
        fuzz.on_kernel("patched", [MADE, MADE], None)


def test_an_engine_that_is_not_built_is_said_before_anything_is_run(monkeypatch, tmp_path):
    monkeypatch.setattr(fuzz, "engine", lambda name: tmp_path / name / "hwswap-replay")
    with pytest.raises(RuntimeError, match="is not there"):
        fuzz.compare(1, 1_000, tmp_path, lambda text: None)


def test_a_trace_that_fits_no_engine_is_refused_before_anything_is_run(tmp_path, refused):
    shape = Shape(seed=1, ops=200, devices=32, cpus=65, clusters=512, span=2)
    made, _ = kernel_streams.generate(shape)
    path = tmp_path / "a.hwst"
    trace.write(path, made.header, made.records)
    said = refused("fuzz", "--replay", path)
    assert "too large for each engine: they have 8 devices, 4 CPUs and 1024 clusters" in said
