# SPDX-License-Identifier: Apache-2.0
"""The bench on several harts: the firmware's output is read, and shown."""

import json

import pytest
from hwswap_soc.bench import harts, harts_result
from hwswap_soc.bench.harts_result import HARTS, LOCKS, SCHEMES, Measured

BASE = {"stock": 100, "tuned": 80, "register": 50, "grants": 120}


def lines() -> list[str]:
    """Return a possible output of a firmware: cycles rise with the harts, but not by register."""
    said = [{"kind": "platform", "build": "0123456789abcdef", "layout_fits": 1}]
    for scheme in SCHEMES:
        for count in HARTS:
            key = {"scheme": scheme, "state": "empty", "load": "order0", "harts": count}
            cycles = BASE[scheme] * (1 if scheme == "register" else count)
            for op in ("alloc", "free"):
                said.append(
                    {"kind": "cell"} | key | {"op": op, "n": 10, "failures": 0, "sum": 10 * cycles, "max": 9 * cycles}
                )
            waited = {lock: 0 if scheme == "register" else 40 * (count - 1) for lock in LOCKS}
            said.append({"kind": "locks"} | key | waited)
    return [f"HWSWAP-JSON {json.dumps(line)}" for line in said] + ["HWSWAP-DONE 0"]


@pytest.fixture
def measured() -> Measured:
    read = Measured()
    harts_result.parse(lines(), read)
    return read


def test_growth_is_that_of_an_allocation_and_a_free_together(measured):
    assert measured.cycles(("stock", "empty", "order0", 4)) == 800
    assert measured.cycles(("stock", "full", "order0", 4)) is None
    found = {(figure.what, figure.of): figure.value for figure in harts_result.figures(measured)}
    what = "an allocation and its free, empty, order 0"
    assert [found[f"{what}, {count} harts", "stock"] for count in HARTS] == [200, 400, 800]
    assert [found[f"{what}, {count} harts", "register"] for count in HARTS] == [100, 100, 100]
    assert len(found) == len(SCHEMES) * len(HARTS)


def test_waits_are_by_call(measured):
    # 120 cycles for each kind of lock, of 20 calls, two of which are an allocation and a free.
    assert measured.waited(("stock", "empty", "order0", 4)) == 2 * 4 * 120 / 20
    found = {(figure.what, figure.of): figure.value for figure in harts_result.waits(measured)}
    assert found["waiting for locks, empty, order 0", "stock"] == 48
    assert found["waiting for locks, empty, order 0", "register"] == 0
    assert found["no room, empty, order 0", "stock"] == 0


def test_everything_is_planned_once():
    forms = harts.plan()
    assert len({form.defines() for form in forms}) == len(forms)
    assert {form.scheme for form in forms} == set(SCHEMES)
