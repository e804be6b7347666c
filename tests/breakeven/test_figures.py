# SPDX-License-Identifier: Apache-2.0
"""The file of figures: complete, and each fault in it is one sentence."""

import copy
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from hwswap.breakeven import figures
from hwswap.breakeven.figures import FigureError

ROOT = Path(__file__).parents[2]
DATA = tomllib.loads(figures.FILE.read_text())


def test_the_file_loads_and_every_figure_has_a_source():
    known = figures.load()
    assert set(known.figures) == set(figures.UNITS)
    assert list(known.links) == ["on-chip", "cxl", "pcie"]
    used = {figure.source for figure in known.figures.values()}
    used |= {its.source for link in known.links.values() for its in (link.round_trip, link.bandwidth)}
    tables = [DATA["turnaround"], DATA["swap_out"], DATA["linux"], *DATA["kernel"].values(), *DATA["soc"].values()]
    tables += [DATA["harts"], DATA["linux_harts"]]
    used |= {table["source"] for table in tables}
    assert used == set(known.sources), "a source that nobody names, or one that is not there"


def test_commits_are_of_this_repository():
    for name, source in figures.load().sources.items():
        if "commit" in source:
            done = subprocess.run(
                ["git", "-C", str(ROOT), "cat-file", "-e", source["commit"]], capture_output=True, check=False
            )
            if done.returncode and "shallow" in done.stderr.decode():
                pytest.skip("the history is not there")
            assert done.returncode == 0, f"source {name}: no commit {source['commit']}"


def test_instructions_are_those_of_the_results():
    """The averages of the table of marks and grants in docs/results.md."""
    text = (ROOT / "docs/results.md").read_text()
    head = "| guest instructions a call, p50 / average / p99 (patch series "
    columns, _, *lines = text[text.index(head) :].splitlines()
    modes = [name.strip() for name in columns.strip("|").split("|")][1:]
    found = {}
    for line in lines:
        row = re.match(r"\| (allocate|free) order (\d), (empty|half full|90 % full) \|(.*)\|$", line)
        if not line.startswith("|"):
            break
        if row:
            for mode, cell in zip(modes, row[4].split("|"), strict=True):
                found[mode, row[3], int(row[2]), row[1]] = float(cell.split(" / ")[1].replace(",", ""))
    known = figures.load().kernel
    assert len(known) == 48
    for (mode, state, order), (allocate, free) in known.items():
        assert (allocate, free) == (found[mode, state, order, "allocate"], found[mode, state, order, "free"])


def test_cycles_of_the_bench_are_those_of_its_page():
    """As long as they are that page's, and not put on record from a run."""
    known = figures.load()
    if "bench-soc" not in known.sources:
        pytest.skip("they are of a run")
    names = {"stock": "stock", "tuned": "tuned", "MMIO": "register"}
    names["table entries alone"] = figures.FLOOR
    text = (ROOT / "docs/bench-soc.md").read_text()
    for cpu, title in (("vexriscv", "VexRiscv"), ("rocket", "Rocket")):
        head, _, *lines = text.split(f"\n{title}:\n\n")[1].splitlines()
        columns = [name.strip() for name in head.strip("|").split("|")][1:]
        found = {}
        for line in lines:
            row = re.match(r"\| (alloc|free)\w* order (\d), (empty|fragmented) \|(.*)\|$", line)
            if not row:
                break
            for column, cell in zip(columns, row[4].split("|"), strict=True):
                if column in names and cell.strip() != "-":
                    found[names[column], row[3], row[1], int(row[2])] = (float(cell.replace(",", "")),)
        # The bench has no hints any more.
        assert {key: cycles for key, cycles in known.socs[cpu].cycles.items() if key[0] != "hint"} == found


def test_linux_on_the_soc_is_that_of_its_page():
    text = (ROOT / "docs/soc.md").read_text()
    for (mode, order), (allocate, free, *medians) in figures.load().linux.items():
        column = {"unpatched": 0, "grants": 1}[mode]
        for op, mean, median in (("allocate", allocate, medians[0]), ("free", free, medians[1])):
            (line,) = re.findall(rf"^\| {op} order {order} \|(.*)\|$", text, re.MULTILINE)
            assert line.split("|")[column].strip() == f"{mean:,.0f} ({median:,.0f})"


def changed(path: str, value: object) -> dict:
    """Return the file with something else at a place; None takes it out."""
    data = copy.deepcopy(DATA)
    *way, last = path.split("/")
    at = data
    for part in way:
        at = at[int(part) if isinstance(at, list) else part]
    if value is None:
        del at[last]
    else:
        at[int(last) if isinstance(at, list) else last] = value
    return data


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("figure/host_clock", None, "figure.host_clock is missing"),
        ("figure/host_clock/value", None, "figure.host_clock.value is missing"),
        ("figure/host_clock/value", -3, "figure.host_clock.value is -3"),
        ("figure/host_clock/value", 0, "above 0"),
        ("figure/host_clock/value", float("nan"), "finite"),
        ("figure/host_clock/value", float("inf"), "finite"),
        ("figure/host_clock/value", True, "has to be a number"),
        ("figure/host_clock/value", "3", "has to be a number"),
        ("figure/host_clock/unit", "MHz", "has to be 'GHz'"),
        ("figure/host_clock/source", "nobody", "no such source"),
        ("figure/free_changes_list/value", 1, "greater than"),
        ("figure/frees_counted/value", 1, "greater than"),
        ("figure/nonsense", {"value": 1}, "figure.nonsense is not known"),
        ("source/host/kind", "guessed", "known are"),
        ("source/host/why", " ", "has no why"),
        ("source/bench-tuned/commit", "latest", "a commit's hash"),
        ("source/bench-tuned/platform", None, "has no platform"),
        ("link/pcie/round_trip/value", -1, "0 or more"),
        ("link/pcie/round_trip/unit", "us", "has to be 'ns'"),
        ("link/pcie/bandwidth/value", 0, "above 0"),
        ("link/pcie/coherent", None, "link.pcie.coherent is missing"),
        ("link/pcie/title", None, "link.pcie.title is missing"),
        ("link", None, "table link is missing"),
        ("turnaround/rows", [[16, 334]], "two latencies"),
        ("turnaround/rows/0", [16], "2 cells"),
        ("turnaround/rows/0", [1_000, 2_000], "has to rise"),
        ("swap_out/rows/0/1", 1, "more than all of the page's way out"),
        ("linux/rows/0/0", "grants", "no unpatched of order 0"),
        ("linux/rows/0/0", "tuned", "known are"),
        ("linux/rows/0/5", 0, "above 0"),
        ("kernel/offload/rows/0/0", "stock", "known are"),
        ("kernel/offload/rows/0/2", 10, "known are"),
        ("kernel/offload/rows/0/3", -1, "above 0"),
        ("kernel/offload/rows/1", ["unpatched", "empty", 0, 462, 328], "twice"),
        ("kernel/offload/rows/0/2", 7, "and not unpatched"),
        ("soc/rocket/latencies", [], "a list of DRAM latencies"),
        ("soc/rocket/latencies", [16, 30], "6 cells"),
        ("soc/rocket/rows", [], "missing or empty"),
    ],
)
def test_a_fault_is_one_sentence(path, value, says):
    data = changed(path, value)
    with pytest.raises(FigureError) as found:
        figures.parse(data)
    assert says in str(found.value)
    assert "\n" not in str(found.value)


def test_what_cannot_be_read_is_said(tmp_path):
    with pytest.raises(FigureError, match="cannot be read"):
        figures.load(tmp_path / "none.toml")
    path = tmp_path / "x.toml"
    path.write_text("a = = b")
    with pytest.raises(FigureError, match="is not TOML"):
        figures.load(path)
    path.write_text(figures.FILE.read_text().replace("value = 3.0", "value = -3.0"))
    with pytest.raises(FigureError, match=re.escape(f"{path}: figure.host_clock.value is -3.0")):
        figures.load(path)
