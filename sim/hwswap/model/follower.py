# SPDX-License-Identifier: Apache-2.0
"""A golden model whose lists change when a trace says that the kernel's did, not when the model decides so."""

from hwswap_map import Flag, Status

from hwswap.model.clusters import Cluster, Device
from hwswap.model.golden import Allocator


class Mismatch(Exception):  # not an error: a replay looks for it
    """A difference at the present record: the trace's value, and the model's."""

    def __init__(self, expected: str, got: str) -> None:
        """Note both."""
        super().__init__(f"the trace has {expected}, the golden model {got}")
        self.expected = expected
        self.got = got


class Follower(Allocator):
    """A model whose lists change when it is told so, not when it decides so."""

    hosted = True

    def __init__(self, devices: int, cpus: int, clusters: int) -> None:
        """Start with nothing waiting."""
        super().__init__(devices, cpus, clusters)
        self.waiting: dict[tuple[int, int], Flag] = {}

    def move(self, device: Device, cluster: Cluster, flag: Flag) -> None:
        """Note where a cluster goes as soon as the trace has the move."""
        key = device.type, cluster.index
        if key in self.waiting:
            raise Mismatch("something else", f"cluster {cluster.index} still on its way to {self.waiting[key].name}")
        self.waiting[key] = flag

    def moved(self, device: Device, cluster: Cluster) -> None:
        """Move a cluster now to where it goes."""
        super().move(device, cluster, self.waiting.pop((device.type, cluster.index)))

    def make_available(self, device: Device) -> None:
        """Leave the available list alone: the trace says when it changes."""

    def add_usage(self, device: Device, nr: int) -> None:
        """Count slots as used; the available list changes when the trace says so."""
        device.used += nr

    def drop_usage(self, device: Device, nr: int) -> None:
        """Count slots as free; the available list changes when the trace says so."""
        device.used -= nr
        device.came_full = False

    def swapoff_begin(self, type_: int) -> Status:
        """Take write permission away; the device leaves the available list when the trace says so."""
        device = self.devices.get(type_)
        if device is None:
            return Status.BAD_DEVICE
        device.writeok = False
        return Status.OK
