# SPDX-License-Identifier: Apache-2.0
"""The machine of a guest."""

from dataclasses import dataclass


def counting(release: str) -> str:
    """Return the platform of figures of a guest with `icount`, on Linux `release`."""
    return f"Linux {release} in a guest whose one CPU counts instructions"


@dataclass(frozen=True)
class Machine:
    """CPUs, memory and disks of a guest."""

    cpus: int = 1
    icount: bool = False
    """One instruction takes one nanosecond of guest time; one CPU only. Idle time is skipped."""
    in_turn: bool = False
    """CPUs run in turn, in one thread of the host: a CPU that waits for another gets it, however busy the host is."""
    nodes: int = 1
    """NUMA nodes; each is a socket and has as many CPUs, and the first one has all memory."""
    memory_mb: int = 768
    disks: int = 4
    """RAM disks /dev/ram0 and up, for swap."""
    disk_mb: int = 128
    kernel_arguments: str = ""
    outbox_mb: int = 64
    """Size of /dev/vda, through which files leave the guest."""

    def __post_init__(self) -> None:
        """Refuse a machine that cannot be booted."""
        if self.icount and self.cpus != 1:
            raise ValueError("a guest whose clock counts instructions has one CPU")
        if self.cpus % self.nodes:
            raise ValueError("each node of a guest has as many CPUs")

    def node_arguments(self) -> list[str]:
        """Return QEMU's arguments for more than one node."""
        each = self.cpus // self.nodes
        command = []
        for node in range(self.nodes) if self.nodes > 1 else ():
            memory = "" if node else ",memdev=ram"
            command += ["-numa", f"node,nodeid={node},cpus={node * each}-{node * each + each - 1}{memory}"]
        return command
