# SPDX-License-Identifier: Apache-2.0
"""Looks at the Verilated engine's own state (build/model/hwswap-replay): it is the model's, and what is not is found.

HWSWAP_SEED=n moves the random seed by n.
"""

import pytest
from hwswap.compare import state_looks
from hwswap.rtl import replay
from hwswap.traces import stream, trace
from hwswap.traces.records import FIRST, NOT_FIRST, Op
from hwswap.traces.stream import Shape
from run_seed import SEED


def replayed(looked, records, path, shift=0):
    trace.write(path, looked.trace.header, records)
    looks = [(begin + shift, end + shift) for begin, end in looked.looks]
    options = [word for look in looks[-1:] for word in ("--aside", *map(str, look))] if shift else looked.options
    return replay.replay(path, options, timeout=600)


@pytest.mark.parametrize("features", [frozenset(), stream.EVERYTHING], ids=["linux", "everything"])
def test_the_state_is_the_models_and_stays(features, tmp_path):
    shape = Shape(SEED + 5, 6_000, span=12, features=features)
    made = stream.generate(shape)
    looked = state_looks.with_looks(made)
    outcome = replayed(looked, looked.trace.records, tmp_path / "a.hwst")
    assert outcome.equal, f"{shape}: {outcome.output}"
    assert outcome.report["ops"] == len(made.records)
    assert outcome.report["asides"] == len(looked.looks) > 1
    assert outcome.report["aside_operations"] == len(looked.trace.records) - len(made.records) > 100
    kinds = outcome.report["cycles_by_kind"]
    allocs = sum(kinds[kind]["count"] for kind in ("alloc", "alloc_failed") if kind in kinds)
    assert allocs == sum(record.op == Op.ALLOC for record in made.records)


def test_a_free_that_the_engine_missed_is_found(tmp_path):
    """Nothing is decided after it: only the look can tell."""
    made = stream.generate(Shape(17, 3_000, span=12))
    last = max(at for at, record in enumerate(made.records) if record.op == Op.ALLOC and record.type != 255)
    given = made.records[last]
    freed = given._replace(op=Op.FREE, order=0, b=1 << given.order)
    whole = trace.complete(made.header, [*made.records[: last + 1], freed])
    looked = state_looks.with_looks(whole)
    at = next(at for at, record in enumerate(looked.trace.records) if record == freed)
    missing = [*looked.trace.records[:at], *looked.trace.records[at + 1 :]]
    outcome = replayed(looked, missing, tmp_path / "a.hwst", shift=-1)
    assert not outcome.equal
    number = int(outcome.output.split("operation ")[1].split()[0])
    assert looked.looks[-1][0] - 1 <= number < looked.looks[-1][1], outcome.output


@pytest.mark.parametrize("op", [Op.STEP_VISIT, Op.STEP_TAKE])
def test_an_answer_that_differs_is_told(op, tmp_path):
    looked = state_looks.with_looks(stream.generate(Shape(18, 2_000, span=12)))
    at = next(at for at, record in enumerate(looked.trace.records) if record.op == op)
    record = looked.trace.records[at]
    wrong = record._replace(a=record.a % 32 + 1) if op == Op.STEP_VISIT else record._replace(c=NOT_FIRST)
    assert record.c in (0, FIRST)
    outcome = replayed(
        looked, [*looked.trace.records[:at], wrong, *looked.trace.records[at + 1 :]], tmp_path / "a.hwst"
    )
    assert not outcome.equal
    assert f"operation {at} " in outcome.output
    assert " first" in outcome.output
