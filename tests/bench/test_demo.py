# SPDX-License-Identifier: Apache-2.0
"""Results of `make demo` from its guest's counts."""

import json
from collections.abc import Callable

import pytest
from hwswap.bench import demo, demo_table

STILL = dict.fromkeys(("swpout_fallback_64", "swpout_fallback_2048", "grants_refused_place"), 0)


def collected(units: int = 840, refused: int = 4, differences: int = 0, wrong: int = 0) -> demo.Collected:
    """Return the counts of both phases with grants, and the comparison at the end: 354 allocations, 200 grants."""
    before = {"pswpout": 1000, "allocations": 100, "pswpin": 10, "swpout_64": 3, "swpout_2048": 1}
    before |= {"grant_units": 500, "grants_popped": 40, "grants_refused_epoch": 2, **STILL}
    after = {"pswpout": 2736, "allocations": 454, "pswpin": 20, "swpout_64": 27, "swpout_2048": 3}
    after |= {"grant_units": units, "grants_popped": 240, "grants_refused_epoch": refused, **STILL}
    found = demo.Collected()
    for phase in ("hint", "fragmented-hint"):
        lines = []
        for when, counters in (("before", before), ("after", after)):
            lines += [f"@counters {phase} {when}", *(f"{name} {value}" for name, value in counters.items()), "@end"]
        load = json.dumps({"mismatches": wrong, "verified_bytes": 4096})
        for line in (*lines, f"@verify {phase} clusters 128 differences {differences}", f"@load {phase} {load}"):
            found.feed(line)
    found.feed("@verify end clusters 128 differences 0")
    return found


def missed(found: demo.Collected) -> list[str]:
    return [check.text for check in demo.check(found) if not check.passed]


def test_counters_are_told_by_how_far_they_went_up() -> None:
    counts = collected().phases["hint"].counts()
    assert (counts["allocations"], counts["grant_units"], counts["pswpin"]) == (354, 340, 10)


def test_all_conditions_are_met() -> None:
    assert missed(collected()) == []


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: collected(units=836), "94.9 % of the allocations were of grants (at least 95 %)"),
        (lambda: collected(refused=5), "1.50 % of the grants were refused (at most 1 %)"),
        (lambda: collected(differences=1), "bitmaps when quiet: clusters 128 differences 1"),
    ],
)
def test_each_condition_can_be_missed(made: Callable[[], demo.Collected], said: str) -> None:
    assert missed(made()) == [f"{phase}: {said}" for phase in ("hint", "fragmented-hint")]


def test_a_wrong_byte_is_told() -> None:
    (text,) = missed(collected(wrong=1))
    assert text == "every byte verified: 8,192 bytes in 2 loads, 2 wrong"


def bench(averages: dict[tuple[str, str, int], int]) -> dict[str, list[dict[str, object]]]:
    """Return the lines of the kernel's bench in all states: 100 instructions per call but for `averages`."""
    names = [state + name for state in ("", "fragmented-") for name in demo_table.BENCHES]
    return {
        name: [
            {"op": op, "order": order, "n": 9, "failed": 0, "avg": averages.get((name, op, order), 100)}
            for order in (0, 4, 9)
            for op in ("alloc", "free")
        ]
        for name in names
    }


def test_verdict_has_each_column_beside_the_one_before() -> None:
    benches = bench({("off", "alloc", 0): 80, ("hint", "alloc", 0): 100})
    first, second, third = demo_table.verdict(benches, {"linux": 1209, "wide": 3, "indexed": 86}, 9733)
    assert "needs 0.80 of" in first and first.endswith("1.00 to free it.")
    assert "need 1.25 of" in second
    assert "splits 1,209 of 9,733 large folios, a wide search by software 3," in third
    rows = demo_table.bench_table(benches)
    assert [next(iter(list(column.cells))) for column in rows.columns] == [
        "allocate order 0",
        "100",
        "80",
        "0.80",
        "100",
        "1.25",
    ]
