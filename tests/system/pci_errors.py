# SPDX-License-Identifier: Apache-2.0
"""Errors of the PCI bus, and what the driver touches meanwhile."""

import re
import struct
from collections.abc import Callable

from driver import Driver
from hwswap.guest.qemu import Guest

COMPLETION_TIMEOUT = 0x4000
"""An uncorrectable error that is not fatal, in Uncorrectable Error Status."""
MALFORMED = 0x40000
"""A fatal one: the link is reset."""
WRITES = ("vfio_region_write", "vfio_pci_write_config", "pci_cfg_write")
"""Events of QEMU: the engine's registers, its configuration, that of QEMU's own devices."""
BUS_RESET = re.compile(r"^pci_cfg_write pcie-root-port .*@0x3e <- 0x[0-9a-f]*[4-7c-f][0-9a-f]$")
"""Secondary Bus Reset, bit 6 of Bridge Control."""


def inject(driver: Driver, error: int) -> None:
    """Have the kernel's own injector report an error of the engine through the root port."""
    domain, bus, place = driver.address().split(":")
    slot, function = place.split(".")
    where = struct.pack("BBBx", int(bus, 16), int(slot, 16), int(function))
    message = where + struct.pack("IIIIIII", error, 0, 0, 0, 0, 0, int(domain, 16))
    text = "".join(f"\\x{byte:02x}" for byte in message)
    driver.guest.run(f"printf '{text}' >/dev/aer_inject").check()


def accesses(guest: Guest, act: Callable[[], None]) -> list[str]:
    """Return what QEMU saw of registers and configuration being written meanwhile, in order."""
    log = guest.folder / "qemu.log"
    begin = log.stat().st_size
    guest.trace(WRITES, True)
    act()
    guest.trace(WRITES, False)
    return [line for line in log.read_text(errors="replace")[begin:].splitlines() if line.startswith(WRITES)]


def touched(lines: list[str]) -> list[str]:
    """Return the writes among them to the engine's registers, or to its Command."""
    return [
        line for line in lines if re.search(r"^vfio_region_write .*:region0\+|^vfio_pci_write_config .*@0x4,", line)
    ]
