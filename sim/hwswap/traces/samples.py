# SPDX-License-Identifier: Apache-2.0
"""What a stock kernel tells of its swap allocator, read at intervals: the samples a statistical trace is made from.

Nothing is patched, loaded or traced: only files of /proc and /sys are read, as any user may. A file of samples has one
JSON object a line: first what the machine is, then a sample each, written when it was taken, so that an interruption
costs at most the last line (docs/traces.md).
"""

import json
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TextIO

from hwswap.model.rows import ORDERS

FORMAT = "hwswap-samples"
VERSION = 1
PAGE_KB = 4
"""The size of a page that traces are about."""

PAGES_OUT = ("pswpout", "swpout_zero", "zswpout")
"""Counters of /proc/vmstat whose pages got a slot: written out, all zeros, or kept compressed (`swap_writeout`)."""
PAGES_BACK = ("pswpin", "swpin_zero", "zswpin")
"""Counters of pages that were read back."""
WRITTEN_LATER = "zswpwb"
"""Pages that zswap wrote out after all: they have had their slots, and count as pswpout once more."""
HUGE = {"swpout": "thp_swpout", "swpout_fallback": "thp_swpout_fallback"}
"""What /proc/vmstat calls the counters of order 9, for kernels that count no other."""
VMSTAT = (*PAGES_OUT, *PAGES_BACK, WRITTEN_LATER, *HUGE.values())
BY_SIZE = ("swpout", "zswpout", "swpout_fallback", "swpin", "zswpin")
"""Counters of folios in /sys/kernel/mm/transparent_hugepage/hugepages-*kB/stats."""

_SIZE = re.compile(r"hugepages-(\d+)kB")
_ESCAPE = re.compile(r"\\([0-7]{3})")


class SampleError(RuntimeError):
    """The kernel tells too little, or samples make no sense; the message is one sentence for the user."""


@dataclass(frozen=True)
class Swap:
    """One line of /proc/swaps. `pages` and `used` are slots of 4 kB; the header slot and bad ones are in neither."""

    name: str
    partition: bool
    pages: int
    used: int
    priority: int
    rotational: bool | None = None
    """Of the device, or of the one a file is on; None where that is not known."""
    can_discard: bool | None = None

    @property
    def identity(self) -> tuple[str, bool, int, int]:
        """What stays the same while the device is on."""
        return self.name, self.partition, self.pages, self.priority


@dataclass(frozen=True)
class Sample:
    """All counters at one time, in `seconds` since the first sample. Counters that the kernel lacks are not there."""

    seconds: float
    swaps: tuple[Swap, ...]
    vmstat: dict[str, int]
    sizes: dict[int, dict[str, int]]
    """Counters of folios by their order."""


@dataclass
class Samples:
    """The machine and what was read from it."""

    kernel: str
    cpus: int
    interval: float
    taken: list[Sample] = field(default_factory=list)


@dataclass(frozen=True)
class System:
    """Where the kernel's files are; another root than / is for trees that were copied from elsewhere."""

    root: Path = Path("/")

    def text(self, name: str) -> str | None:
        """Return a file's text, None where the kernel has no such file."""
        try:
            return (self.root / name).read_text(errors="surrogateescape")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise SampleError(f"/{name} cannot be read: {error.strerror}") from error

    def kernel(self) -> str:
        """Return the kernel's release."""
        return (self.text("proc/sys/kernel/osrelease") or "unknown").strip()

    def cpus(self) -> int:
        """Return how many CPUs are online."""
        listed = (self.text("sys/devices/system/cpu/online") or "0").strip()
        ranges = [part.partition("-") for part in listed.split(",")]
        return sum(int(last or first) - int(first) + 1 for first, _, last in ranges)

    def swaps(self) -> tuple[Swap, ...]:
        """Return the swap devices that are on."""
        text = self.text("proc/swaps")
        if text is None:
            raise SampleError("there is no /proc/swaps: this kernel has no swap, or /proc is not mounted")
        return tuple(self._swap(line) for line in text.splitlines()[1:] if line.strip())

    def _swap(self, line: str) -> Swap:
        words = line.split()
        try:
            name, kind, size, used, priority = words
            numbers = int(size) // PAGE_KB, int(used) // PAGE_KB, int(priority)
        except ValueError as error:
            raise SampleError(f"/proc/swaps has a line that is not understood: {line.strip()!r}") from error
        name = _ESCAPE.sub(lambda found: chr(int(found[1], 8)), name)  # as seq_file_path writes blanks
        rotational, discard = self._queue(name)
        return Swap(name, kind == "partition", *numbers, rotational, discard)

    def _queue(self, name: str) -> tuple[bool | None, bool | None]:
        """Tell whether the disk under a swap device or file rotates, and whether it can discard; None: not known."""
        for folder in self._disks(name):
            rotational = self.text(f"{folder}/queue/rotational")
            if rotational is not None:
                most = self.text(f"{folder}/queue/discard_max_bytes")
                return rotational.strip() == "1", None if most is None else int(most) > 0
        return None, None

    def _disks(self, name: str) -> Iterator[str]:
        """Yield folders of /sys that may be the disk's: its own, then, if it is a partition, that of the whole disk."""
        base = Path(os.path.realpath(self.root / name.lstrip("/"))).name
        yield f"sys/block/{base}"
        for found in sorted((self.root / "sys/block").glob(f"*/{base}/partition")):
            yield f"sys/block/{found.parent.parent.name}"
        try:
            number = (self.root / name.lstrip("/")).stat().st_dev
        except OSError:
            return
        place = f"sys/dev/block/{os.major(number)}:{os.minor(number)}"
        yield place
        yield f"{place}/.."

    def vmstat(self) -> dict[str, int]:
        """Return what /proc/vmstat tells of VMSTAT."""
        found = {}
        for line in (self.text("proc/vmstat") or "").splitlines():
            name, _, value = line.partition(" ")
            if name in VMSTAT:
                found[name] = int(value)
        return found

    def sizes(self) -> dict[int, dict[str, int]]:
        """Return what is known of folios of each order, 1 to 9."""
        found: dict[int, dict[str, int]] = {}
        top = "sys/kernel/mm/transparent_hugepage"
        for folder in sorted((self.root / top).glob("hugepages-*kB")):
            size = _SIZE.fullmatch(folder.name)
            order = (int(size[1]) // PAGE_KB).bit_length() - 1 if size else 0
            values = {name: self.text(f"{top}/{folder.name}/stats/{name}") for name in BY_SIZE}
            known = {name: int(value) for name, value in values.items() if value is not None}
            if 1 <= order < ORDERS and known:
                found[order] = known
        return found

    def sample(self, seconds: float) -> Sample:
        """Read all counters, /proc/swaps last: what was counted before has its slots then."""
        vmstat, sizes = self.vmstat(), self.sizes()
        return Sample(seconds, self.swaps(), vmstat, sizes)


def gaps(sample: Sample) -> list[str]:
    """Say what the kernel does not tell, one sentence each."""
    found = []
    orders = [order for order in range(1, ORDERS) if "swpout" not in sample.sizes.get(order, {})]
    if HUGE["swpout"] in sample.vmstat and 9 in orders:
        orders.remove(9)  # known from /proc/vmstat
    if orders:
        found.append(
            "the kernel does not tell how many folios of these orders were swapped out, so that their pages count as "
            f"order 0: {', '.join(map(str, orders))}"
        )
    if not any("swpout_fallback" in sizes for sizes in sample.sizes.values()):
        only = " but order 9" if HUGE["swpout_fallback"] in sample.vmstat else ""
        found.append(f"the kernel does not tell how many large folios found no room, of all orders{only}")
    for swap in sample.swaps:
        if swap.rotational is None:
            found.append(f"whether {swap.name} rotates is not known; it is taken not to")
    return found


def take(
    system: System,
    path: Path,
    seconds: float,
    interval: float,
    progress: Callable[[int, Sample], None] | None = None,
    clock: Callable[[], float] = time.monotonic,
    wait: Callable[[float], None] = time.sleep,
) -> int:
    """Sample for some seconds, one sample an interval and one at the start, into the file `path`; return how many.

    Each line is in the file before the next sample is taken, so an interruption (KeyboardInterrupt) leaves all there.
    `progress` is told how many samples there are, and the latest.
    """
    if not 0.01 <= interval <= seconds:
        raise SampleError(f"an interval of {interval} s in {seconds} s: choose one from 0.01 s to the whole time")
    if (page := os.sysconf("SC_PAGE_SIZE") // 1024) != PAGE_KB:
        raise SampleError(f"this machine's pages have {page} kB; traces are about pages of {PAGE_KB} kB")
    first = system.sample(0.0)
    if not first.swaps:
        raise SampleError("no swap is active (/proc/swaps is empty): switch some on with swapon, then sample")
    if "pswpout" not in first.vmstat:
        raise SampleError("/proc/vmstat has no pswpout: this kernel does not count what it swaps out")
    start = clock()
    with path.open("w") as file:
        put(file, {"format": FORMAT, "version": VERSION, "kernel": system.kernel(), "cpus": system.cpus()}, interval)
        number, sample = 1, first
        while True:
            file.write(json.dumps(asdict(sample)) + "\n")
            file.flush()
            if progress is not None:
                progress(number, sample)
            if number > round(seconds / interval):
                return number
            wait(max(start + number * interval - clock(), 0.0))
            sample = system.sample(round(clock() - start, 6))
            number += 1


def put(file: TextIO, machine: dict[str, Any], interval: float) -> None:
    """Write the first line of a file of samples."""
    file.write(json.dumps({**machine, "interval": interval}) + "\n")


def read(path: Path) -> Samples:
    """Read a file of samples; a last line that was cut off by an interruption is left out."""
    try:
        lines = path.read_text().split("\n")
    except UnicodeDecodeError as error:
        raise SampleError(f"{path}: not a file of samples") from error
    except OSError as error:
        raise SampleError(f"{path}: {error.strerror}") from error
    try:
        machine = json.loads(lines[0])
        if machine["format"] != FORMAT or machine["version"] != VERSION:
            raise SampleError(f"{path}: samples of format {machine['format']}, version {machine['version']}")
        samples = Samples(str(machine["kernel"]), int(machine["cpus"]), float(machine["interval"]))
    except (ValueError, KeyError, TypeError) as error:
        raise SampleError(f"{path}: not a file of samples") from error
    for number, line in enumerate(lines[1:-1], 2):  # what is behind the last end of line is not whole
        try:
            samples.taken.append(_sample(json.loads(line)))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise SampleError(f"{path}: line {number} is no sample ({error})") from error
    if not samples.taken:
        raise SampleError(f"{path}: there is no sample in it")
    return samples


def _sample(values: dict[str, Any]) -> Sample:
    swaps = tuple(Swap(**swap) for swap in values["swaps"])
    for swap in swaps:
        if not 0 <= swap.used <= swap.pages or not swap.pages:
            raise ValueError(f"{swap.name} has {swap.used} of {swap.pages} slots in use")
    sizes = {int(order): {str(name): int(n) for name, n in known.items()} for order, known in values["sizes"].items()}
    if not all(1 <= order < ORDERS for order in sizes):
        raise ValueError("orders are 1 to 9")
    return Sample(float(values["seconds"]), swaps, {k: int(n) for k, n in values["vmstat"].items()}, sizes)
