# SPDX-License-Identifier: Apache-2.0
"""Random streams: legal, repeatable, rich, and in step with the model's invariants."""

from collections import Counter
from collections.abc import Iterable

import pytest
from hwswap.compare import check
from hwswap.model.clusters import BLKDEV, DISCARD, SOLIDSTATE
from hwswap.model.policy import Policy
from hwswap.model.rows import SLOTS
from hwswap.traces import stream, trace
from hwswap.traces.records import FIRST_VERSION, version_of
from hwswap.traces.trace import Op
from hypothesis import given, settings
from hypothesis import strategies as st
from run_seed import SEED
from watched_models import Reached


def test_the_same_seed_gives_the_same_stream_and_another_another():
    first = stream.generate(stream.Shape(seed=7, ops=4000))
    assert stream.generate(stream.Shape(seed=7, ops=4000)) == first
    assert stream.generate(stream.Shape(seed=8, ops=4000)).records != first.records


ALL = frozenset(stream.FEATURES)


class Slots:
    """The slots in use, followed with plain sets, which know nothing of clusters, orders or lists."""

    def __init__(self) -> None:
        """Know no device."""
        self.used: dict[int, set[int]] = {}
        self.flags: dict[int, int] = {}

    def follow(self, record: trace.Record) -> None:
        """See whether a record gives only free slots, and takes only slots in use."""
        if record.op == Op.PREPARE:
            top = -(-record.a // SLOTS) * SLOTS
            self.used[record.type] = {0, *range(record.a, top)}
            self.flags[record.type] = record.b
        elif record.op == Op.BAD:
            self.used[record.type] |= set(range(record.a, record.a + record.b))
        elif record.op == Op.ALLOC and record.type != trace.FAILED:
            got = set(range(record.a, record.a + (1 << record.order)))
            assert not got & self.used[record.type]
            assert record.a % (1 << record.order) == 0
            assert record.order == 0 or self.flags[record.type] & BLKDEV
            self.used[record.type] |= got
        elif record.op == Op.FREE:
            given_back = set(range(record.a, record.a + record.b))
            assert given_back <= self.used[record.type]
            self.used[record.type] -= given_back


def only_of(record: trace.Record, features: frozenset[str]) -> bool:
    """Tell whether a stream with these features may have a record."""
    if record.op == Op.POLICY:
        policy = Policy.unpack(record.a | record.b << 32)
        allowed = [choice for name, choice in stream.CHOICES.items() if name in features]
        chosen = (policy.scan, policy.device, policy.hint, policy.placement)
        return bool(allowed) and all(not choice or any(choice is one for one in allowed) for choice in chosen)
    if record.op == Op.PREPARE:
        return ("discard" in features or not record.b & DISCARD) and (
            "rotating" in features or bool(record.b & SOLIDSTATE)
        )
    needs = {Op.DISCARD_TAKE: "discard", Op.NODE: "node"}
    return record.op not in needs or needs[record.op] in features


@settings(max_examples=50, deadline=None)
@given(
    seed=st.integers(0, 2**64 - 1),
    devices=st.sampled_from((1, 3, 8)),
    cpus=st.sampled_from((1, 4, 64)),
    span=st.sampled_from((2, 6, 9, 40)),
    features=st.just(frozenset()) | st.frozensets(st.sampled_from(stream.FEATURES)),
)
def test_a_stream_is_valid_gives_no_slot_twice_and_the_model_agrees(seed, devices, cpus, span, features):
    shape = stream.Shape(seed, 1500, devices, cpus, clusters=64, span=span, features=features)
    making, slots, records = stream.Stream(shape), Slots(), []
    for record in making:
        assert only_of(record, features)
        slots.follow(record)
        records.append(record)
        if len(records) % 40 == 0:
            assert making.model.faults() == []
    assert len(records) == 1500
    for type_, device in making.model.devices.items():
        used = {c.index * SLOTS + s for c in device.clusters for s in range(SLOTS) if c.used >> s & 1}
        assert used == slots.used[type_]
    trace.validate(records, cpus)
    made = trace.complete(stream.header(shape), records)
    assert made.header.clusters <= 64
    outcome = check.replay(made)
    assert outcome.difference is None, str(outcome.difference)
    assert outcome.decisions >= (200 if devices == 8 else 1)


def test_without_features_a_stream_is_of_the_first_version():
    assert version_of(stream.generate(stream.Shape(seed=4, ops=6000)).records) == 1
    assert version_of(stream.generate(stream.Shape(seed=4, ops=6000, features=ALL)).records) == 2


def test_streams_with_features_discard_and_switch():
    ops: Counter[int] = Counter()
    policies = set()
    failures_of_discard = 0
    for seed, span in ((1, 3), (2, 12), (3, 40)):
        making = stream.Stream(stream.Shape(seed=seed, ops=20000, span=span, cpus=8, features=ALL))
        for record in making:
            ops[record.op] += 1
            failures_of_discard += record.op == Op.DISCARD_TAKE and not record.a
            if record.op == Op.POLICY:
                policies.add(record.a)
        assert making.model.faults() == []
    assert ops[Op.DISCARD_DONE] >= 60
    assert ops[Op.DISCARD_TAKE] - failures_of_discard >= ops[Op.DISCARD_DONE]
    assert failures_of_discard >= 5
    assert len(policies) >= 12


def assert_enough(shapes: Iterable[stream.Shape], types: int, reinserts: int, of_each_path: int, steals: int) -> None:
    """Streams have each operation, 10 allocations of each order, and so many of the rest."""
    reached, again = Reached(), 0
    for shape in shapes:
        last: dict[int, int] = {}
        for record in reached.records(shape):
            again += record.op == Op.SWAPON and last[record.type] == Op.SWAPOFF_BEGIN
            if record.op not in (Op.ALLOC, Op.FREE):
                last[record.type] = record.op
    assert set(reached.ops) == set(FIRST_VERSION)
    assert min(reached.orders[order] for order in range(10)) >= 10, reached.orders
    assert len(reached.types) >= types
    assert again >= reinserts
    assert reached.paths["steal"] >= steals
    assert all(reached.paths[path] >= of_each_path for path in ("fast", "nonfull", "free", "frag", "fail")), (
        reached.paths
    )


@pytest.mark.parametrize("seed", [1, 2])
def test_streams_reach_every_kind_of_operation_order_and_path(seed):
    """One long stream of each size, with seeds that do: of 25 others, 17 had fewer steals, orders or devices."""
    shapes = (stream.Shape(seed=seed, ops=25000, span=span) for span in (3, 12, 60))
    assert_enough(shapes, types=6, reinserts=3, of_each_path=20, steals=20)


def test_streams_of_any_seeds_reach_all_but_steals_together():
    """Steals take longer streams. The least in 20,000 sets of 8 out of 70 seeds: 36, 6, 2 and 203."""
    shapes = (stream.Shape(seed=seed, ops=6000, span=span) for seed in range(SEED, SEED + 8) for span in (3, 12, 60))
    assert_enough(shapes, types=4, reinserts=1, of_each_path=60, steals=0)


def test_check_names_a_free_of_what_is_not_in_use():
    made = stream.generate(stream.Shape(seed=5, ops=3000))
    at = next(i for i, r in enumerate(made.records) if i > 1000 and r.op == Op.FREE)
    made.records.insert(at, made.records[at])
    difference = check.check(made)
    assert difference is not None
    assert difference.number == at + 1
    assert "BAD_RANGE" in str(difference)


def test_check_names_a_swapoff_with_slots_in_use():
    made = stream.generate(stream.Shape(seed=5, ops=20000))
    offs = [i for i, r in enumerate(made.records) if r.op == Op.SWAPOFF]
    at = next(i for i in offs if made.records[i - 1].op == Op.FREE and made.records[i - 1].type == made.records[i].type)
    del made.records[at - 1]
    difference = check.check(made)
    assert difference is not None
    assert difference.number == at - 1
    assert "slots in use" in str(difference)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ops": 0}, "ops is 0"),
        ({"devices": 33}, "devices is 33: choose 1 to 32"),
        ({"cpus": 0}, "cpus is 0"),
        ({"clusters": 10, "span": 11}, "span is 11: choose 1 to the number of clusters, 10"),
        ({"features": frozenset(["zoned"])}, "a stream cannot have zoned: choose of discard"),
    ],
)
def test_impossible_shapes_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        stream.Shape(**({"seed": 1, "ops": 10} | changes))
