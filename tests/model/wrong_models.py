# SPDX-License-Identifier: Apache-2.0
"""Golden models with one wrong rule each, for tests of what has to find it."""

from hwswap.model.golden import Allocator


class NeverRequeues(Allocator):
    """Of equal devices the first one is never moved behind the others."""

    def requeue(self, device):
        """Leave it where it is."""


class FreesToHead(Allocator):
    """A cluster that gets empty comes to the head of FREE."""

    def free_cluster(self, device, cluster):
        """Put it there."""
        super().free_cluster(device, cluster)
        device.free.move_to_end(cluster.index, last=False)
