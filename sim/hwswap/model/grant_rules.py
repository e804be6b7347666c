# SPDX-License-Identifier: Apache-2.0
"""What must hold of grants at any time, whatever kernel and engine are at."""

from collections.abc import Mapping

from hwswap_map import Flag

from hwswap.model.cluster_map import LISTED, Word
from hwswap.model.grant_entries import DeviceEntry, Grant, Lines, Placement
from hwswap.model.rows import ORDERS
from hwswap.model.steering import Host, fit

Ring = tuple[int, int]
"""CPU and order."""


def may_serve(word: Word, entry: DeviceEntry, order: int, placement: Placement) -> bool:
    """Tell whether a cluster of this word, of a device of this entry, may serve an order."""
    if word.epoch != entry.epoch:
        return False
    if word.list == Flag.FREE:
        return True
    if word.list not in LISTED or order == ORDERS - 1:
        return False
    return placement is Placement.OPEN or order in (0, word.order)


def offered(lines: Lines, tails: Mapping[Ring, int], type_: int | None = None) -> list[tuple[Ring, Grant]]:
    """Return the grants that no CPU has popped and none would skip.

    Args:
        lines: of all CPUs.
        tails: entries written, by CPU and order.
        type_: of this device alone.

    Returns:
        Grants with their rings.
    """
    found = []
    for (cpu, order), tail in tails.items():
        for index in range(lines.head[cpu][order], tail):
            grant = lines.entry(cpu, order, index)
            if grant is not None and grant.valid and type_ in (None, grant.type):
                found.append(((cpu, order), grant))
    return found


def all_entries_are_there(lines: Lines, tails: Mapping[Ring, int]) -> None:
    """See whether a CPU finds each entry that was written: one without the right phase would stop it for ever."""
    for (cpu, order), tail in tails.items():
        for index in range(lines.head[cpu][order], tail):
            assert lines.entry(cpu, order, index) is not None, "an entry has the wrong phase"


def granted_once(lines: Lines, tails: Mapping[Ring, int], host: Host) -> None:
    """See whether each cluster that is on offer, or held by a CPU, is so once."""
    parts = [(grant.type, grant.cluster) for _, grant in offered(lines, tails)]
    parts += [(held.type, held.cluster) for grants in host.held for held in grants.values()]
    assert len(parts) == len(set(parts)), f"a cluster is granted twice: {sorted(parts)}"


def orders_with_room(host: Host, placement: Placement) -> set[int]:
    """Return the orders for which a device has a cluster with a place."""
    return {
        order
        for device in host.devices.values()
        for cluster in device.clusters
        for order in range(ORDERS)
        if device.entry.serves(order)
        and may_serve(Word(cluster.order, cluster.list, device.entry.epoch), device.entry, order, placement)
        and fit(cluster.used, order, 0) >= 0
    }
