# SPDX-License-Identifier: Apache-2.0
"""Both readers of traces on files that are damaged in any way: they read them or refuse them in one sentence.

That in Python (hwswap.traces.trace) and that in C++ (the replayer's), the latter with sanitizers; and the commands that
take a trace. What the first reads of the versions that both know, the second reads too: it checks less.
"""

import gzip
import json
import struct
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hwswap.cli.main import main
from hwswap.model.golden import BLKDEV, SOLIDSTATE
from hwswap.project import paths
from hwswap.traces import stream, trace
from hwswap.traces.records import TraceError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

FOLDER = Path(__file__).parent
PROGRAM = paths.BUILD / "readers" / "read-traces"
PREFIX = struct.Struct("<8sII")
RECORD = 16
SMALL = 4096
"""Clusters up to which a damaged trace is given to the golden model, which makes them all."""

DAMAGED = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def by_hand() -> list[trace.Record]:
    """Return records of format version 1."""
    flags = BLKDEV | SOLIDSTATE
    records = [trace.prepare(0, 1000, flags, -1), trace.bad(0, 9, 3), trace.swapon(0), trace.alloc(1, 0, (0, 1))]
    return [*records, trace.alloc(0, 9, None), trace.free(0, 0, 1, 1), trace.swapoff_begin(0), trace.swapoff(0)]


def streamed() -> list[trace.Record]:
    """Return random operations, discards and policies among them: version 2."""
    features = frozenset({"discard", "indexed"})
    shape = stream.Shape(seed=7, ops=60, devices=2, cpus=2, clusters=16, span=4, features=features)
    return stream.generate(shape).records


@cache
def whole(records: Callable[[], list[trace.Record]]) -> bytes:
    """Return records as a trace, not compressed."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "whole.hwst"
        trace.write(path, trace.Header("recorded", "7.3.4", "test", "by hand", None, 4), records())
        return path.read_bytes()


NUMBERS = st.sampled_from([0, 1, 2, 255, 256, 511, 512, 513, 1 << 15, 1 << 16, (1 << 31) - 1, 1 << 31, (1 << 32) - 1])
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(1 << 70), 1 << 70),
    st.floats(),
    st.text(max_size=8),
    st.lists(st.integers(), max_size=3),
    st.dictionaries(st.text(max_size=4), st.integers(), max_size=3),
)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A trace with some of its fields, bytes or ends changed; compressed or not, the compressed form damaged, too."""
    base = whole(draw(st.sampled_from((by_hand, streamed))))
    _, version, length = PREFIX.unpack_from(base)
    text, body = base[PREFIX.size : PREFIX.size + length], bytearray(base[PREFIX.size + length :])
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(body) // RECORD - 1)) * RECORD
        if draw(st.booleans()):
            body[at + draw(st.integers(0, 3))] = draw(st.integers(0, 255))
        else:
            struct.pack_into("<I", body, at + draw(st.sampled_from((4, 8, 12))), draw(NUMBERS))
    if draw(st.integers(0, 3)) == 0:
        fields: dict[str, Any] = json.loads(text)
        where = fields["counts"] if draw(st.booleans()) else fields
        where[draw(st.sampled_from(sorted(where)))] = draw(ODD)
        text = json.dumps(fields).encode()
    claimed = draw(st.one_of(st.just(len(text)), NUMBERS)) if draw(st.integers(0, 7)) == 0 else len(text)
    data = bytearray(PREFIX.pack(trace.MAGIC, version, claimed) + text + body)
    for _ in range(draw(st.sampled_from((0, 0, 0, 1, 4)))):
        data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    if draw(st.integers(0, 3)) == 0:
        del data[draw(st.integers(0, len(data))) :]
    result = bytes(data)
    if draw(st.booleans()):
        squeezed = bytearray(gzip.compress(result, 1, mtime=0))
        if draw(st.booleans()):
            squeezed[draw(st.integers(0, len(squeezed) - 1))] ^= 1 << draw(st.integers(0, 7))
        if draw(st.integers(0, 3)) == 0:
            del squeezed[draw(st.integers(0, len(squeezed))) :]
        result = bytes(squeezed)
    return result


def read(path: Path) -> trace.Trace | None:
    """Read a trace in Python; None if it was refused, in one sentence that names the file."""
    try:
        return trace.read(path)
    except TraceError as error:
        assert str(error).startswith(f"{path}: ")
        assert "\n" not in str(error)
        return None


def read_by_harness(path: Path) -> str:
    """Return what the reader in C++ says."""
    done = subprocess.run([PROGRAM, path], capture_output=True, text=True, timeout=60, check=False, errors="replace")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module", autouse=True)
def program() -> None:
    subprocess.run(["make", "-s", "-C", FOLDER, f"OUT={PROGRAM.parent}"], check=True)


@DAMAGED
@given(damaged())
def test_a_damaged_trace_is_read_or_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "trace.hwst"
    path.write_bytes(data)
    found, said = read(path), read_by_harness(path)
    assert said == "read" or said.startswith(f"refused: trace {path} "), said
    if found is not None and trace.version_of(found.records) <= 2 and not found.detailed:
        # What the one takes of a damaged gzip header (reserved flags) is not what the other does.
        path.write_bytes(gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data)
        said = read_by_harness(path)
        assert said == "read", said


@DAMAGED
@given(st.binary(max_size=200))
def test_any_bytes_behind_the_magic(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "trace.hwst"
    path.write_bytes(trace.MAGIC + data)
    found, said = read(path), read_by_harness(path)
    assert said == "read" or said.startswith(f"refused: trace {path} "), said
    assert found is None or said == "read"


@pytest.mark.parametrize("text", [b"[" * 100_000, b'{"a":' * 100_000, b"9" * 100_000, b'{"cpus":1e999}', b"\xff\xfe{}"])
def test_a_header_that_is_no_header(tmp_path: Path, text: bytes) -> None:
    """Nested deeply, a number of many digits, infinite, not UTF-8."""
    path = tmp_path / "trace.hwst"
    path.write_bytes(PREFIX.pack(trace.MAGIC, 1, len(text)) + text)
    assert read(path) is None
    assert read_by_harness(path).startswith("refused: ")


@DAMAGED
@given(data=damaged(), command=st.sampled_from(("info", "check", "convert")))
def test_commands_end_in_one_sentence(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], data: bytes, command: str
) -> None:
    """Exit status 0, or another one and a line that says why."""
    path = tmp_path / "trace.hwst"
    path.write_bytes(data)
    found = read(path)
    if command == "check" and found is not None and trace.clusters_needed(found.records) > SMALL:
        return
    capfd.readouterr()
    more = ["-o", str(tmp_path / "out.hwst")] if command == "convert" else []
    status = main(["trace", command, str(path), *more])
    said = capfd.readouterr()
    assert status in (0, 1), said
    if found is None:
        assert status == 1
        assert len(said.err.strip().splitlines()) == 1, said.err


@DAMAGED
@given(
    st.lists(
        st.sampled_from(["trace", "info", "check", "--json", "-h", "--seed", "-1", "", "no/such/file", "²", "\x00"]),
        max_size=5,
    )
)
def test_any_command_line_ends(capfd: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    """Of words that are commands, options and neither."""
    try:
        status = main(arguments)
    except SystemExit as end:
        status = end.code
    said = capfd.readouterr()
    assert status in (0, 1, 2), arguments
    assert status == 0 or said.err, arguments
