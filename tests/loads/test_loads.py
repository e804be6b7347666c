# SPDX-License-Identifier: Apache-2.0
"""The loads, figures from a guest's counters, and refusals. No guest is started."""

import json

import pytest
from hwswap.kernel.record import words_of
from hwswap.loads import catalogue, command
from hwswap.loads.figures import Collected, faults, figures, folios_out, spread


def counters(load: str, run: int, when: str, **values: int) -> str:
    """Return a block of counters as the guest prints it."""
    lines = [f"@counters {load} {run} {when}", *(f"{name} {value}" for name, value in values.items()), "@end"]
    return "\n".join(lines)


def printed(pages: int, mismatches: int = 0, grants: bool = True) -> str:
    """Return a guest's output of two runs of a load; the second has twice as many pages."""
    lines = []
    for run in (0, 1):
        after = {"pswpout": 100 + pages * (run + 1), "pswpin": 50, "swpout_64": 12, "swpout_fallback_64": 4}
        after |= {"usage_usec": 900, "system_usec": 500}
        before = {"pswpout": 100, "pswpin": 50, "swpout_64": 2, "swpout_fallback_64": 1, "system_usec": 100}
        if grants:
            before, after = before | {"grant_units": 0}, after | {"grant_units": 30, "grants_popped": 3}
        said = {"tool": "swapload", "pages_written": 1000, "rounds_ns": 5000, "free_ns": 3000, "mismatches": mismatches}
        lines += [counters("a", run, "before", **before), counters("a", run, "after", **after)]
        lines += [f"@load a {run} {json.dumps(said)}", f"@load a {run} not of ours", f"@verify a {run} kernel 0"]
    return "\n".join([*lines, "@done"])


def collect(text: str) -> Collected:
    collected = Collected()
    for line in text.splitlines():
        collected.feed(line)
    return collected


def test_every_load_has_a_title_and_says_what_it_needs():
    found = catalogue.loads()
    names = {"usemem-sequential", "memhog", "stress-ng-vm", "stress-ng-swap", "redis", "redis-bgsave", "hot-set"}
    assert names <= {load.name for load in found}
    assert {need for load in found for need in words_of(load.script, "needs")} == {"memhog", "redis", "stress-ng"}
    assert set(command.SHORT_LOADS) <= {load.name for load in found}
    assert not any("# needs:" in load.script for load in catalogue.loads(list(command.SHORT_LOADS))), (
        "the short form downloads nothing"
    )


def test_figures_are_differences_of_counters():
    collected = collect(printed(400))
    assert collected.done
    run = collected.runs["a", 0]
    # 10 folios of 16 pages, and the rest single pages.
    assert folios_out(run) == 400 - 160 + 10
    found = figures(run)
    assert found["pages out"] == 400
    assert found["instructions"] == 900_000
    assert found["in the kernel, a page out or in"] == 1000
    assert found["to write a page of the load"] == 5
    assert found["to free a page of the load"] == 3
    assert found["placed by grants"] == 30
    assert (found["fall-backs, 64 kB"], found["fall-backs, 128 kB"]) == (3, None)
    assert figures(collect(printed(400, grants=False)).runs["a", 0])["placed by grants"] is None


def test_median_and_spread_are_over_the_runs():
    collected = collect(printed(400))
    found = spread(figures(collected.runs["a", run]) for run in (0, 1))
    assert found["pages out"] == (600, 400, 800)
    assert found["fall-backs, 128 kB"] is None


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (printed(400), ""),
        (printed(400, mismatches=7), "7 bytes came back wrong"),
        (printed(0), "nothing was swapped out"),
        (printed(400).replace("kernel 0", "kernel 2"), "2 bitmap or cluster words differ from the kernel's tables"),
    ],
)
def test_what_is_a_fault(text, fault):
    found = faults(collect(text).runs)
    assert fault in found[0] if fault else found == []


def test_a_script_without_a_title_is_refused(tmp_path):
    (tmp_path / "x.sh").write_text("true\n")
    with pytest.raises(ValueError, match="no line '# title"):
        catalogue.loads(folder=tmp_path)
