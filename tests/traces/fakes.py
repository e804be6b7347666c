# SPDX-License-Identifier: Apache-2.0
"""A tree of /proc and /sys as a kernel shows it, for what reads counters."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Kernel:
    """Counters of a kernel that is not there; `write` puts them into the tree."""

    root: Path
    cpus: str = "0-3"
    swaps: list[tuple[str, str, int, int, int]] = field(default_factory=list)
    """Name, type, slots, slots in use, priority."""
    vmstat: dict[str, int] = field(default_factory=lambda: {"pswpin": 0, "pswpout": 0})
    sizes: dict[int, dict[str, int]] = field(default_factory=dict)
    """Counters of folios by order."""
    disks: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Folder below /sys/block: whether it rotates, and the most bytes of a discard."""

    def put(self, name: str, text: str) -> None:
        """Write one file, with the folders above it."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def write(self) -> None:
        """Write all files as the counters are now."""
        head = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
        lines = [
            f"{name}{' ' * max(40 - len(name), 1)}{kind}\t{'' if kind == 'partition' else chr(9)}{4 * pages}\t\t"
            f"{4 * used}\t\t{priority}\n"
            for name, kind, pages, used, priority in self.swaps
        ]
        self.put("proc/swaps", head + "".join(lines))
        self.put("proc/vmstat", "nr_free_pages 77\n" + "".join(f"{name} {n}\n" for name, n in self.vmstat.items()))
        self.put("proc/sys/kernel/osrelease", "6.12.9-stock\n")
        self.put("sys/devices/system/cpu/online", self.cpus + "\n")
        for order, counters in self.sizes.items():
            for name, number in counters.items():
                folder = f"sys/kernel/mm/transparent_hugepage/hugepages-{4 << order}kB/stats"
                self.put(f"{folder}/{name}", f"{number}\n")
        for disk, (rotational, discard) in self.disks.items():
            self.put(f"sys/block/{disk}/queue/rotational", f"{rotational}\n")
            self.put(f"sys/block/{disk}/queue/discard_max_bytes", f"{discard}\n")
