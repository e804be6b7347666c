# SPDX-License-Identifier: Apache-2.0
from collections import Counter

import pytest
from hwswap.verify import rtl_coverage
from hwswap.verify.code_coverage import CoverageError, Point, Waiver, read_counts, read_waivers, summarise
from hwswap.verify.functional_coverage import Functional

VERILOG = "// text\nmodule Inner(\n  input a\n);\nendmodule\n\nmodule Outer(\n  input b\n);\nendmodule\n".splitlines()


def line(count, **fields):
    text = "".join(f"\x01{name}\x02{value}" for name, value in fields.items())
    return f"C '{text}' {count}\n"


def test_points_of_several_instances_and_files_are_added_up(tmp_path):
    path = tmp_path / "a.dat"
    path.write_text(
        "# SystemC::Coverage-3\n"
        + line(0, f="a.sv", l=3, n=3, page="v_toggle/Inner", o="a[0]", h="top.x")
        + line(2, f="a.sv", l=3, n=3, page="v_toggle/Inner", o="a[0]", h="top.y")
        + line(0, f="a.sv", l=8, n=5, page="v_line/Outer", o="block", h="top")
    )
    counts = read_counts(VERILOG, [path, path])
    assert counts == {Point("toggle", "Inner", 3, "a[0]"): 4, Point("line", "Outer", 8, "block at column 5"): 0}


def test_a_file_that_is_no_coverage_file_is_refused(tmp_path):
    path = tmp_path / "a.dat"
    path.write_text("something else\n")
    with pytest.raises(CoverageError, match="no coverage file"):
        read_counts(VERILOG, [path])


def test_what_is_waived_counts_in_neither_number_and_an_idle_waiver_is_named():
    counts = Counter({Point("line", "A", 1, "x"): 0, Point("line", "A", 2, "y"): 1, Point("toggle", "B", 3, "z"): 0})
    # The first is needed; y is reached, and z is not there.
    waivers = [Waiver("line", "A", what, reason) for what, reason in (("x", "cannot be"), ("y", "is"), ("z", "was"))]
    summary = summarise(counts, waivers)
    assert (summary.total("line"), summary.total("toggle")) == ((1, 1), (0, 1))
    assert (summary.percent("line"), summary.percent("toggle"), summary.percent("user")) == (100, 0, 100)
    assert summary.missed == [Point("toggle", "B", 3, "z")]
    assert summary.waived == {"cannot be": 1}
    assert [waiver.reason for waiver in summary.idle_waivers] == ["is", "was"]


def test_a_waived_point_that_is_reached_is_named_and_counts():
    reached, not_reached = Point("toggle", "A", 1, "x[1]"), Point("toggle", "A", 1, "x[2]")
    waivers = [Waiver("toggle", "A", r"x\[\d\]", "x is always 0")]
    summary = summarise(Counter({reached: 3, not_reached: 0}), waivers)
    assert summary.refuted == {"x is always 0": [reached]}
    assert summary.total("toggle") == (1, 1)
    assert (summary.missed, summary.idle_waivers, summary.waived) == ([], [], {"x is always 0": 1})


def test_coverage_fails_on_a_waived_point_that_is_reached(tmp_path, capsys):
    point = Point("toggle", "A", 7, "x[1]:0->1")
    for waivers, status in (([], 0), ([Waiver("toggle", "A", "x.*", "x is always 0")], 1)):
        summary = summarise(Counter({point: 1}), waivers)
        assert rtl_coverage.report(summary, Functional(), True, tmp_path) == status
    assert "because x is always 0: toggle A 7 x[1]:0->1" in capsys.readouterr().err


def test_a_waiver_without_a_reason_is_refused(tmp_path):
    path = tmp_path / "waivers.toml"
    path.write_text('[[waiver]]\nmodule = "A"\n')
    with pytest.raises(CoverageError, match="reason"):
        read_waivers(path)
