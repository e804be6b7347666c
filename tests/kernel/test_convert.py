# SPDX-License-Identifier: Apache-2.0
"""Making one trace of another: the records left out, and those kept."""

from pathlib import Path

from hwswap.cli.main import main
from hwswap.compare import check
from hwswap.kernel import convert
from hwswap.traces import trace
from hwswap.traces.records import FIRST_DETAIL, Op, version_of
from tracepoint_text import FIRST, FREES, KINDS, ON, SECOND, Writer, made_of, text

DATA = Path(__file__).parents[1] / "data"


def test_plain_leaves_the_decisions_of_one_cpu_to_a_free_replay():
    found = made_of(text(*ON, *FIRST, *SECOND, *FREES))
    made = convert.plain(found)
    assert version_of(made.records) == 1
    assert [record.op for record in made.records] == [Op.PREPARE, Op.SWAPON, Op.ALLOC, Op.ALLOC, Op.FREE, Op.FREE]
    assert check.replay(made).difference is None
    assert convert.lost(found) == []


def test_what_plain_loses_is_said():
    reasons = set()
    for cached in (False, True):
        reasons |= set(convert.lost(Writer(2, KINDS[1], cached).run(2500)))
    assert len(reasons) == 3


def test_convert_from_text_and_back_to_the_first_version(tmp_path, capsys, refused):
    source = tmp_path / "trace.txt"
    source.write_text("".join(text(*ON, *FIRST, *SECOND, *FREES)))
    full, first = tmp_path / "a.hwst.gz", tmp_path / "b.hwst"
    assert "name its kernel with --kernel" in refused("trace", "convert", source, "-o", full)
    assert main(["trace", "convert", str(source), "-o", str(full), "--kernel", "7.3.4"]) == 0
    assert any(record.op >= FIRST_DETAIL for record in trace.read(full).records)
    assert main(["trace", "convert", str(full), "-o", str(first), "--plain"]) == 0
    assert first.read_bytes()[8] == 1
    assert main(["trace", "check", str(full)]) == 0
    assert main(["trace", "check", str(first)]) == 0
    out = capsys.readouterr().out
    assert "format version 2" in out
    assert "format version 1" in out
    assert out.count("all 2 decisions are equal") == 2


def test_an_old_trace_is_converted_to_itself(tmp_path):
    old = DATA / "random-churn.hwst.gz"
    assert main(["trace", "convert", str(old), "-o", str(tmp_path / "a.hwst.gz")]) == 0
    assert trace.read(tmp_path / "a.hwst.gz") == trace.read(old)
