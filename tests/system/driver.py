# SPDX-License-Identifier: Apache-2.0
"""What the full-system tests do in a guest: load the driver, use swap, run loads and judge them."""

import json
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from hwswap.guest import initramfs
from hwswap.guest.qemu import Guest, GuestError, Machine
from hwswap.project import artifacts
from hwswap.rtl.device_server import EngineServer

PCI_DEVICES = "/sys/bus/pci/devices"
PCI_DRIVER = "/sys/bus/pci/drivers/hwswap"
DEBUG = "/sys/kernel/debug/hwswap"
DISKS = ("/dev/ram0", "/dev/ram1", "/dev/ram2", "/dev/ram3")
QUEUED = ("/dev/nullb0", "/dev/nullb1")
BENCH = "/sys/kernel/debug/swap_alloc_bench"
SMALL = "--processes 2 --size 12m --limit 8m --folio 4k --access random"
LARGE = "--processes 2 --size 16m --limit 12m --folio 64k --access random"
MIXED = "--processes 2 --size 16m --limit 16m --folio 64k --access random"
TWO_CPUS = Machine(cpus=2)


def wait_for(look: Callable[[], Any], holds: Callable[[Any], bool], timeout: float, what: str) -> Any:
    """Look again and again until it is as wanted, and return that; the engine is slow on a host with other work."""
    deadline = time.monotonic() + timeout
    while not holds(seen := look()):
        assert time.monotonic() < deadline, f"{what}: after {timeout} s {str(seen)[-2000:]}"
        time.sleep(0.2)
    return seen


class Driver:
    """The hwswap module of a guest."""

    def __init__(self, guest: Guest) -> None:
        """Talk to the driver of `guest`; load() loads it."""
        self.guest = guest

    @classmethod
    def attached(cls, guest: Guest, mode: str = "hint", timeout: float = 30.0) -> Self:
        """Load the module into `guest`, in a mode for which it needs the engine; wait until it is attached."""
        driver = cls(guest)
        driver.load(mode)
        driver.wait_attached(timeout)
        return driver

    def load(self, mode: str = "off") -> None:
        """Load the module."""
        self.guest.run(f"insmod /lib/modules/hwswap.ko mode={mode}").check()

    def unload(self) -> None:
        """Unload the module."""
        self.guest.run("rmmod hwswap").check()

    def set_mode(self, mode: str) -> None:
        """Switch the mode."""
        self.guest.run(f"echo {mode} >/sys/module/hwswap/parameters/mode").check()

    def state(self) -> str:
        """Return the driver's own line on whether it is attached."""
        return self.guest.run(f"cat {DEBUG}/state").check().strip()

    def wait_attached(self, timeout: float = 30.0) -> None:
        """Wait until the engine is attached."""
        wait_for(self.state, lambda state: state.startswith("attached"), timeout, "to be attached")

    def wait_detached(self, timeout: float = 30.0) -> str:
        """Wait until the engine is detached; return the state line."""
        return wait_for(self.state, lambda state: state.startswith("detached"), timeout, "to be detached")

    def stats(self) -> dict[str, int]:
        """Return the driver's counters."""
        pairs = (line.split() for line in self.guest.run(f"cat {DEBUG}/stats").check().splitlines() if line)
        return {name: int(value) for name, value in pairs}

    def since(self, before: dict[str, int]) -> dict[str, int]:
        """Return what the counters have risen by since they were `before`."""
        return {name: value - before[name] for name, value in self.stats().items()}

    def wait_beyond(self, counter: str, beyond: int = 0, timeout: float = 60.0) -> None:
        """Wait until a counter is above `beyond`."""
        wait_for(lambda: self.stats()[counter], lambda value: value > beyond, timeout, counter)

    def wait_grants(self, timeout: float = 60.0) -> None:
        """Wait until a search begins where a grant of the engine said. They are counted from each attach on."""
        self.wait_beyond("grant_units", self.stats()["grant_units"], timeout)

    def assert_bitmaps(self) -> None:
        """Compare what the kernel stores for the engine with its own tables, which has to hold at any time."""
        text = self.guest.run(f"cat {DEBUG}/verify").check()
        last = text.strip().splitlines()[-1].split()
        assert last[0] == "clusters" and int(last[1]) > 0, text
        assert last[2:] == ["differences", "0"], text

    def address(self) -> str:
        """Return the engine's PCI address, as sysfs writes it."""
        return self.guest.run(f"cd {PCI_DEVICES} && grep -l 0x5357 */device | cut -d/ -f1").check().strip()

    def wait_messages(self, text: str, number: int, timeout: float = 60.0) -> None:
        """Wait for so many of the `messages`, and no more: devices are announced one by one, by a worker."""
        found = wait_for(lambda: self.messages(text), lambda lines: len(lines) >= number, timeout, text)
        assert len(found) == number, found

    def messages(self, text: str) -> list[str]:
        """Return the lines of the kernel log that the driver wrote and that hold `text`."""
        return [line for line in self.guest.kernel_log().splitlines() if "hwswap" in line and text in line]


class Load:
    """A swapload in the background, until told to stop."""

    number = 0

    def __init__(self, guest: Guest, arguments: str) -> None:
        """Start it."""
        Load.number += 1
        self.guest = guest
        self.output = f"/tmp/load{Load.number}"
        self.pages = swapped_out(guest)
        self.pid = guest.run(f"swapload --rounds 0 {arguments} >{self.output} 2>&1 & echo $!").check().strip()

    def assert_running(self) -> None:
        """Fail when it has ended by itself."""
        alive = self.guest.run(f"kill -0 {self.pid}").code == 0
        assert alive, self.guest.run(f"cat {self.output}").output

    def stop(self, timeout: float = 120.0) -> dict[str, Any]:
        """End it, and return its result after having judged it: not before it had something to verify."""
        wait_for(lambda: swapped_out(self.guest), lambda pages: pages > self.pages, timeout, "pages swapped out")
        self.assert_running()
        self.guest.run(f"kill {self.pid}; while kill -0 {self.pid} 2>/dev/null; do sleep 0.1; done", timeout)
        return judge(self.guest.run(f"cat {self.output}").check())


def off_and_on(guest: Guest, disk: str, options: str = "-p 5") -> None:
    """Switch a device off, which has to end, and on again."""
    guest.run(f"swapctl off {disk}", 300).check()
    assert disk not in guest.run("cat /proc/swaps").check()
    guest.run(f"swapctl on {options} {disk}").check()


def change_devices(guest: Guest, disks: Sequence[str], priority: int = -1) -> None:
    """Take devices off, one after the other, and on again, with a priority if it is positive."""
    for disk in disks:
        off_and_on(guest, disk, f"-p {priority}" if priority > 0 else "")


def judge(output: str) -> dict[str, Any]:
    """Take the JSON of a load; fails unless it wrote something, read it all back, and every byte was right."""
    result: dict[str, Any] = json.loads(output)
    assert result["mismatches"] == 0, result
    assert result.get("died", 0) == 0, result
    assert result["verified_bytes"] > 0, result
    return result


def swapload(guest: Guest, arguments: str, timeout: float = 120.0) -> dict[str, Any]:
    """Run a load to its end and judge it."""
    return judge(guest.run(f"swapload {arguments}", timeout).check())


def swap_on(guest: Guest, *disks: str) -> None:
    """Make swap areas and switch them on."""
    areas = " ".join(disks or DISKS)
    guest.run(f"swapctl make {areas} && swapctl on {areas}").check()


@contextmanager
def attached(
    log: Path, engine: EngineServer, machine: Machine = TWO_CPUS, beside: Sequence[str] = ()
) -> Iterator[Driver]:
    """Boot a guest with swap on its RAM disks, and attach an engine for its grants."""
    with Guest(machine, engine, beside=beside, log=log) as guest:
        swap_on(guest, *DISKS[: machine.disks])
        yield Driver.attached(guest)


def kernel_modules(kernel: artifacts.Artifact = artifacts.KERNEL) -> dict[str, bytes]:
    """Return a kernel's own modules, null_blk among them, as files for a guest."""
    return initramfs.kernel_modules(kernel.path())


def insert_null_blk(guest: Guest, options: str) -> None:
    """Load null_blk with devices that have a request queue and keep the data written to them."""
    guest.run(f"insmod /lib/modules/null_blk.ko memory_backed=1 {options}").check()


def swap_on_two(guest: Guest, options: str, size: str) -> None:
    """Enable swap on two null_blk devices, with `size` of swap each."""
    insert_null_blk(guest, f"nr_devices=2 gb=1 {options}")
    for disk in QUEUED:
        guest.run(f"swapctl make -s {size} {disk} && swapctl on -p 5 {disk}").check()


def swap_on_queued(guest: Guest) -> None:
    """Enable swap on two null_blk devices with VMA readahead off, so that cluster readahead reads them."""
    guest.run("echo false >/sys/kernel/mm/swap/vma_ra_enabled").check()
    swap_on_two(guest, "", "48m")


@contextmanager
def queued_guest(log: Path, engine: EngineServer | None = None) -> Iterator[Guest]:
    """Boot a guest with two CPUs and swap on QUEUED, with an engine or without."""
    with Guest(Machine(cpus=2, disks=0), engine, files=kernel_modules(), log=log) as guest:
        swap_on_queued(guest)
        yield guest


def hold_half(guest: Guest, seed: int, size: str = "32m", free: int = 50) -> None:
    """Put so much into swap, free a random half of the slots (or `free` %), and hold the others until verify_half().

    None of it stays in the swap cache, in which a device behind a queue leaves what it has written.
    """
    group = "/sys/fs/cgroup/half"
    guest.run(f"[ -d {group} ] || {{ echo +memory >/sys/fs/cgroup/cgroup.subtree_control && mkdir {group}; }}").check()
    guest.run(
        f"sh -c 'echo $$ >{group}/cgroup.procs; exec swapfrag --size {size} --free {free} --seed {seed}' >/tmp/frag & "
        "echo $! >/tmp/frag.pid"
    ).check()
    guest.run("until grep -q ready /tmp/frag; do kill -0 $(cat /tmp/frag.pid) || exit 1; sleep 0.1; done", 300).check()
    # It says that less was there to reclaim than was asked for.
    guest.run(f"echo 64m >{group}/memory.reclaim 2>/dev/null; true").check()


def verify_half(guest: Guest) -> None:
    """Let go of what hold_half() holds; every byte has to be right."""
    guest.run("kill $(cat /tmp/frag.pid); while kill -0 $(cat /tmp/frag.pid) 2>/dev/null; do sleep 0.1; done", 300)
    judge(guest.run("cat /tmp/frag").check().strip().splitlines()[-1])


def unless_qemu_ends(scenario: Callable[[], None], kernel_log: Path, times: int = 5) -> None:
    """Run a scenario in which the engine is killed, again if QEMU ends of it.

    QEMU 11.1 fails an assertion when its device's server dies in the middle of an access to a register. That says
    nothing of the driver. A warning says so.
    """
    for left in reversed(range(times)):
        try:
            scenario()
        except (OSError, GuestError):
            said = kernel_log.with_name(f"{kernel_log.stem}.qemu.log").read_text()
            if not left or "error_setv: Assertion" not in said:
                raise
            warnings.warn("QEMU ended with the engine: the scenario is tried again", stacklevel=2)
        else:
            return


def swapped_out(guest: Guest) -> int:
    """Return the pages swapped out since boot."""
    return int(guest.run("awk '$1 == \"pswpout\" { print $2 }' /proc/vmstat").check())


def used_of(guest: Guest) -> dict[str, int]:
    """Return how many KiB of each swap device are in use."""
    lines = guest.run("tail -n +2 /proc/swaps").check().splitlines()
    return {line.split()[0]: int(line.split()[3]) for line in lines}
