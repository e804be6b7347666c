# SPDX-License-Identifier: Apache-2.0
"""`hwswap top`: the driver's counters as they are shown."""

import pytest
from hwswap.kernel import top
from hwswap.kernel.top import Look

STATS = """attaches 1
grant_units 700
grants_popped 20
grants_taken_back 1
grants_refused_epoch 3
grants_refused_place 0
grants_stale 2
grants_stray 4
grants_no_run 9
"""
TEXTS = {"state": "attached\n", "stats": STATS, "engine": "build 00ff\ncontrol 7\ngrants 30\nbeats 4000\n"}


def test_rows_are_of_grants_by_what_became_of_them():
    assert Look.parse(TEXTS, 0).rows() == {
        "allocations placed by grants": 700,
        "grants in the rings": 6,
        "grants taken": 20,
        "grants refused": 3,
        "  refused: epoch": 3,
        "places that were taken meanwhile": 6,
        "large folios that fail at once": 9,
        "DMA transfers of 8 bytes": 4000,
    }


def test_a_detached_driver_has_no_figures_of_the_engine():
    look = Look.parse(TEXTS | {"state": "detached: it does not answer\n", "engine": "detached\n"}, 0)
    assert look.state == "detached: it does not answer"
    assert not {"grants in the rings", "DMA transfers of 8 bytes"} & look.rows().keys()


def test_the_last_column_is_what_changed_per_second():
    after = Look.parse(TEXTS | {"stats": STATS.replace("700", "800")}, 4)
    names, _, rates = (list(column.cells) for column in top.table(after, Look.parse(TEXTS, 2)).columns)
    found = dict(zip(names, rates, strict=True))
    assert found["allocations placed by grants"] == "50"
    assert (found["grants taken"], found["grants in the rings"]) == ("0", "")


@pytest.mark.parametrize(
    ("error", "said"), [(PermissionError, "run it as root"), (FileNotFoundError, "load hwswap.ko, or give --workload")]
)
def test_a_machine_without_a_driver_is_one_sentence(error, said, refused, monkeypatch):
    def read_text(_):
        raise error

    monkeypatch.setattr(top.Path, "read_text", read_text)
    assert said in refused("top")
