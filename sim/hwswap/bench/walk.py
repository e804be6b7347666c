# SPDX-License-Identifier: Apache-2.0
"""Measure the longest calls of the allocator: `make bench-offload PART=walk`.

A call without a hint looks into every cluster on the NONFULL list of its order, with preemption off. Here each cluster
has one free slot, and none has room for a folio of 64 kB. The first call looks into all clusters and moves them to the
FRAG list; the next calls look into one cluster there. A wide search looks into LARGE_SEARCH more.
"""

import json
import struct
import sys
from pathlib import Path
from typing import Any

from hwswap.bench import fallbacks
from hwswap.bench.lines import TOLERANCE
from hwswap.bench.targets import Target
from hwswap.guest.qemu import Guest, GuestError, Machine
from hwswap.project import artifacts, paths
from hwswap.results.schema import Figure

GUEST = paths.ROOT / "sim/guest"
SIZES = (1, 4, 16, 64)
"""GiB of swap."""

SHORT_SIZES = (1, 4)
CLUSTERS_PER_GIB = 512
MOST = 1000 * fallbacks.LARGE_SEARCH
"""Instructions of a wide search at most: 1,000 for each cluster."""

KERNELS = {"unpatched": artifacts.KERNEL_UNPATCHED, "tuned": artifacts.KERNEL}
CALLS = {"nonfull": "first call", "again": "next calls", "wide": "next calls, wide search"}
"""Name of a call in the guest's lines -> its name in tables."""

Lines = dict[tuple[str, str, int], dict[str, Any]]
"""Kernel, call, GiB of swap -> a line of the bench."""


def allocations() -> bytes:
    """Return 4,096 operations of the allocator's script, each of which allocates a folio of 64 kB."""
    return struct.pack("<Q", 1 << 60 | 4) * 4096


def frees(sizes: tuple[int, ...]) -> bytes:
    """Return operations that free slot 16 of each cluster of the first device."""
    clusters = max(sizes) * CLUSTERS_PER_GIB
    return b"".join(struct.pack("<Q", 2 << 60 | 1 << 50 | (cluster * 512 + 16)) for cluster in range(clusters))


def entries(kernel: str, output: str, sizes: tuple[int, ...]) -> Lines:
    """Return the guest's lines; raise GuestError if they are not right."""
    found: Lines = {}
    for line in output.splitlines():
        if line.startswith("@walk "):
            _, call, gib, said = line.split(" ", 3)
            entry = json.loads(said)
            if entry["op"] == "alloc":
                found[kernel, call, int(gib)] = entry
    calls = CALLS if kernel == "tuned" else list(CALLS)[:2]
    if len(found) != len(calls) * len(sizes) or "@done" not in output:
        raise GuestError(f"{kernel}: {len(found)} figures; the guest's last words:\n{output[-1500:]}")
    if any(entry["failed"] != entry["n"] for entry in found.values()):
        raise GuestError(f"{kernel}: a folio found room where there was none")
    return found


def measure(output: Path, short: bool) -> dict[str, Any]:
    """Run a guest for each kernel; return the report."""
    sizes = SHORT_SIZES if short else SIZES
    files = {
        "bench-walk": (GUEST / "bench-walk.sh").read_bytes(),
        "walk-allocations": allocations(),
        "walk-frees": frees(sizes),
    }
    report: dict[str, Any] = {"short": short, "lines": {}}
    for step, (name, kernel) in enumerate(KERNELS.items(), 1):
        print(f"bench-offload: step {step} of {len(KERNELS)}: longest calls, {name}", file=sys.stderr)
        search = fallbacks.LARGE_SEARCH if name == "tuned" else 0
        script = f"SIZES='{' '.join(map(str, sizes))}'\nLARGE_SEARCH={search}\n. /bench-walk\n"
        log = output / f"walk-{name}.kernel.log"
        machine = Machine(cpus=1, icount=True, disks=1, disk_mb=max(sizes) << 10)
        with Guest(machine, files=files, job=script, log=log, kernel=kernel, boot_timeout=600) as guest:
            report["linux"] = guest.release
            report["lines"] |= entries(name, guest.wait_job(3600).check(), sizes)
    return report


def figures(report: dict[str, Any]) -> list[Figure]:
    """Return the longest call of each kind, by size of swap; an interrupt may fall into a wide search."""
    return [
        Figure(
            f"{CALLS[call]}, {gib} GiB", kernel, line["max"], "instructions", {}, None if call == "wide" else TOLERANCE
        )
        for (kernel, call, gib), line in report["lines"].items()
    ]


def wanted(report: dict[str, Any]) -> list[Target]:
    """Return the targets: a wide search is bounded at any size."""
    longest = {gib: line["max"] for (_, call, gib), line in report["lines"].items() if call == "wide"}
    return [
        Target(f"longest call, wide search, {gib} GiB", f"{most:,}", f"at most {MOST:,}", most <= MOST)
        for gib, most in longest.items()
    ]
