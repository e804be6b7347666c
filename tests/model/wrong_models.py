# SPDX-License-Identifier: Apache-2.0
"""Golden models with one wrong rule each, for tests of the checks that have to find it."""

from hwswap.model.golden import Allocator
from hwswap.model.rows import SLOTS
from hwswap_map import Flag


class NeverRequeues(Allocator):
    """Of equal devices the first one is never moved behind the others."""

    def requeue(self, device):
        """Leave it where it is."""


class FreesToHead(Allocator):
    """A cluster that gets empty comes to the head of FREE."""

    def free_cluster(self, device, cluster):
        """Put it there."""
        super().free_cluster(device, cluster)
        if cluster.flag == Flag.FREE:
            device.free.move_to_end(cluster.index, last=False)


class DiscardsToHead(Allocator):
    """A cluster that has been discarded comes to the head of FREE."""

    def discard_done(self, type_, offset):
        """Put it there."""
        status = super().discard_done(type_, offset)
        self.devices[type_].free.move_to_end(offset // SLOTS, last=False)
        return status
