# SPDX-License-Identifier: Apache-2.0
"""Windows that a kernel's cluster readahead chose: the golden model chooses the same."""

from collections import Counter
from pathlib import Path

import pytest
from hwswap.compare import check
from hwswap.model.readahead import Readahead
from hwswap.traces import trace
from hwswap.traces.records import Op

PATH = Path(__file__).parents[1] / "data/readahead/readahead.hwst.gz"


@pytest.fixture(scope="module")
def recorded() -> trace.Trace:
    return trace.read(PATH)


def test_the_model_chooses_the_kernels_windows(recorded):
    assert recorded.header.kind == "recorded"
    assert recorded.header.kernel.startswith("7.3")
    outcome = check.replay(recorded)
    assert outcome.difference is None, str(outcome.difference)
    assert outcome.decisions > 10_000
    assert not outcome.forced


def test_all_kinds_of_windows_are_there(recorded):
    """Each page_cluster, each size, windows that are cut at either end, both devices, and those of a fixed size."""
    clusters, sizes, cut, types, fixed = Counter(), Counter(), Counter(), Counter(), Counter()
    ends = {record.type: record.a for record in recorded.records if record.op == Op.PREPARE}
    for state, record in zip(recorded.records, recorded.records[1:], strict=False):
        if record.op == Op.READAHEAD:
            (fixed if state.order else clusters)[record.order] += 1
            sizes[record.c] += 1
            types[record.type] += 1
            cut["start"] += record.b == 1 and record.c > 1
            cut["end"] += record.b + record.c == ends[record.type] and record.c > 1
    assert set(clusters) == set(range(10))
    assert {1 << i for i in range(10)} <= set(sizes)
    assert min(cut["start"], cut["end"]) > 0
    assert min(types[0], types[1]) > 1000
    assert fixed[3] > 10


@pytest.mark.parametrize("part", ["adjacent", "half of the last", "hits"])
def test_each_part_of_the_rule_mattered(recorded, part, monkeypatch):
    """A model without it chooses another window somewhere."""
    window = Readahead.window

    def other(self, offset, hits, page_cluster, end, policy):
        if part == "adjacent" and not hits and abs(offset - self.previous) == 1:
            self.previous = offset - 2
        elif part == "half of the last":
            self.last = 0
        elif part == "hits":
            hits = min(hits, 1)
        return window(self, offset, hits, page_cluster, end, policy)

    monkeypatch.setattr(Readahead, "window", other)
    difference = check.replay(recorded).difference
    assert difference is not None
    assert "slots from" in str(difference)
