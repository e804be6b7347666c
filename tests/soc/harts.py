# SPDX-License-Identifier: Apache-2.0
"""A short run of the bench on several harts, on the simulated SoC with four: `make test-harts`.

The firmware looks at each slot that harts got, and ends with an error if one is wrong. How fast anything is, is not
checked.
"""

import pytest
from hwswap.project.paths import BUILD
from hwswap_litex import EngineInfo
from hwswap_soc.bench import harts, harts_result, runs
from hwswap_soc.bench.bench_result import OPS
from hwswap_soc.bench.harts_result import HARTS, LOCKS, Measured
from hwswap_soc.simulation.run import LATENCY


@pytest.mark.parametrize("form", harts.short(), ids=lambda form: form.scheme)
def test_a_scheme_on_all_harts(form):
    measured = Measured()
    [lines] = runs.together([form], runs.Machine(runs.model_folder(harts.CPU), "rocket", "harts", LATENCY), 1)
    harts_result.parse(lines, measured)
    engine = EngineInfo.load(BUILD / "rtl-soc4")
    assert engine.cpus >= HARTS[-1]
    assert {platform["build"] for platform in measured.platforms} == {engine.build_hash}
    for count in HARTS:
        key = (form.scheme, "full", "order0", count)
        calls = [measured.cells[key, op] for op in OPS]
        assert all(0 < cell.max <= cell.sum <= cell.max * cell.n for cell in calls)
        # The hart that is through first has done all of its steps, the others most of theirs.
        assert form.steps * count / 2 < sum(cell.n for cell in calls) <= form.steps * count
        assert all(cell.failures < cell.n for cell in calls)
        assert set(measured.locks[key]) == set(LOCKS)
        if count == 1 or form.scheme == "register":
            assert not any(measured.locks[key].values())
