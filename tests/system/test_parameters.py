# SPDX-License-Identifier: Apache-2.0
"""Parameters have bounds."""

from collections.abc import Iterator

import pytest
from driver import PARAMETERS, Driver, swap_on
from hwswap.guest.qemu import Guest, Machine
from hwswap.project import paths
from hwswap.rtl.device_server import EngineServer

BOUNDS = {
    "quarantine_ms": (0, 10000),
    "timeout_ms": (1, 600000),
    "scan_wait_ms": (0, 10000),
}
"""The smallest and the largest value of each parameter that can be written."""


@pytest.fixture(scope="module")
def guest(engine: EngineServer) -> Iterator[Guest]:
    with Guest(Machine(cpus=2), engine, log=paths.REPORTS / "kernel" / "parameters.log") as guest:
        swap_on(guest)
        yield guest


@pytest.fixture(scope="module")
def driver(guest: Guest) -> Driver:
    return Driver.attached(guest, "hint")


@pytest.mark.parametrize("name", BOUNDS)
def test_bounds(guest: Guest, driver: Driver, name: str) -> None:
    low, high = BOUNDS[name]
    default = int(guest.run(f"cat {PARAMETERS}/{name}").check())
    assert low <= default <= high
    for value in (low, high):
        driver.set_parameter(name, str(value))
        assert int(guest.run(f"cat {PARAMETERS}/{name}").check()) == value
    driver.set_parameter(name, str(default))
    for value in ("x", "-1", str(high + 1), str(low - 1), "4294967296"):
        said = len(driver.messages(f"parameter {name} is a number from {low} to {high}"))
        failed = guest.run(f"echo {value} >{PARAMETERS}/{name}")
        assert failed.code != 0 and "Invalid argument" in failed.output, failed
        assert int(guest.run(f"cat {PARAMETERS}/{name}").check()) == default
        lines = driver.messages(f"parameter {name} is a number from {low} to {high}")
        assert len(lines) == said + 1 and f"not {value}: left at {default}" in lines[-1], lines


def test_bounds_when_it_is_loaded(guest: Guest, driver: Driver) -> None:
    driver.unload()
    for setting in ("pause_cycles=-1", "pause_cycles=65536", "quarantine_ms=10001"):
        assert guest.run(f"insmod /lib/modules/hwswap.ko {setting}").code != 0
    assert driver.messages("parameter pause_cycles is a number from 0 to 65535, not 65536: left at 64")
    driver.load("hint")
    driver.wait_attached()
