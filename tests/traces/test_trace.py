# SPDX-License-Identifier: Apache-2.0
"""Trace files: records written are read again, and errors are named in one sentence."""

import gzip
import json
import struct

import pytest
from allocators import SSD
from hwswap.traces import trace
from hwswap.traces.trace import Op, Record, TraceError

RECORDS = [
    trace.prepare(2, 1000, SSD, -1),
    trace.bad(2, 9, 3),
    trace.swapon(2),
    trace.alloc(1, 0, (2, 1)),
    trace.alloc(0, 9, None),
    trace.free(0, 2, 1, 1),
    trace.swapoff_begin(2),
    trace.swapoff(2),
]


def header(**changes):
    values = {"kind": "recorded", "kernel": "7.3.4", "source": "test", "workload": "by hand", "seed": None, "cpus": 2}
    return trace.Header(**(values | changes))


def raw(records=RECORDS, version=1, magic=b"HWSWAPTR", **changes) -> bytes:
    """Return an uncompressed trace with single header fields changed (None: taken out)."""
    whole = trace.complete(header(), list(records))
    fields = dict(vars(whole.header))
    for name, value in changes.items():
        if value is ...:
            del fields[name]
        else:
            fields[name] = value
    text = json.dumps(fields).encode()
    body = b"".join(struct.pack("<BBBBIIi", *record) for record in records)
    return struct.pack("<8sII", magic, version, len(text)) + text + body


@pytest.mark.parametrize("name", ["a.hwst", "a.hwst.gz"])
def test_what_is_written_is_read_again(tmp_path, name):
    path = tmp_path / name
    trace.write(path, header(seed=5, commits={"hwswap": "0123"}), RECORDS)
    again = trace.read(path)
    assert again.records == RECORDS
    assert again.header.seed == 5
    assert again.header.commits == {"hwswap": "0123"}
    assert again.header.devices == 3
    assert again.header.clusters == 2
    assert again.header.counts["alloc"] == 2
    assert again.header.counts["alloc_failed"] == 1
    assert path.read_bytes().startswith(b"\x1f\x8b") == name.endswith("gz")
    assert list(tmp_path.iterdir()) == [path]


def test_a_header_can_be_read_alone(tmp_path):
    path = tmp_path / "a.hwst.gz"
    trace.write(path, header(seed=5), RECORDS)
    assert trace.read_header(path) == trace.read(path).header
    # Damaged records are not noticed, as nobody looks at them; a damaged header is.
    path.write_bytes(gzip.compress(raw()[:-1]))
    assert trace.read_header(path).counts["records"] == len(RECORDS)
    for data in (raw(), gzip.compress(raw(magic=b"HWSWAPTX")), gzip.compress(raw(cpus=0)), gzip.compress(b"HWSWAP")):
        path.write_bytes(data)
        with pytest.raises(TraceError, match=str(path)):
            trace.read_header(path)


def test_the_same_trace_gives_the_same_bytes(tmp_path):
    trace.write(tmp_path / "a.hwst.gz", header(), RECORDS)
    trace.write(tmp_path / "b.hwst.gz", header(), RECORDS)
    assert (tmp_path / "a.hwst.gz").read_bytes() == (tmp_path / "b.hwst.gz").read_bytes()


def test_records_begin_at_a_multiple_of_16(tmp_path):
    trace.write(tmp_path / "a.hwst", header(), RECORDS)
    assert (tmp_path / "a.hwst").stat().st_size % 16 == 0


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "truncated: 0 bytes are too few"),
        (raw(magic=b"HWSWAPTX"), "not a trace"),
        (raw(version=5), "version 5; this program reads versions 1, 2 and 4"),
        (raw()[:40], "the header shall have"),
        (raw()[:-1], "the last record has 15 of 16 bytes"),
        (raw()[:-16], "the header counts 8 records, the file has 7"),
        (gzip.compress(raw())[:-20], "cut off or damaged"),
        (b"\x1f\x8b" + bytes(30), "cut off or damaged"),
        (struct.pack("<8sII", b"HWSWAPTR", 1, 4) + b"{,,}", "not JSON"),
        (struct.pack("<8sII", b"HWSWAPTR", 1, 2) + b"[]", "format is not hwswap-trace"),
        (struct.pack("<8sII", b"HWSWAPTR", 1, 1 << 31), "truncated"),
        (raw(format="other"), "format is not hwswap-trace"),
        (raw(kernel=...), "lacks kernel"),
        (raw(cpus="2"), "cpus has the wrong type"),
        (raw(cpus=0), "cpus is 0"),
        (raw(devices=33), "devices is 33"),
        (raw(devices=2), "devices is 2, the records need 3"),
        (raw(clusters=-1), "clusters is -1"),
        (raw(clusters=1), "clusters is 1, the records need 2"),
        (raw(seed="5"), "seed has the wrong type"),
        (raw(commits={"hwswap": 5}), "commits holds something other than str"),
        (raw(counts={}), "the header counts None records"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path, data, message):
    path = tmp_path / "bad.hwst"
    path.write_bytes(data)
    with pytest.raises(TraceError, match=message) as error:
        trace.read(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(TraceError, match="No such file"):
        trace.read(tmp_path / "none.hwst")


PREPARED, ON = RECORDS[:1], RECORDS[:3]


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([trace.Record(12, 0, 0, 0)], "record 0: unknown op 12"),
        ([trace.swapon(1)], "a SWAPON of device 1, which is not there"),
        ([*PREPARED, *PREPARED], "a PREPARE of device 2, which is prepared"),
        ([*ON, trace.swapon(2)], "a SWAPON of device 2, which is on"),
        ([*ON, trace.swapoff(2)], "a SWAPOFF of device 2, which is on"),
        ([*ON, trace.bad(2, 50, 1)], "a BAD on device 2, which is on"),
        ([*PREPARED, trace.free(0, 2, 1, 1)], "a FREE on device 2, which is prepared"),
        ([*PREPARED, trace.bad(2, 0, 1)], "not inside one cluster"),
        ([*ON, trace.free(0, 2, 500, 20)], "not inside one cluster"),
        ([*ON, trace.free(0, 2, 990, 20)], "not inside one cluster"),
        ([*ON, trace.free(0, 2, 9, 0)], "not inside one cluster"),
        ([*ON, trace.alloc(2, 0, (2, 1))], "an ALLOC by CPU 2"),
        ([*ON, trace.alloc(0, 10, (2, 1))], "of order 10"),
        ([*ON, trace.alloc(0, 0, (3, 1))], "slot 1 of device 3"),
        ([*ON, trace.alloc(0, 4, (2, 990))], "slot 990 of device 2"),
        ([*ON, trace.Record(6, 0, 0, 255, 7)], "a failed ALLOC with an offset"),
        ([trace.prepare(0, 1, SSD, 0)], "a PREPARE with 1 slots"),
        ([trace.prepare(0, 100, SSD, 40000)], "priority 40000"),
        ([*ON, trace.discard_take(2, 1024)], "a DISCARD_TAKE of slot 1024"),
        ([*PREPARED, trace.discard_done(2, 512)], "a DISCARD_DONE on device 2, which is prepared"),
        ([Record(Op.POLICY, 0, 0, 0, 3)], "a POLICY that there is not"),
        ([trace.node(2, 1)], "a NODE of CPU 2"),
        ([trace.node(0, 16)], "with number 16"),
        ([trace.prepare(0, 100, SSD, 0, 16)], "a PREPARE with device 0, CPU 16"),
        ([*ON, Record(Op.BEGIN, 0, 0, 0, c=2)], "a BEGIN of operation 2, the next is 1"),
        ([*ON, Record(Op.VISIT, 0, 0, 2, c=1)], "a VISIT of operation 1, which has not begun"),
        ([Record(Op.VISIT, 0, 0, 2)], "a VISIT on device 2, which is not there"),
        ([*ON, Record(Op.ISOLATE, 0, 0, 2, 2, 1)], "a ISOLATE of cluster 2 of device 2, which has 2"),
        ([*ON, Record(Op.MOVE, 0, 0, 2, 1, 6)], "a MOVE with flag 6"),
        ([*ON, Record(Op.SCANNED, 0, 3, 2, 1024)], "a SCANNED at slot 1024"),
        ([Record(16, 0, 0, 2)], "record 0: unknown op 16"),
    ],
)
def test_records_that_make_no_sense_are_refused(tmp_path, records, message):
    with pytest.raises(TraceError, match=message):
        trace.write(tmp_path / "a.hwst", header(), records)
    assert list(tmp_path.iterdir()) == []


def test_clusters_are_claimed_first_fit():
    clusters = trace.ClusterMap()
    assert clusters.claim(0, 512) == 0
    assert clusters.claim(1, 513) == 1
    assert clusters.claim(2, 512) == 3
    clusters.release(1)
    assert clusters.claim(3, 1025) == 4
    assert clusters.claim(4, 1000) == 1
    assert clusters.needed == 7
