# SPDX-License-Identifier: Apache-2.0
"""The cost of a page and Amdahl's bound: what has to hold whatever the figures are."""

import dataclasses

import pytest
from hwswap.breakeven import amdahl, cost, figures, report, soc_fit
from hwswap.breakeven.figures import MODES, STATES
from hypothesis import given
from hypothesis import strategies as st

KNOWN = figures.load()
LINKS = list(KNOWN.links.values())
FITS = {name: soc_fit.fits(soc) for name, soc in KNOWN.socs.items()}
SCHEMES = ("tuned", "register")
ORDERS = st.sampled_from(report.KERNEL_ORDERS)
CPUS = st.integers(1, 48)
LATENCIES = st.floats(0, 20_000)
MEASURED = st.sampled_from([key for key in KNOWN.kernel if key[2] in report.KERNEL_ORDERS])
CLOSE = 1 + 1e-6


def replaced(**values: float) -> figures.Figures:
    """Return the figures with others in their place."""
    changed = {name: dataclasses.replace(KNOWN.figures[name], value=value) for name, value in values.items()}
    return dataclasses.replace(KNOWN, figures={**KNOWN.figures, **changed})


def lock(cpus: int) -> tuple[float, float]:
    """Return how long a folio keeps the device's lock busy, and how long that is with one CPU."""
    transfer = cost.cycles(KNOWN, KNOWN["line_transfer"])
    return cost.lock_demand(KNOWN, cpus, KNOWN["host_cycles_per_instruction"], transfer)


@given(MEASURED, st.sampled_from(LINKS), LATENCIES, LATENCIES, CPUS, st.booleans())
def test_more_latency_is_never_cheaper(key, link, one, other, cpus, swapping):
    think = cost.rest_of_a_page(KNOWN) if swapping else 0.0
    near, far = (cost.with_latency(link, latency) for latency in sorted((one, other)))
    first, second = (cost.kernel(KNOWN, *key, its, cpus, think) for its in (near, far))
    assert second.total >= first.total / CLOSE


@given(MEASURED, st.sampled_from(LINKS), LATENCIES)
def test_one_cpu_has_no_queueing(key, link, latency):
    found = cost.kernel(KNOWN, *key, cost.with_latency(link, latency))
    assert found.waiting == pytest.approx(0, abs=1e-9)


@given(MEASURED, st.sampled_from(LINKS), st.integers(1, 40))
def test_more_cpus_are_never_cheaper_nor_beyond_the_lock(key, link, cpus):
    few, many = (cost.kernel(KNOWN, *key, link, number) for number in (cpus, cpus + 1))
    assert many.total >= few.total / CLOSE
    demand, _ = lock(cpus)
    assert few.throughput <= 1000 * 2 ** key[2] / demand * CLOSE


@given(st.sampled_from(STATES), ORDERS)
def test_very_many_cpus_are_as_fast_as_the_lock(state, order):
    cpus = 4000
    demand, _ = lock(cpus)
    found = cost.kernel(KNOWN, "unpatched", state, order, LINKS[0], cpus)
    assert found.throughput == pytest.approx(1000 * 2**order / demand, rel=0.01)
    assert found.total * 2**order == pytest.approx(cpus * demand, rel=0.01)


def test_an_engine_that_is_never_in_time_is_software_with_marks():
    """As far away as that, allocations are software's, and frees are marked all the same."""
    link = cost.with_latency(KNOWN.links["pcie"], 1e9)
    allocate, _ = KNOWN.kernel["unpatched", "90 % full", 0]
    _, free = KNOWN.kernel["grants", "90 % full", 0]
    found = cost.kernel(KNOWN, "grants", "90 % full", 0, link)
    assert found.by_engine < 0.001
    assert found.work == pytest.approx(allocate + free, rel=0.001)


def test_a_grant_serves_as_many_folios_as_fit():
    assert [cost.units(KNOWN, order) for order in (0, 3, 4, 9)] == [64, 64, 32, 1]


def test_one_cpu_by_pcie_costs_what_its_instructions_say():
    """At 3 GHz, a cycle an instruction: 335 and 345 instructions, and a line for 64 allocations that memory has."""
    changed = replaced(host_clock=3.0, host_cycles_per_instruction=1.0, line_transfer=64.0, engine_clock=10_000.0)
    allocate, free = KNOWN.kernel["grants", "empty", 0]
    found = cost.kernel(changed, "grants", "empty", 0, KNOWN.links["pcie"])
    assert found.total == pytest.approx(allocate + free + 3.0)


def test_what_was_not_measured_has_no_cost():
    assert cost.kernel(KNOWN, "grants", "90 % full", 1, LINKS[0]) is None
    assert cost.grants_break_even(KNOWN, "grants", "unpatched", "90 % full", 1, LINKS[0]) is None
    assert cost.bare_metal(KNOWN, {}, "register", "empty", 0) is None
    assert cost.register_break_even(KNOWN, {}, "tuned", "empty", 0) is None


@pytest.mark.parametrize("cpu", KNOWN.socs)
@pytest.mark.parametrize("against", ["stock", "tuned"])
@pytest.mark.parametrize("order", [0, 4, 9])
def test_at_its_break_even_mmio_costs_what_software_does(cpu, against, order):
    limit = cost.register_break_even(KNOWN, FITS[cpu], against, "empty", order)
    software = cost.bare_metal(KNOWN, FITS[cpu], against, "empty", order)
    if limit >= 0:
        ours = cost.bare_metal(KNOWN, FITS[cpu], "register", "empty", order, added=limit)
        assert ours.total == pytest.approx(software.total)
    else:
        assert cost.bare_metal(KNOWN, FITS[cpu], "register", "empty", order).total > software.total


def test_break_even_of_mmio_is_that_of_the_measured_calls():
    """Order 0 on an empty device, tuned less MMIO, over three reads: as long as one latency alone is on record."""
    soc = KNOWN.socs["rocket"]
    assert len(soc.latencies) == 1
    tuned, mmio = (sum(soc.cycles[scheme, "empty", op, 0][0] for op in ("alloc", "free")) for scheme in SCHEMES)
    assert cost.register_break_even(KNOWN, FITS["rocket"], "tuned", "empty", 0) == pytest.approx((tuned - mmio) / 3)


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("order", report.KERNEL_ORDERS)
@pytest.mark.parametrize(("mode", "against"), [("grants", "unpatched"), ("tuned + grants", "tuned")])
def test_at_its_break_even_a_mode_costs_what_software_does(mode, against, state, order):
    link = KNOWN.links["cxl"]
    limit = cost.grants_break_even(KNOWN, mode, against, state, order, link)
    software = cost.kernel(KNOWN, against, state, order, link)
    at = cost.kernel(KNOWN, mode, state, order, cost.with_latency(link, max(limit, 0)))
    if limit < 0:
        assert at.total > software.total
    elif limit < 1e9:
        assert at.total == pytest.approx(software.total, rel=1e-4)


BARE = st.sampled_from(
    [(cpu, scheme, state) for cpu, fits in FITS.items() for scheme, state, op in fits if op == "alloc"]
)


@given(BARE, st.integers(0, 4), st.floats(0, 500), st.floats(0, 500), st.floats(0, 5000), st.integers(1, 16))
def test_on_bare_metal_more_latency_is_never_cheaper(which, order, one, other, added, cpus):
    cpu, scheme, state = which
    low, high = sorted((one, other))
    first, second = (
        cost.bare_metal(KNOWN, FITS[cpu], scheme, state, order, added, latency, cpus) for latency in (low, high)
    )
    farther = cost.bare_metal(KNOWN, FITS[cpu], scheme, state, order, added + 10, high, cpus)
    assert second.total >= first.total / CLOSE
    assert farther.total >= second.total / CLOSE
    alone = cost.bare_metal(KNOWN, FITS[cpu], scheme, state, order, added, high)
    assert alone.waiting == pytest.approx(0, abs=1e-6)
    assert second.total >= alone.total / CLOSE


@given(st.floats(0, 0.999), st.floats(0, 10))
def test_amdahls_bound_is_never_exceeded(share, ratio):
    assert amdahl.speed_up(share, ratio) <= amdahl.speed_up(share, 0) * CLOSE
    assert amdahl.speed_up(share, 1) == pytest.approx(1)


def test_nothing_reached_is_above_its_bound():
    found = amdahl.shares(KNOWN)
    assert {share.order for share in found} == set(KNOWN.swap_outs)
    for share in found:
        assert 0 < share.share < 1 < share.bound
        assert share.reached
        assert all(value <= share.bound for value in share.reached.values())


def test_a_full_device_scales_what_was_measured_on_an_empty_one():
    (share,) = [its for its in amdahl.shares(KNOWN) if (its.order, its.state, its.path) == (0, "90 % full", "out")]
    swap = KNOWN.swap_outs[0]
    empty, full = (KNOWN.kernel["unpatched", state, 0][0] for state in ("empty", "90 % full"))
    allocate = KNOWN.linux["unpatched", 0][0]
    more = allocate * (full / empty - 1)
    assert share.whole == pytest.approx(swap.page_out + more)
    assert share.allocator == pytest.approx(allocate + more)
    unpatched, grants = (KNOWN.kernel[mode, "90 % full", 0][0] for mode in ("unpatched", "grants"))
    assert share.reached["grants"] == pytest.approx(amdahl.speed_up(share.share, grants / unpatched))


def test_modes_are_those_of_the_kernel():
    assert {mode for mode, _, _ in KNOWN.kernel} == set(MODES)
