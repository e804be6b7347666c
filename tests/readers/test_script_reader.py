# SPDX-License-Identifier: Apache-2.0
"""The harness's reader of scripts, with sanitizers, on scripts that are damaged in any way."""

import gzip
import subprocess
from pathlib import Path

import pytest
from hwswap.project import paths
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

FOLDER = Path(__file__).parent
PROGRAM = paths.BUILD / "readers" / "read-scripts"
WHOLE = (FOLDER / "every-word.script").read_bytes()

DAMAGED = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

WORDS = st.sampled_from(
    [b"", b"-1", b"0x", b"0xg", b"08", b"1e3", b"18446744073709551615", b"18446744073709551616", b"put", b"together"]
    + [b"memory", b"note", b"\x00", b"\xff\xfe", b"3", b"0x7", b"put 8", b"\n", b"\r", b"99999999999999999999999"]
)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A script with some of its words, lines or bytes changed, or cut short; compressed or not."""
    lines = WHOLE.split(b"\n")
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
    if draw(st.booleans()):
        squeezed = bytearray(gzip.compress(bytes(data), 1, mtime=0))
        if draw(st.booleans()):
            squeezed[draw(st.integers(0, len(squeezed) - 1))] ^= 1 << draw(st.integers(0, 7))
        if draw(st.integers(0, 3)) == 0:
            del squeezed[draw(st.integers(0, len(squeezed))) :]
        data = squeezed
    return bytes(data)


def said_of(path: Path, data: bytes) -> str:
    """Return what the reader says of a script."""
    path.write_bytes(data)
    # As bytes: a line of the script is quoted as it is, and text would turn its carriage returns into ends of lines.
    done = subprocess.run([PROGRAM, path], capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode(errors="replace").removesuffix("\n")


@pytest.fixture(scope="module", autouse=True)
def program() -> None:
    subprocess.run(["make", "-s", "-C", FOLDER, f"OUT={PROGRAM.parent}", PROGRAM], check=True)


def test_the_whole_script_is_read_and_each_line_cut_short_is_refused(tmp_path: Path) -> None:
    assert said_of(tmp_path / "script", WHOLE) == "read"
    lines = WHOLE.rstrip().split(b"\n")
    for number, line in enumerate(lines):
        words = line.split(b" ")
        if len(words) > 1 and words[0] != b"note" and not (words[0] == b"memory" and len(words) == 3):
            cut = [*lines[:number], b" ".join(words[:-1]), *lines[number + 1 :]]
            assert f":{number + 1}: " in said_of(tmp_path / "script", b"\n".join(cut)), line


@DAMAGED
@given(data=damaged())
def test_a_damaged_script_is_read_or_refused(tmp_path: Path, data: bytes) -> None:
    said = said_of(tmp_path / "script", data)
    assert said == "read" or said.startswith("refused: "), said
    assert "\n" not in said


@DAMAGED
@given(data=st.binary(max_size=200))
def test_any_bytes_behind_a_first_line(tmp_path: Path, data: bytes) -> None:
    said = said_of(tmp_path / "script", b"memory 4096\n" + data)
    assert said == "read" or said.startswith("refused: "), said
