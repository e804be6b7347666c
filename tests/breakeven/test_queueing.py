# SPDX-License-Identifier: Apache-2.0
"""Mean value analysis: beside the machine repairman's closed form, and within its bounds."""

import math

import pytest
from hwswap.breakeven import queueing
from hypothesis import given
from hypothesis import strategies as st

TIMES = st.floats(0.1, 1e5)
DEMANDS = st.dictionaries(st.sampled_from(("lock", "engine", "link")), TIMES, min_size=1)
CPUS = st.integers(1, 64)


def repairman(machines: int, up: float, repair: float) -> float:
    """Return repairs in a unit of time, by the sum over all states."""
    weights = [math.perm(machines, down) * (repair / up) ** down for down in range(machines + 1)]
    return (1 - weights[0] / sum(weights)) / repair


@pytest.mark.parametrize("machines", [1, 2, 5, 20])
@pytest.mark.parametrize(("up", "repair"), [(100.0, 1.0), (10.0, 10.0), (1.0, 30.0)])
def test_one_station_is_the_machine_repairman(machines, up, repair):
    found = queueing.analyse(machines, up, {"repair": repair})
    assert found.throughput == pytest.approx(repairman(machines, up, repair))


@given(TIMES, DEMANDS)
def test_one_cpu_does_not_wait(think, demands):
    found = queueing.analyse(1, think, demands)
    assert found.response == pytest.approx(sum(demands.values()))
    assert found.waiting == pytest.approx(0, abs=1e-6 * found.response)


@given(CPUS, TIMES, DEMANDS)
def test_throughput_is_within_its_bounds_and_grows(cpus, think, demands):
    found, more = (queueing.analyse(number, think, demands) for number in (cpus, cpus + 1))
    assert found.throughput <= queueing.bound(cpus, think, demands) * (1 + 1e-9)
    assert more.throughput >= found.throughput * (1 - 1e-9)
    assert more.response >= found.response * (1 - 1e-9)
    assert all(0 <= busy <= 1 + 1e-9 for busy in found.utilisation.values())


@given(st.floats(0.1, 1e3), DEMANDS)
def test_with_very_many_cpus_the_busiest_station_is_the_limit(think, demands):
    most = max(demands.values())
    cpus = min(20_000, 50 * math.ceil(queueing.knee(think, demands)))
    if cpus < 20_000 and list(demands.values()).count(most) == 1:
        assert queueing.analyse(cpus, think, demands).throughput == pytest.approx(1 / most, rel=0.05)


def test_little_holds():
    found = queueing.analyse(7, 90.0, {"lock": 12.0, "engine": 5.0})
    assert found.throughput * (90.0 + found.response) == pytest.approx(7)


def test_without_stations_nobody_waits_and_there_is_no_knee():
    assert queueing.analyse(5, 10.0, {}).throughput == pytest.approx(0.5)
    assert queueing.knee(10.0, {"lock": 0.0}) == math.inf
    assert queueing.bound(5, 10.0, {}) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("cpus", "think", "demands"), [(0, 1.0, {}), (1, -1.0, {}), (1, 1.0, {"lock": -1.0}), (2, 0.0, {"lock": 0.0})]
)
def test_nonsense_is_refused(cpus, think, demands):
    with pytest.raises(ValueError, match="CPUs|times"):
        queueing.analyse(cpus, think, demands)
