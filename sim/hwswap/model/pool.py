# SPDX-License-Identifier: Apache-2.0
"""The golden model of an allocator that gives clusters their swap tables itself, out of a pool that the host filled."""

from collections.abc import Generator
from typing import Any

from hwswap_map import Flag, Status

from hwswap.model.clusters import Cluster, Device
from hwswap.model.golden import Allocator
from hwswap.model.steps import Step
from hwswap.model.table_words import WORD_BYTES
from hwswap.model.tables import Memory, Tables


class Pool:
    """The pool: an array of tables' addresses in host memory, of which the first `left` are there to be had."""

    def __init__(self, memory: Memory, base: int, size: int) -> None:
        """Begin with `size` addresses from `base` on (registers POOL_BASE and POOL_SIZE)."""
        self.memory = memory
        self.base = base
        self.left = self.least = size

    def take(self) -> int:
        """Take the last table's address; there is one."""
        self.left -= 1
        self.least = min(self.least, self.left)
        return int.from_bytes(self.memory.read(self.base + WORD_BYTES * self.left, WORD_BYTES), "little")

    def put(self, address: int) -> None:
        """Put a table behind the others."""
        self.memory.write(self.base + WORD_BYTES * self.left, address.to_bytes(WORD_BYTES, "little"))
        self.left += 1


class PooledAllocator(Allocator):
    """An allocator whose clusters have a swap table while they are in use, as the kernel's have.

    A cluster gets it when it is taken off FREE (`swap_cluster_populate`) and loses it when it goes there
    (`__free_cluster`), so on DISCARD it keeps it. Clusters with bad slots never were on FREE: their tables, with the
    words of the bad slots, are the host's to give. Without a pool all tables are.
    """

    def __init__(self, memory: Memory, devices: int = 8, cpus: int = 4, clusters: int = 1024) -> None:
        """Start empty and without a pool."""
        super().__init__(devices, cpus, clusters)
        self.tables = Tables(memory, self.devices)
        self.pool: Pool | None = None

    def set_pool(self, base: int, size: int) -> None:
        """Write POOL_BASE and POOL_SIZE, while no device is in use; with size 0 there is no pool."""
        self.pool = Pool(self.tables.memory, base, size) if size else None

    def swapoff(self, type_: int) -> Status:
        """SWAPOFF: the device's tables are forgotten, too; the pool stays as it is."""
        status = super().swapoff(type_)
        if status == Status.OK:
            self.tables.forget(type_)
        return status

    def populate(self, device: Device, cluster: Cluster) -> Generator[Step, Any, bool]:
        """Give a cluster that was on FREE a table of the pool, or put it back if there is none."""
        if self.pool is None:
            return (yield from super().populate(device, cluster))
        if not self.pool.left:
            self.move(device, cluster, Flag.FREE)
            return False
        self.tables.directory[device.type, cluster.index] = self.pool.take()
        return True

    def move(self, device: Device, cluster: Cluster, flag: Flag) -> None:
        """Move a cluster; on FREE it has no table."""
        super().move(device, cluster, flag)
        if flag == Flag.FREE and self.pool is not None:
            address = self.tables.directory.pop((device.type, cluster.index), None)
            if address is not None:
                self.pool.put(address)
