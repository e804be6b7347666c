# SPDX-License-Identifier: Apache-2.0
"""The fit to the simulated SoC: it finds what is there, leaves points out, and says how far it is off."""

import dataclasses

import numpy as np
import pytest
from hwswap.breakeven import figures, soc_fit
from hwswap.breakeven.figures import Soc
from hypothesis import example, given
from hypothesis import strategies as st

KNOWN = figures.load()
LATENCIES = (4, 8, 16, 30, 60, 100)
COEFFICIENTS = st.tuples(st.floats(1, 1000), st.floats(0, 50), st.floats(0, 20), st.floats(0, 2))


def soc(base: float, per_slot: float, accesses: float, accesses_per_slot: float) -> Soc:
    """Return a SoC of which these are the truth."""
    cycles = {
        ("stock", "empty", "alloc", order): tuple(
            base + per_slot * 2**order + (accesses + accesses_per_slot * 2**order) * latency for latency in LATENCIES
        )
        for order in (0, 2, 4, 7, 9)
    }
    return Soc("any", LATENCIES, cycles, (), {}, 0)


@given(COEFFICIENTS)
def test_what_is_linear_is_found_and_predicted(truth):
    made = soc(*truth)
    points = soc_fit.latency_points(made)
    assert len(points) == 30
    assert max(abs(point.error) for point in points) < 1e-5


def test_points_held_out_are_other_orders_and_other_latencies():
    points = soc_fit.latency_points(soc(100, 5, 3, 0.2))
    fitted = {(point.order, point.latency) for point in points if point.fitted}
    assert fitted == {(order, latency) for order in (0, 4, 9) for latency in (4, 16, 60)}


def test_points_held_out_do_not_move_the_fit():
    one, other = soc(100, 5, 3, 0.2), soc(100, 5, 3, 0.2)
    key = ("stock", "empty", "alloc", 7)
    other.cycles[key] = tuple(2 * mean for mean in other.cycles[key])
    first, second = (soc_fit.fit(its, *key[:3]) for its in (one, other))
    assert dataclasses.replace(first, rest={}) == dataclasses.replace(second, rest={})
    worst = soc_fit.summary([point for point in soc_fit.latency_points(other) if not point.fitted])
    assert worst.worst == pytest.approx(0.5, rel=1e-4)


def test_one_order_alone_has_no_fit():
    made = soc(100, 5, 3, 0.2)
    for order in (2, 4, 7, 9):
        del made.cycles["stock", "empty", "alloc", order]
    assert soc_fit.fit(made, "stock", "empty", "alloc") is None
    assert soc_fit.latency_points(made) == []


@given(st.lists(st.lists(st.floats(-10, 10), min_size=3, max_size=3), min_size=4, max_size=8), st.integers(0, 2**30))
@example([[1e-310, 0.0, 10.0], [0.0, 0.0, 0.0], [0.0, 10.0, -1.0], [0.0, 1.0, 0.0]], 0)
@pytest.mark.filterwarnings("error")
def test_least_squares_is_never_negative_and_no_other_is_better(rows, seed):
    matrix = np.array(rows)
    random = np.random.default_rng(seed)
    wanted = random.uniform(-5, 5, len(rows))
    found = soc_fit.least_squares(matrix, wanted)
    assert (found >= 0).all()
    rest = np.sum((wanted - matrix @ found) ** 2)
    for other in random.uniform(0, 3, (50, 3)):
        assert rest <= np.sum((wanted - matrix @ other) ** 2) + 1e-6


def test_clocks_held_out_are_between_the_slowest_and_the_fastest():
    key = ("register", "empty", "alloc", 0)
    made = Soc("any", LATENCIES, {}, (0.5, 1.0, 2.0), {key: (340.0, 245.0, 190.0)}, 16)
    slow, one, fast = soc_fit.ratio_points(made)
    assert slow.fitted and fast.fitted and not one.fitted
    assert (slow.predicted, fast.predicted) == (pytest.approx(340), pytest.approx(190))
    assert one.predicted == pytest.approx(240)


def test_one_latency_says_nothing_of_latency():
    made = soc(100, 5, 3, 0.2)
    one = Soc("any", (16,), {key: means[2:3] for key, means in made.cycles.items()}, (), {}, 0)
    found = soc_fit.fit(one, "stock", "empty", "alloc")
    assert (found.accesses, found.accesses_per_slot) == (0, 0)
    assert max(abs(point.error) for point in soc_fit.latency_points(one)) < 1e-5


def test_mmio_is_its_entries_and_what_it_takes_beyond_them_at_order_0():
    cycles = {
        ("register", "empty", "alloc", 0): (230.0,),
        ("register", "empty", "alloc", 4): (400.0,),
        ("register", "fragmented", "alloc", 4): (500.0,),
        ("words", "empty", "alloc", 0): (100.0,),
        ("words", "empty", "alloc", 4): (250.0,),
    }
    least, other = soc_fit.register_points(Soc("any", (16,), cycles, (), {}, 0))
    assert (least.predicted, least.fitted) == (230, True)
    assert (other.predicted, other.fitted) == (380, False)
    assert other.error == pytest.approx(-0.05)


def test_linux_is_predicted_from_one_call():
    points = [point for point in soc_fit.linux_points(KNOWN, 16) if point.check == "Linux"]
    (fitted,) = [point for point in points if point.fitted]
    assert (fitted.scheme, fitted.order, fitted.op) == ("unpatched", 0, "alloc")
    assert fitted.error == pytest.approx(0)
    (free,) = [point for point in points if (point.scheme, point.order, point.op) == ("grants", 0, "free")]
    rate = KNOWN.linux["unpatched", 0][0] / KNOWN.kernel["unpatched", "empty", 0][0]
    assert free.predicted == pytest.approx(KNOWN.kernel["grants", "empty", 0][1] * rate)


@pytest.mark.parametrize("cpu", KNOWN.socs)
def test_costs_go_through_what_was_measured(cpu):
    soc = KNOWN.socs[cpu]
    for (scheme, state, op), fit in soc_fit.fits(soc).items():
        for order in range(10):
            means = soc.cycles.get((scheme, state, op, order))
            if means is not None and soc_fit.LATENCY in soc.latencies:
                measured = means[soc.latencies.index(soc_fit.LATENCY)]
                assert fit.through_measured(order, soc_fit.LATENCY) == pytest.approx(measured)


@pytest.mark.parametrize("cpu", KNOWN.socs)
def test_of_what_was_measured_points_held_out_are_met(cpu):
    """A loose bound: a change of the fit that breaks it shows."""
    points = soc_fit.latency_points(KNOWN.socs[cpu])
    found = soc_fit.summary([point for point in points if not point.fitted])
    assert found.number > 10
    assert found.mean < 0.15
