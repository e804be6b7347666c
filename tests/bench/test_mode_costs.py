# SPDX-License-Identifier: Apache-2.0
"""What `make bench-table` makes of the lines of its guests: prices of commands, from devices whose prices are known."""

import pytest
from hwswap.bench import mode_costs
from hwswap.bench.mode_costs import CLUSTER, SEARCHES, SLOTS_A_MB, Collected

WITH_TABLE, WITHOUT_TABLE, IN_USE, ROUND = 21, 12, 80, 900
"""Nanoseconds: of a slot in a cluster with a table and without, of one in use besides, of a round besides."""

COMMAND, ANSWERED, PAIRS = 17_000, 160, 1_000
"""Of a command, of a slot in use that it has found; pairs of rounds."""

LOOK = 3_000_000
"""Nanoseconds that looking takes."""


def software_round(megabytes: int, slots: int, held: int) -> int:
    """Return what a round of software's takes."""
    with_table = CLUSTER * (1 + slots // CLUSTER)
    without = SLOTS_A_MB * megabytes - with_table
    return WITH_TABLE * (with_table - 1) + WITHOUT_TABLE * without + IN_USE * held + ROUND


@pytest.fixture
def collected() -> Collected:
    """Return what a guest with these prices prints."""
    guest = Collected()
    for megabytes, slots in SEARCHES:
        held = slots // 2
        spent = 2 * PAIRS * software_round(megabytes, slots, held)
        labels = f"@search software {megabytes} {slots} {held}"
        guest.feed(f"{labels} first 1000 7")
        guest.feed(f"{labels} second {1000 + LOOK} 17")
        guest.feed(f"{labels} third {1000 + 2 * LOOK + spent} {27 + PAIRS}")
    for megabytes, slots in SEARCHES[:2]:
        held = slots // 2
        clusters = 1 + slots // CLUSTER
        # Behind the last one in use, if that is not the end, it is asked for nothing.
        rest = clusters * CLUSTER - 1 - slots
        searches = clusters + (rest > 0)
        engine_round = searches * COMMAND + ANSWERED * held + WITH_TABLE * rest + ROUND
        spent = PAIRS * (software_round(megabytes, slots, held) + engine_round)
        labels = f"@search engine {megabytes} {slots} {held}"
        guest.feed(f"{labels} first 0 searches_used=0 used_right=0 used_wrong=0")
        guest.feed(f"{labels} second {LOOK} searches_used=9 used_right=3 used_wrong=0")
        counters = f"searches_used={18 + PAIRS * searches} used_right={6 + PAIRS * held} used_wrong=0"
        guest.feed(f"{labels} third {2 * LOOK + spent} {counters}")
    return guest


def test_prices_of_a_search(collected: Collected) -> None:
    found = mode_costs.searches(collected.searches)
    assert found["slot_nsec"] == pytest.approx(WITH_TABLE)
    assert found["slot_without_table_nsec"] == pytest.approx(WITHOUT_TABLE)
    assert found["slot_in_use_nsec"] == pytest.approx(IN_USE)
    assert found["round_nsec"] == pytest.approx(ROUND)
    assert found["slot_answered_nsec"] == pytest.approx(ANSWERED)
    assert found["search_nsec"] == pytest.approx(COMMAND)
    assert found["searches_a_round"] == pytest.approx(4)


def feed_mode(guest: Collected, labels: str, nsec: int, windows: int) -> None:
    """Feed what a guest prints of a swapoff."""
    guest.feed(f"@mode {labels} before 500 10 3 0 0 0")
    guest.feed(f"@mode {labels} after {500 + nsec} 110 90 0 800 0")
    guest.feed(f"@counted {windows} 0 0 0 0 0 ")


def test_price_of_a_window() -> None:
    """By the same mode, threshold and share freed without windows; nothing else is compared with."""
    guest = Collected()
    feed_mode(guest, "off 4 10 50", 1_000_000, 0)
    feed_mode(guest, "scan 4 10 50", 1_100_000, 0)
    feed_mode(guest, "scan 1 10 50", 1_200_000, 0)
    feed_mode(guest, "scan 4 1 50", 2_900_000, 100)
    feed_mode(guest, "scan 4 1 99", 3_000_000, 100)
    assert [run["pages"] for run in guest.modes] == [100] * 5
    assert guest.modes[3]["reads"] == 87
    assert mode_costs.windows(guest.modes) == [18_000]


def test_what_the_guest_is_told() -> None:
    job = mode_costs.job(mode_costs.SHORT, 3)
    assert "SEED=3\n" in job
    assert "CONFIGURATIONS='off 4 10\nscan 4 10\nscan 4 1'\n" in job
    assert "SEARCHES='8 2047\n8 1599\n8 575\n32 2047'\n" in job
