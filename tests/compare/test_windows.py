# SPDX-License-Identifier: Apache-2.0
"""Windows of readahead in traces: from the tracepoint's text to the comparison with the golden model."""

import pytest
import tracepoint_text
from hwswap.cli.main import main
from hwswap.compare import check
from hwswap.kernel import convert, ftrace
from hwswap.model.readahead import Readahead
from hwswap.traces import trace
from hwswap.traces.records import Op, Record
from hwswap.traces.trace import TraceError
from tracepoint_text import SSD, text

ON = [trace.prepare(1, 1000, SSD, -1), trace.swapon(1)]
FAULTS = [(600, 0, 3), (601, 0, 3), (604, 2, 3), (609, 3, 3), (999, 9, 5), (999, 0, 0), (3, 4, 2), (700, 0, 2)]


def windows(cpu: int = 0) -> list[Record]:
    """Return the records of a kernel that follows the rule."""
    state = Readahead(44, 2)
    records = []
    for offset, hits, page_cluster in FAULTS:
        before = state.previous, state.last
        window = state.window(offset, hits, page_cluster, 1000)
        records += trace.readahead(cpu, 1, offset, page_cluster, hits, False, before, *window)
    return records


def recorded(records: list[Record], cpus: int = 1) -> trace.Trace:
    trace.validate(records, cpus)
    return tracepoint_text.recorded(records, cpus)


def test_the_event_becomes_two_records():
    lines = text(
        f"0 77 device_on type=1 max=1000 pages=999 prio=-1 flags={SSD}",
        "1 77 readahead type=1 offset=17 page_cluster=3 hits=2 prev_offset=9 prev_pages=4 start=16 nr=4",
        "0 77 readahead type=1 offset=17 page_cluster=4 hits=7 prev_offset=9 prev_pages=4 start=16 nr=16 fixed=1",
        "0 77 device_off type=1 stage=0",
        "0 77 device_off type=1 stage=1",
    )
    records, cpus = ftrace.parse(lines)
    assert cpus == 2
    assert records[2:6] == [
        Record(Op.READAHEAD_STATE, 1, 0, 1, 9, 4, 2),
        Record(Op.READAHEAD, 1, 3, 1, 17, 16, 4),
        Record(Op.READAHEAD_STATE, 0, 1, 1, 9, 4, 7),
        Record(Op.READAHEAD, 0, 4, 1, 17, 16, 16),
    ]
    outcome = check.replay(recorded(records, cpus))
    assert (outcome.difference, outcome.decisions) == (None, 2)


def test_windows_are_compared_one_after_the_other(tmp_path, capsys):
    made = recorded(ON + windows())
    assert trace.version_of(made.records) == 4
    assert made.windows
    assert not made.detailed
    path = tmp_path / "a.hwst.gz"
    trace.write(path, made.header, made.records)
    assert trace.read(path) == made
    assert main(["trace", "check", str(path)]) == 0
    assert f"all {len(FAULTS)} decisions are equal" in capsys.readouterr().out


@pytest.mark.parametrize("number", range(len(FAULTS)))
def test_a_window_that_is_another_is_found(number):
    records = ON + windows()
    at = 3 + 2 * number
    assert records[at].op == Op.READAHEAD
    offset, first, nr = records[at].a, records[at].b, records[at].c
    other = (first - 1, 2) if nr == 1 else (first + (offset > first), nr - 1)
    records[at] = records[at]._replace(b=other[0], c=other[1])
    difference = check.replay(recorded(records)).difference
    assert difference is not None
    assert difference.number == at
    assert f"the trace has {other[1]} slots from {other[0]} on, the model {nr} slots from {first} on" in str(difference)


def test_on_one_cpu_each_window_leaves_its_state_to_the_next():
    records = ON + windows()
    records[6] = records[6]._replace(a=records[6].a + 1000)  # too far to matter for the window itself
    difference = check.replay(recorded(records)).difference
    assert difference is not None
    assert difference.number == 6
    assert "offset 1601 and 2 slots before, the model offset 601 and 2 slots before" in str(difference)


def test_on_several_cpus_the_state_may_be_anothers():
    records = ON + windows() + windows(1)
    outcome = check.replay(recorded(records, 2))
    assert outcome.difference is None
    assert outcome.decisions == 2 * len(FAULTS)
    assert outcome.forced == {"another CPU made a window meanwhile": 1}


@pytest.mark.parametrize(
    ("records", "message"),
    [
        (windows(), "a READAHEAD_STATE by CPU 0 on device 1"),
        (ON + windows()[1:], "a READAHEAD without READAHEAD_STATE before it"),
        (ON + windows(1), "a READAHEAD_STATE by CPU 1"),
        ([*ON, windows()[0], windows()[1]._replace(a=0)], "around 0, of 1000"),
        ([*ON, windows()[0], windows()[1]._replace(b=601)], "of 1 slots from 601 on, around 600"),
        ([*ON, windows()[0], windows()[1]._replace(c=513)], "of 513 slots"),
        ([*ON, windows()[0], windows()[1]._replace(order=10)], "page_cluster 10"),
        ([*ON, windows()[0]._replace(order=2)], "of policy 2"),
        ([*ON, windows()[0]._replace(b=513)], "513 slots before"),
    ],
)
def test_what_makes_no_sense_is_refused(records, message):
    with pytest.raises(TraceError, match=message):
        trace.validate(records, 1)


def test_windows_can_be_left_out():
    assert convert.plain(recorded(ON + windows())).records == ON
