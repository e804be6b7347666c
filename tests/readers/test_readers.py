# SPDX-License-Identifier: Apache-2.0
"""Readers of traces and of scripts on files that are damaged in any way: they read them or refuse them in one sentence.

The reader of traces in Python (hwswap.traces.trace) and those of the harness in C++, the latter with sanitizers; and
the commands that take a trace. A trace of a version that both know and that Python reads, C++ reads too; it checks
less.
"""

import gzip
import json
import struct
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hwswap.cli.main import main
from hwswap.project import paths
from hwswap.traces import stream, trace
from hwswap.traces.records import Op, Record, TraceError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

FOLDER = Path(__file__).parent
PROGRAM = paths.BUILD / "readers" / "reader"
SCRIPT = (FOLDER / "every-word.script").read_bytes()
PREFIX = struct.Struct("<8sII")
RECORD = 16
SMALL = 4096
"""Clusters up to which a damaged trace is given to the golden model, which makes them all."""

DAMAGED = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@cache
def whole(*features: str) -> bytes:
    """Return random operations as a trace, not compressed: of version 1, or with features of version 2."""
    shape = stream.Shape(seed=7, ops=60, devices=2, cpus=2, clusters=16, span=4, features=frozenset(features))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "whole.hwst"
        trace.write(
            path, trace.Header("recorded", "7.3.4", "test", "streamed", None, 4), stream.generate(shape).records
        )
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
def squeezed(draw: st.DrawFn, data: bytes) -> bytes:
    """Data as they are, or compressed, and the compressed form damaged or not."""
    if not draw(st.booleans()):
        return data
    result = bytearray(gzip.compress(data, 1, mtime=0))
    if draw(st.booleans()):
        result[draw(st.integers(0, len(result) - 1))] ^= 1 << draw(st.integers(0, 7))
    if draw(st.integers(0, 3)) == 0:
        del result[draw(st.integers(0, len(result))) :]
    return bytes(result)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A trace with some of its fields, bytes or ends changed; compressed or not, the compressed form damaged, too."""
    base = whole(*draw(st.sampled_from(((), ("discard", "indexed")))))
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
    return draw(squeezed(bytes(data)))


def read(path: Path) -> trace.Trace | None:
    """Read a trace in Python; None if it was refused, in one sentence that names the file."""
    try:
        return trace.read(path)
    except TraceError as error:
        assert str(error).startswith(f"{path}: ")
        assert "\n" not in str(error)
        return None


def read_by_harness(path: Path, kind: str = "traces") -> str:
    """Return the output of a reader in C++."""
    done = subprocess.run([PROGRAM, kind, path], capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    # As bytes: a line of a script is quoted as it is, and text would turn its carriage returns into ends of lines.
    said = done.stdout.decode(errors="replace").removesuffix("\n")
    assert "\n" not in said
    return said


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
        # The two do not take the same damaged gzip headers (reserved flags).
        path.write_bytes(gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data)
        said = read_by_harness(path)
        assert said == "read", said


@pytest.mark.parametrize(
    ("version", "record", "said"),
    [
        (2, trace.node(1, 15), "read"),
        (1, trace.node(1, 15), "operation 11 is unknown"),
        (2, Record(Op.BEGIN, 0, 0, 0), "operation 32 is unknown"),
        (2, trace.node(4, 1), "there is no CPU 4"),
        (1, trace.alloc(4, 0, None), "CPU 4 is beyond"),
        (1, trace.alloc(0, 10, None), "order 10 is above 9"),
        (1, trace.swapon(2), "device 2 is beyond"),
        (1, trace.free(0, 0, 510, 4), "not inside one cluster"),
        (1, trace.free(0, 0, (1 << 32) - 1, 2), "not inside one cluster"),
        (1, trace.prepare(0, 10, 0, 40_000), "priority 40000 does not fit"),
    ],
)
def test_a_record_is_refused_by_the_harness(tmp_path: Path, version: int, record: Record, said: str) -> None:
    """Whoever replays a file by hand has no reader in Python before it."""
    fields = {"format": trace.FORMAT, "cpus": 4, "devices": 2, "clusters": 16, "counts": {"records": 1}}
    text = json.dumps(fields).encode()
    path = tmp_path / "trace.hwst"
    path.write_bytes(PREFIX.pack(trace.MAGIC, version, len(text)) + text + struct.pack("<BBBBIIi", *record))
    assert said in read_by_harness(path)


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
    assert status in (0, 1, 2), said
    if found is None:
        assert status == 2
        assert len(said.err.strip().splitlines()) == 1, said.err


# Scripts

WORDS = st.sampled_from(
    [b"", b"-1", b"0x", b"0xg", b"08", b"1e3", b"18446744073709551615", b"18446744073709551616", b"put", b"together"]
    + [b"memory", b"note", b"\x00", b"\xff\xfe", b"3", b"0x7", b"put 8", b"\n", b"\r", b"99999999999999999999999"]
)


@st.composite
def damaged_script(draw: st.DrawFn) -> bytes:
    """A script with some of its words, lines or bytes changed, or cut short; compressed or not."""
    lines = SCRIPT.split(b"\n")
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(lines) - 1))
        words = lines[at].split(b" ")
        how = draw(st.sampled_from(("word", "more", "without", "twice")))
        if how == "word":
            words[draw(st.integers(0, len(words) - 1))] = draw(WORDS)
        elif how == "more":
            words.append(draw(WORDS))
        lines[at] = b" ".join(words)
        if how == "without" and len(lines) > 1:
            del lines[at]
        elif how == "twice":
            lines.insert(at, lines[at])
    data = bytearray(b"\n".join(lines))
    if data and draw(st.integers(0, 3)) == 0:
        data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    if draw(st.integers(0, 3)) == 0:
        del data[draw(st.integers(0, len(data))) :]
    return draw(squeezed(bytes(data)))


def said_of_script(path: Path, data: bytes) -> str:
    """Return the reader's output on a script."""
    path.write_bytes(data)
    return read_by_harness(path, "scripts")


def test_the_whole_script_is_read_and_each_line_cut_short_is_refused(tmp_path: Path) -> None:
    assert said_of_script(tmp_path / "script", SCRIPT) == "read"
    lines = SCRIPT.rstrip().split(b"\n")
    for number, line in enumerate(lines):
        words = line.split(b" ")
        if len(words) > 1 and words[0] != b"note" and not (words[0] == b"memory" and len(words) == 3):
            cut = [*lines[:number], b" ".join(words[:-1]), *lines[number + 1 :]]
            assert f":{number + 1}: " in said_of_script(tmp_path / "script", b"\n".join(cut)), line


@DAMAGED
@given(data=damaged_script() | st.binary(max_size=200).map(lambda data: b"memory 4096\n" + data))
def test_a_damaged_script_is_read_or_refused(tmp_path: Path, data: bytes) -> None:
    """One of every word, or any bytes behind a first line."""
    said = said_of_script(tmp_path / "script", data)
    assert said == "read" or said.startswith("refused: "), said
