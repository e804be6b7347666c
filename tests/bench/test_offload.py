# SPDX-License-Identifier: Apache-2.0
"""Results of `make bench-offload` from the lines of its guests, and targets that are missed."""

import json

import pytest
from hwswap.bench import fallbacks, offload, offload_targets
from hwswap.bench.targets import Target
from hwswap.guest.qemu import GuestError


def line(state: str, op: str, order: int, cost: int, n: int = 10, failed: int = 0) -> str:
    """Return a line of the bench in which each call costs the same."""
    figures = dict.fromkeys(("min", "p50", "avg", "p99", "p999", "max", "all"), cost)
    return f"@bench {state} 20000 " + json.dumps({"op": op, "order": order, "n": n, "failed": failed, **figures})


def printed(allocate: int, free: int, fail: int = 430) -> str:
    """Return a guest's output in the short form."""
    lines = []
    for order, *_ in offload.SHORT_RUNS:
        for state in offload_targets.STATES:
            lines += [line(state, "alloc", order, allocate), line(state, "free", order, free)]
    for order, _ in offload.SHORT_FAILS:
        lines += [line("fail", "alloc", order, fail, failed=10), line("fail", "free", order, 0, n=0)]
    return "\n".join([*lines, "@verify clusters 256", "@verify kernel 0", "@done"])


def figures(**columns: str) -> offload_targets.Figures:
    return offload.figures(
        {"bench": [e for column, text in columns.items() for e in offload.entries(column, text, (1,), short=True)]}
    )


def missed(targets: list[Target]) -> list[str]:
    return [target.name for target in targets if not target.met]


def test_all_is_met() -> None:
    known = "\n".join(text for text in printed(180, 303).splitlines() if not text.startswith("@bench fail"))
    found = figures(
        unpatched=printed(460, 326),
        tuned=printed(322, 303, fail=430),
        grants=printed(200, 303, fail=200),
        oracle=known,
    )
    assert missed(offload_targets.calls(found)) == []


def test_each_instruction_counts() -> None:
    found = figures(unpatched=printed(460, 326), tuned=printed(323, 304, fail=431), grants=printed(318, 314, fail=216))
    names = missed(offload_targets.calls(found))
    assert [name for name in names if name.startswith("tuned")] == [
        "tuned, free order 0, empty, average",
        "tuned, allocate order 0, 90 % full, average",
        "tuned, allocate order 4, no room, average",
    ]
    assert [name for name in names if name.startswith("grants") and ("order 0, empty" in name or "room" in name)] == [
        "grants, free order 0, empty, average",
        "grants, allocate and free order 0, empty, average",
        "grants, allocate and free order 0, empty, all work",
        "grants, allocate order 4, no room, p99",
    ]
    assert "grants, allocate order 0, 90 % full, p99" in names


def test_grants_save_their_share_of_what_the_oracle_saves() -> None:
    known = "\n".join(text for text in printed(300, 303).splitlines() if not text.startswith("@bench fail"))
    columns = {"unpatched": printed(460, 326), "tuned": printed(322, 303), "oracle": known}
    name = "grants, allocate order 0, empty, of what the oracle saves"
    assert name not in missed(offload_targets.calls(figures(**columns, grants=printed(311, 303))))
    assert name in missed(offload_targets.calls(figures(**columns, grants=printed(312, 303))))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("@verify kernel 0", "@verify kernel 3"),
        (line("fail", "alloc", 4, 430, failed=10), line("fail", "alloc", 4, 430, failed=9)),
        (line("empty", "alloc", 0, 460), line("empty", "alloc", 0, 460, failed=1)),
        (line("50", "free", 0, 326), ""),
    ],
)
def test_what_is_not_as_it_should_be_is_refused(before: str, after: str) -> None:
    text = printed(460, 326)
    assert offload.entries("grants", text, (1,), short=True)
    assert before in text
    with pytest.raises(GuestError, match="grants: "):
        offload.entries("grants", text.replace(before, after), (1,), short=True)


def test_seeds_are_taken_together_and_the_oracle_never_fails() -> None:
    first, second = printed(460, 326), printed(500, 330)
    row = offload.entries("tuned", f"{first}\n{second}", (1, 2), short=True)[0]
    assert {name: row[name] for name in ("n", "avg", "least", "greatest", "max")} == {
        "n": 20,
        "avg": 480,
        "least": 460,
        "greatest": 500,
        "max": 500,
    }
    with pytest.raises(GuestError, match="tuned: "):
        offload.entries("tuned", first, (1, 2), short=True)
    known = "\n".join(text for text in first.splitlines() if not text.startswith("@bench fail"))
    assert len(offload.entries("oracle", known, (1,), short=True)) == len(row_names(known))
    with pytest.raises(GuestError, match="oracle: "):
        offload.entries("oracle", first, (1,), short=True)


def test_a_threads_own_instructions_are_told_by_grant() -> None:
    text = "@thread 0 5 100 6 1000 \n@thread 0 7 50 9 950 \n@thread 4 3 20 3 30 \n"
    assert offload.thread(text) == {0: 600}
    (figure,) = offload.grants({0: 600})
    assert (figure.what, figure.of, figure.value) == ("the thread's own, a grant of order 0", "grants", 600)


def row_names(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("@bench")]


DEVICES, LEVELS = 2, (92, 96)


def entries(seed: int, text: str) -> list[fallbacks.Entry]:
    return fallbacks.entries(seed, DEVICES, fallbacks.runs(seed, DEVICES, LEVELS), text)


def mixed(splits: dict[str, int], mismatches: int = 0, seed: int = 1) -> str:
    """Return a guest's output on the fall-backs, of 1,000 folios of each size."""
    lines = []
    for percent, placement in fallbacks.runs(seed, DEVICES, LEVELS):
        head = f"{placement} {percent}"
        for size in fallbacks.LARGE:
            lines.append(f"@count {head} before {size} 7 3")
            lines.append(f"@count {head} after {size} {1007 - splits[placement]} {3 + splits[placement]}")
        lines += [f"@ticks {head} before 100", f"@ticks {head} after {300 + splits[placement]}"]
        lines.append(f"@mix {head} " + json.dumps({"mismatches": mismatches, "verified_bytes": 4096}))
        lines.append(f"@verify {head} kernel 0")
    return "\n".join(lines)


SPLITS = {
    "linux": 120,
    "devices": 110,
    "wide-8": 30,
    "wide": 1,
    "indexed": 36,
    "open": 2,
    "engine-indexed": 16,
    "engine-open": 2,
}
"""Folios of each size that are split: `indexed` and `wide` are as good as they have to be, `open` is not."""


def judged(found: list[fallbacks.Entry]) -> list[str]:
    """Return the placements that miss a target at 92 % of swap in use."""
    names = missed(offload_targets.fallbacks(fallbacks.rates({"runs": found})))
    return [name.rpartition(", ")[2] for name in names if "92 %" in name]


def test_fallbacks_are_counted_and_judged() -> None:
    found = entries(1, mixed(SPLITS))
    assert fallbacks.rates({"runs": found})[2, 92, "indexed"] == (0.036, 236)
    assert judged(found) == ["open beside wide"]
    long = {"runs": found, "churn": found[:1]}
    *others, last = fallbacks.figures(long)
    assert len(others) == 2 * (2 * len(SPLITS) - len(fallbacks.RTL_PLACEMENTS))
    assert (last.what, last.of, last.value) == ("2 devices, 92 % full, 10,240 MB of churn on two CPUs", "linux", 480)


def test_a_search_that_takes_longer_is_a_missed_target() -> None:
    """It splits no more than it may, but takes more of the system's time than the kernel's own."""
    slow = mixed(SPLITS).replace("@ticks wide 92 after 301", "@ticks wide 92 after 421")
    assert judged(entries(1, slow)) == ["open beside wide", "wide"]
    assert "wide" in judged(entries(1, mixed(SPLITS | {"wide": 2})))


def test_fallbacks_of_several_seeds_are_judged_by_their_mean() -> None:
    """Seed 1 alone misses the target of `open`, seed 2 alone meets it, and so does the mean."""
    first = entries(1, mixed(SPLITS))
    second = entries(2, mixed(SPLITS | {"linux": 400, "indexed": 0, "open": 0}, seed=2))
    assert (judged(first), judged(second), judged(first + second)) == (["open beside wide"], [], [])
    splits = fallbacks.figures({"runs": first + second, "churn": []})[0]
    assert (splits.value, splits.spread["seed 1"], splits.spread["seed 2"]) == (1040, 480, 1600)


def test_the_script_is_told_what_to_run() -> None:
    script = fallbacks.job(1, DEVICES, fallbacks.runs(1, DEVICES, LEVELS))
    assert "DISKS='0:5 1:5'" in script
    assert "\nwide 92 235 117\n" in script
    assert "\nwide 92 235 9000\n" in fallbacks.job(1, DEVICES, fallbacks.runs(1, DEVICES, LEVELS), churn=9000)


def test_a_size_that_was_not_counted_is_refused() -> None:
    assert entries(1, mixed(SPLITS))
    left = ("@count open 92 before 64", "@count open 92 after 64")
    without = "\n".join(line for line in mixed(SPLITS).splitlines() if not line.startswith(left))
    with pytest.raises(GuestError, match="runs; the guest's last words"):
        entries(1, without)


def test_wrong_bytes_are_refused() -> None:
    with pytest.raises(GuestError, match="not what was written"):
        entries(1, mixed(SPLITS, mismatches=1))


@pytest.mark.parametrize("wrong", ["kernel 2", "clusters 128 differences 2"])
def test_bitmaps_that_differ_are_refused(wrong: str) -> None:
    with pytest.raises(GuestError, match="2 bitmap or cluster words"):
        entries(1, mixed(SPLITS).replace("kernel 0", wrong, 1))


def test_without_fallbacks_there_is_nothing_to_judge() -> None:
    assert judged(entries(1, mixed(dict.fromkeys(SPLITS, 0)))) == ["indexed", "wide"]
