# SPDX-License-Identifier: Apache-2.0
"""The use of four equal swap devices, by the way a device is chosen: on Linux 6.12, on 7.3, and by the engine.

Each CPU has the same share of the pages in swap, all together as much as the published machine had, by the size of a
device. In guests these are processes that write memory and page it out, 1 MB at a time (swapfrag); in the golden model
each CPU allocates as many slots, as many at a time, the CPUs in random order.

There are eight nodes with a CPU each. Where nodes matter, the devices are on the first four.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from hwswap.experiments import kernels, published
from hwswap.experiments.comparison import Result, Row
from hwswap.experiments.kernels import LINUX_6_12, LINUX_7_3, Kernel
from hwswap.guest.qemu import GuestError, Machine
from hwswap.model.golden import Allocator
from hwswap.model.policy import DeviceOrder, Policy
from hwswap.model.rows import SLOTS

DEVICES = 4
NODES = 8
DISK_MB, SHORT_DISK_MB = 128, 32
BATCH = 256
"""Pages that are paged out at a time."""

MB = 256
"""Pages."""

SCRIPT = "devices.sh"
SEQUENTIAL, NODE_FIRST, IN_TURN = published.DEVICES_USED


@dataclass(frozen=True)
class Case:
    """A way to choose a device, on a kernel."""

    policy: str
    """Of published.DEVICES_USED."""

    kernel: Kernel
    said: str = ""
    kind: str = "ram"
    priority: str = "default"

    @property
    def system(self) -> str:
        """Say it in words."""
        return f"{self.kernel.name}{self.said}"


CASES = (
    Case(SEQUENTIAL, LINUX_6_12),
    Case(NODE_FIRST, LINUX_6_12, ", devices on nodes", kind="node"),
    Case(IN_TURN, LINUX_6_12, ", equal priorities", priority="5"),
    Case(IN_TURN, LINUX_7_3),
)

ENGINE = {SEQUENTIAL: DeviceOrder.SEQUENTIAL, NODE_FIRST: DeviceOrder.NODE_FIRST, IN_TURN: DeviceOrder.ROUND_ROBIN}


@dataclass(frozen=True)
class Usage:
    """The use of each device, in kB, under one way to choose a device."""

    system: str
    policy: str
    used: Sequence[int]

    def share(self, at: int) -> float:
        """Return a device's share of the pages in use."""
        return self.used[at] / sum(self.used)


def share_mb(policy: str, disk_mb: int) -> int:
    """Return how many MB each CPU has in swap, so that as much of it is in use as in the published table."""
    part = sum(published.DEVICES_USED[policy]) / (DEVICES * published.DEVICE_GB)
    return round(part * DEVICES * disk_mb / NODES)


# Guests


def variables(case: Case, disk_mb: int, seed: int) -> dict[str, str]:
    """Return the variables of the guest's script."""
    return {
        "KIND": case.kind,
        "PRIORITY": case.priority,
        "MB": str(share_mb(case.policy, disk_mb)),
        "DISK_MB": str(disk_mb),
        "SEED": str(seed),
    }


def usage(case: Case, said: Sequence[Sequence[str]], disk_mb: int) -> Usage:
    """Read the output of the guest's script; raise GuestError if it is not right."""
    nodes = next((int(words[1]) for words in said if words[0] == "nodes"), 0)
    if case.kind == "node" and nodes != NODES:
        raise GuestError(f"{case.system}: the guest has {nodes} nodes, not {NODES}")
    used = [int(words[4]) for words in said if words[0] == "swaps"]
    held = [words for words in said if words[0] == "held"]
    if len(used) != DEVICES or len(held) != NODES or not all('"mismatches":0' in words[1] for words in held):
        raise GuestError(f"{case.system}: {len(used)} devices, and of the {NODES} loads {held}")
    pages = share_mb(case.policy, disk_mb) * MB * NODES
    if sum(used) < 4 * pages:
        raise GuestError(f"{case.system}: less is in use than the {pages} pages that were paged out: {used} kB")
    return Usage(case.system, case.policy, used)


def measured(case: Case, disk_mb: int, seed: int) -> Usage:
    """Run a case in a guest."""
    machine = Machine(
        cpus=NODES,
        nodes=NODES,
        in_turn=True,
        memory_mb=512 + 2 * DEVICES * disk_mb,
        disks=DEVICES,
        disk_mb=disk_mb,
        kernel_arguments="null_blk.nr_devices=0",
    )
    return usage(case, kernels.run(case.kernel, machine, SCRIPT, variables(case, disk_mb, seed)), disk_mb)


# The golden model


def modelled(policy: str, disk_mb: int, seed: int) -> Usage:
    """Let the golden model's CPUs allocate, by the engine's policy."""
    clusters = disk_mb * MB // SLOTS
    allocator = Allocator(devices=DEVICES, cpus=NODES, clusters=DEVICES * clusters)
    allocator.nodes = list(range(NODES))
    for type_ in range(DEVICES):
        allocator.prepare(type_, clusters * SLOTS, type_ * clusters, node=type_)
        allocator.swapon(type_)
    allocator.set_policy(Policy(device=ENGINE[policy]))
    batches = [cpu for cpu in range(NODES) for _ in range(share_mb(policy, disk_mb) * MB // BATCH)]
    random.Random(seed).shuffle(batches)
    for cpu in batches:
        for _ in range(BATCH):
            found = allocator.alloc(cpu, 0)
            assert found is not None, "there is room for all"
    used = [4 * (device.used - device.bad) for device in allocator.devices.values()]
    return Usage(f"engine, {ENGINE[policy].name.lower().replace('_', '-')}", policy, used)


# Rows and tables


def rows(found: Sequence[Usage]) -> list[Row]:
    """Return the figures that were published, and ours."""
    return [
        Row(
            f"% of what is in use, {policy}, device {at}: {one.system}",
            100 * one.share(at),
            100 * used[at] / sum(used),
            published.ROUND_ROBIN,
            digits=1,
        )
        for policy, used in published.DEVICES_USED.items()
        for at in range(DEVICES)
        for one in found
        if one.policy == policy
    ]


def run(seed: int, short: bool) -> Result:
    """Do the experiment."""
    disk_mb = SHORT_DISK_MB if short else DISK_MB
    found = [measured(case, disk_mb, seed) for case in CASES]
    found += [modelled(policy, disk_mb, seed) for policy in published.DEVICES_USED]
    return Result(
        f"Four equal swap devices of {disk_mb} MB: which part of what is in use is on each",
        rows(found),
        [],
        (
            "Throughput (18 % more by round robin than node first): nothing is timed.",
            "Sizes: theirs are zram devices of 16 GB, ours RAM disks, filled to the same part of all four together.",
            (
                "The first published table is of a kernel that did not ask for nodes, with priorities from -1 on. "
                "Linux 6.12 does the same with devices that are on no node."
            ),
        ),
    )
