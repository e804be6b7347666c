# SPDX-License-Identifier: Apache-2.0
"""Making one trace of another: what is left out, what is kept, and what a cut trace begins with."""

from pathlib import Path

import pytest
from hwswap.cli.main import main
from hwswap.compare import check
from hwswap.compare.outcome import Outcome
from hwswap.kernel import convert
from hwswap.traces import stream, trace
from hwswap.traces.records import FIRST_DETAIL, Op, version_of
from tracepoint_text import FIRST, FREES, KINDS, ON, SECOND, Writer, made_of, text

DATA = Path(__file__).parents[1] / "data"


def write(path: Path, made: trace.Trace) -> Path:
    trace.write(path, made.header, made.records)
    return path


@pytest.mark.parametrize("start", [0, 1, 777, 2999])
@pytest.mark.parametrize("features", [(), stream.FEATURES], ids=["plain", "all"])
def test_a_cut_stream_goes_on_as_the_whole_did(start, features):
    """Lists, places, available list, policy and the random trunks' generator: all of it decides what comes."""
    made = stream.generate(stream.Shape(seed=9, ops=3000, span=6, cpus=5, features=frozenset(features)))
    part = convert.cut(made, start)
    trace.validate(part.records, 5)
    outcome = check.replay(part)
    assert outcome.difference is None, str(outcome.difference)
    assert part.records[len(part.records) - (3000 - start) :] == made.records[start:]


@pytest.mark.parametrize("start", [0, 50, 901])
@pytest.mark.parametrize("kinds", KINDS, ids=str)
def test_a_cut_recording_goes_on_as_the_whole_did(start, kinds):
    writer = Writer(11, kinds)
    for _ in writer.run(300):
        pass
    part = convert.cut(writer.trace(), start)
    outcome = check.replay(part)
    assert outcome.difference is None, str(outcome.difference)
    assert outcome.decisions >= 20


@pytest.mark.parametrize("end", [0, 50, 901])
def test_a_recording_can_end_earlier_where_nothing_is_under_way(end):
    writer = Writer(11, KINDS[1])
    for _ in writer.run(300):
        pass
    whole = writer.trace()
    part = convert.until(whole, end)
    kept = len(part.records)
    assert end <= kept < end + 60
    assert part.records == whole.records[:kept]
    counts = [sum(record.op == op for record in part.records) for op in (Op.BEGIN, Op.END)]
    assert counts[0] == counts[1]
    assert check.replay(part).difference is None
    with pytest.raises(trace.TraceError, match="not in the trace"):
        convert.until(whole, len(whole.records) + 1)


def test_what_state_is_lost_makes_a_difference():
    """The cut can fail: without the records of the places some decision changes."""
    made = stream.generate(stream.Shape(seed=9, ops=3000, span=6, cpus=5))
    part = convert.cut(made, 1000)
    for op in (Op.INIT_NEXT, Op.INIT_CLUSTER):
        fewer = [record for record in part.records if record.op != op]
        assert len(fewer) < len(part.records)
        outcome = Outcome()
        try:
            outcome = check.replay(trace.Trace(part.header, fewer))
        except KeyError:  # a cluster that is on no list cannot be taken off it
            continue
        assert outcome.difference is not None


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
        writer = Writer(2, KINDS[1], cached)
        for _ in writer.run(2500):
            pass
        reasons |= set(convert.lost(writer.trace()))
    assert len(reasons) == 3


def test_convert_from_text_and_back_to_the_first_version(tmp_path, capsys):
    source = tmp_path / "trace.txt"
    source.write_text("".join(text(*ON, *FIRST, *SECOND, *FREES)))
    full, first = tmp_path / "a.hwst.gz", tmp_path / "b.hwst"
    assert main(["trace", "convert", str(source), "-o", str(full)]) == 1
    assert "name its kernel with --kernel" in capsys.readouterr().err
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--from", "90000"], "record 90000 is not in the trace, which has 300"),
        (["--from", "-1"], "record -1 is not in the trace"),
    ],
)
def test_what_cannot_be_converted_is_said_in_one_sentence(tmp_path, capsys, arguments, message):
    path = write(tmp_path / "a.hwst", stream.generate(stream.Shape(seed=1, ops=300)))
    assert main(["trace", "convert", str(path), "-o", str(tmp_path / "b.hwst"), *arguments]) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "b.hwst").exists()


def test_a_missing_file_is_said_in_one_sentence(tmp_path, capsys):
    assert main(["trace", "convert", str(tmp_path / "none"), "-o", str(tmp_path / "b.hwst")]) == 1
    assert "No such file" in capsys.readouterr().err


def test_a_trace_that_differs_cannot_be_cut_behind_that(tmp_path):
    made = stream.generate(stream.Shape(seed=1, ops=300))
    at = next(i for i, r in enumerate(made.records) if r.op == Op.ALLOC and r.type != trace.FAILED)
    made.records[at] = made.records[at]._replace(a=made.records[at].a + 1)
    with pytest.raises(trace.TraceError, match="cannot be cut behind a difference"):
        convert.cut(made, 200)
