# SPDX-License-Identifier: Apache-2.0
"""The state a trace begins with, as operations and steps: they lead to the very state."""

from pathlib import Path

import pytest
from hwswap.compare import operations
from hwswap.kernel import convert
from hwswap.model.golden import Allocator
from hwswap.model.stepper import Stepper
from hwswap.traces import initial, stream, trace
from hwswap.traces.initial_steps import replayable
from hwswap.traces.records import FAILED, FIRST_DETAIL, FIRST_INIT, Op
from hwswap.traces.trace import ClusterMap, Trace
from run_seed import SEED

DATA = Path(__file__).parents[1] / "data"


def state(model: Allocator) -> list[tuple[int, ...]]:
    """Return all of a model's state that decides anything.

    Places that lead nowhere are left out; of the SWAPONs' numbers the sequence is kept.
    """
    numbers = sorted(device.number for device in model.devices.values())
    kept = (
        record for record in initial.save(model) if record.op != Op.INIT_NEXT or (record.a and record.type != FAILED)
    )
    return [
        tuple(record._replace(b=numbers.index(record.b)) if record.op == Op.INIT_DEVICE else record) for record in kept
    ]


def both(loaded: Trace) -> tuple[Allocator, Stepper]:
    """Return the state that a trace begins with: restored, and by operations and steps."""
    header = loaded.header
    sizes = (header.devices, header.cpus, header.clusters)
    there, led = Allocator(*sizes), Stepper(*sizes)
    end = max(at for at, record in enumerate(loaded.records) if FIRST_INIT <= record.op < FIRST_DETAIL) + 1
    clusters = ClusterMap()
    for record in loaded.records[:end]:
        operations.step(there, clusters, record)
    steps = replayable(loaded).records
    clusters = ClusterMap()
    for number, record in enumerate(steps[: len(steps) - (len(loaded.records) - end)]):
        assert operations.compare(led, clusters, number, record) is None
    return there, led


@pytest.mark.parametrize("name", sorted(path.name for path in DATA.glob("*.hwst.gz")))
def test_of_recorded_traces(name: str) -> None:
    """Wherever a kernel's trace is cut, the steps lead to the state it had there."""
    loaded = trace.read(DATA / name)
    for share in (0.1, 0.5, 0.9):
        there, led = both(convert.cut(loaded, int(share * len(loaded.records))))
        assert state(led) == state(there)


@pytest.mark.parametrize("seed", range(1, 9))
def test_of_random_streams(seed: int) -> None:
    """The same with all that a stream can have: bad slots, discards, rotating devices, swapoffs, policies."""
    loaded = stream.generate(stream.Shape(SEED + seed, 3_000, 8, 3, 64, 6, stream.EVERYTHING))
    for start in range(200, len(loaded.records), 400):
        there, led = both(convert.cut(loaded, start))
        assert state(led) == state(there), f"seed {seed}, record {start}"


def test_without_a_state() -> None:
    """A trace that begins with nothing is replayed as it is."""
    loaded = trace.read(DATA / "discard.hwst.gz")
    assert replayable(loaded) is loaded
