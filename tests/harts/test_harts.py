# SPDX-License-Identifier: Apache-2.0
"""The bench on several harts, a short run of it on the simulated SoC with four.

It checks that everything is measured and that every scheme's work is right: the firmware looks at each slot that harts
got, and ends with an error otherwise. How fast anything is, is not checked.
"""

import pytest
from hwswap_soc.bench import harts, harts_result, runs
from hwswap_soc.bench.bench_result import OPS
from hwswap_soc.bench.harts_result import HARTS, LOCKS, SCHEMES, Measured
from hwswap_soc.simulation.run import LATENCY


@pytest.fixture(scope="module")
def forms():
    """What is run."""
    return harts.short()


@pytest.fixture(scope="module")
def measured(tmp_path_factory, forms):
    """What all of it measured; a second time nothing is run."""
    folder = tmp_path_factory.mktemp("harts")
    model = harts.model()
    measured = Measured()
    for form in forms:
        run = harts.measure(form, model, folder, LATENCY)
        assert harts.measure(form, model, folder, LATENCY) == run
        harts_result.parse(run["lines"], measured)
    return measured


def test_all_is_there_and_every_call_is_counted(measured, forms):
    for scheme in SCHEMES:
        for count in HARTS:
            key = (scheme, "full", "order0", count)
            calls = [measured.cells[key, op] for op in OPS]
            assert all(0 < cell.max <= cell.sum <= cell.max * cell.n for cell in calls)
            # The hart that is through first has done all of its steps, the others most of them.
            assert forms[0].steps * count / 2 < sum(cell.n for cell in calls) <= forms[0].steps * count
            assert all(cell.failures < cell.n for cell in calls)


def test_the_engine_has_as_many_cpus_as_there_are_harts(measured):
    engine = runs.engine_of(harts.model())
    assert engine["cpus"] >= HARTS[-1]
    assert {platform["build"] for platform in measured.platforms} == {engine["build_hash"]}


def test_one_hart_waits_for_no_lock_and_nobody_does_who_asks_by_a_page(measured):
    for (scheme, _, _, count), kinds in measured.locks.items():
        assert set(kinds) == set(LOCKS)
        if count == 1 or scheme == "register":
            assert all(kind["waited"] == 0 for kind in kinds.values())
