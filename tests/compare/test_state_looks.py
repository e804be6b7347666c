# SPDX-License-Identifier: Apache-2.0
"""Looks at an engine's state: they leave it as it was, and find one that is not the golden model's.

HWSWAP_SEED=n moves the random seed by n.
"""

from collections import OrderedDict

import pytest
from hwswap.compare import operations, state_looks
from hwswap.compare.operations import Asking
from hwswap.traces import stream, trace
from hwswap.traces.records import FIRST, FIRST_STEP, NOT_FIRST, Op, Record
from hwswap.traces.stream import Shape
from hwswap.traces.trace import ClusterMap
from hwswap_map import Flag
from run_seed import SEED


def sequence(seed, ops=1_200, features=frozenset()):
    return stream.generate(Shape(seed, ops, span=8, devices=3, cpus=2, features=features))


def model_of(made):
    return Asking(made.header.devices, made.header.cpus, made.header.clusters)


@pytest.mark.parametrize("features", [frozenset(), stream.EVERYTHING], ids=["linux", "everything"])
def test_a_look_leaves_all_as_it_was(features, tmp_path):
    made = sequence(SEED + 1, features=features)
    looked = state_looks.with_looks(made)
    assert 1 <= len(looked.looks) <= state_looks.LOOKS
    assert looked.clusters > 5
    aside = {at for begin, end in looked.looks for at in range(begin, end)}
    assert [record for at, record in enumerate(looked.trace.records) if at not in aside] == made.records
    trace.write(tmp_path / "a.hwst", looked.trace.header, looked.trace.records)
    model, clusters = model_of(made), ClusterMap()
    for at, record in enumerate(trace.read(tmp_path / "a.hwst").records):
        assert operations.compare(model, clusters, at, record) is None


def a_list(model):
    """Return a device, and a list of it that has two clusters at least."""
    found = ((device, each) for device in model.devices.values() for _, _, each in device.lists() if len(each) > 1)
    return next(found)


def available(model):
    model.available.append(model.available.pop(0))


def a_device_more(model):
    model.available.remove(model.available[-1])


def sequence_of_a_list(model):
    _, clusters = a_list(model)
    clusters.move_to_end(next(iter(clusters)))


def another_list(model):
    device = model.devices[0]
    cluster = next(cluster for cluster in device.clusters if cluster.flag in (Flag.NONFULL, Flag.FRAG))
    model.move(device, cluster, Flag.FRAG if cluster.flag == Flag.NONFULL else Flag.NONFULL)


def order(model):
    device = model.devices[0]
    cluster = next(cluster for cluster in device.clusters if cluster.flag in (Flag.NONFULL, Flag.FRAG))
    device.unlist(cluster)
    cluster.order += 1
    device.list_of(cluster.flag, cluster.order)[cluster.index] = cluster


def slot_used(model):
    cluster = next(cluster for cluster in model.devices[0].clusters if 0 < cluster.count < 511)
    cluster.used |= ~cluster.used & (cluster.used + 1)
    cluster.count += 1


def slot_free(model):
    cluster = next(cluster for cluster in model.devices[0].clusters if 1 < cluster.count < 512)
    cluster.used &= cluster.used - 1
    cluster.count -= 1


def another_slot(model):
    """One in use and one free are exchanged: the count is the same."""
    slot_used(model)
    slot_free(model)


@pytest.mark.parametrize(
    "change",
    [available, a_device_more, sequence_of_a_list, another_list, order, slot_used, slot_free, another_slot],
)
def test_a_state_that_differs_is_found(change):
    """Before a look all is equal; what is changed then is told by the look, not by the next decision."""
    looked = state_looks.with_looks(sequence(7))
    begin, end = looked.looks[0]
    model, clusters = model_of(looked.trace), ClusterMap()
    for at, record in enumerate(looked.trace.records[:begin]):
        assert operations.compare(model, clusters, at, record) is None
    assert len(model.available) > 1
    assert isinstance(model.devices[0].free, OrderedDict)
    change(model)
    found = [
        difference
        for at, record in enumerate(looked.trace.records[begin:end], begin)
        if (difference := operations.compare(model, clusters, at, record))
    ]
    assert found


def test_the_answers_of_steps_are_in_the_sequence_and_compared():
    made = sequence(3)
    model, clusters = model_of(made), ClusterMap()
    for at, record in enumerate(made.records):
        if len(model.available) > 1:
            break
        assert operations.compare(model, clusters, at, record) is None
    first, second = (device.type for device in model.available[:2])
    visit = operations.with_answer(model, Record(Op.STEP_VISIT, 0, 0, second))
    assert visit.a == first + 1
    assert "the answer" in str(operations.compare(model, clusters, 0, visit._replace(a=second + 1)))
    device, members = a_list(model)
    one, other = list(members.values())[:2]
    takes = [
        Record(Op.STEP_TAKE, 0, cluster.order, device.type, cluster.index, cluster.flag) for cluster in (one, other)
    ]
    assert [operations.with_answer(model, take).c for take in takes] == [FIRST, NOT_FIRST]
    wrong = operations.with_answer(model, takes[1])._replace(c=FIRST)
    assert "the answer" in str(operations.compare(model, clusters, 0, wrong))
    assert all(record.op < FIRST_STEP for record in made.records)
