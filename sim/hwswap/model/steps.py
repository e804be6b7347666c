# SPDX-License-Identifier: Apache-2.0
"""Steps of an allocation, under a lock or with a question: the points at which other CPUs may come between.

`Allocator.allocation` is a generator of these. Run to its end at once it is the sequential allocator; a replay of a
trace of many CPUs lets each go on where the trace says that its CPU did.
"""

from dataclasses import dataclass
from typing import NamedTuple

from hwswap_map import Flag

from hwswap.model.clusters import Cluster, Device


@dataclass(slots=True)
class Operation:
    """An allocation under way: `cpu` may change while it sleeps, `order` does not."""

    cpu: int
    order: int


class Resume(NamedTuple):
    """Lock the cluster of a remembered place and use it if that is possible (`swap_alloc_fast`). Answer: none."""

    device: Device
    offset: int


class Visit(NamedTuple):
    """Move the next device after its equals (`plist_requeue`), under swap_avail_lock.

    `device` is the one to visit, None for the first that is available. Answer: (device, successor), each perhaps None.
    """

    device: Device | None


class Turn(NamedTuple):
    """Wait for a rotating device's global_cluster_lock. No answer."""

    device: Device


class Isolate(NamedTuple):
    """Take the first cluster off a list (`isolate_lock_cluster`), under si->lock. Answer: the cluster or None."""

    device: Device
    flag: Flag
    order: int


class Populate(NamedTuple):
    """Give a cluster from FREE its table (`swap_cluster_populate`). Answer: False if there is no memory."""

    device: Device
    cluster: Cluster


class Attempt(NamedTuple):
    """Before a search that began at `start` settles for `slot` (-1: for nothing), reclaim cached slots on the way.

    Answer: None, or the first slot of the range that was reclaimed, whatever came of it (`cluster_reclaim_range`);
    what was freed has been freed by then.
    """

    device: Device
    cluster: Cluster
    start: int
    slot: int


class HalfUsed(NamedTuple):
    """Ask whether more than half of all swap is used (`vm_swap_full`). Answer: bool."""


class ReclaimFull(NamedTuple):
    """Reclaim the cached slots of a cluster from FULL (`swap_reclaim_full_clusters`). Answer: none."""

    device: Device
    cluster: Cluster


class Scanned(NamedTuple):
    """A scan has ended, the cluster's lock is about to be released; `offset` is 0 if nothing was found. No answer."""

    device: Device
    cluster: Cluster
    start: int
    offset: int


Step = Resume | Visit | Turn | Isolate | Populate | Attempt | HalfUsed | ReclaimFull | Scanned
