# SPDX-License-Identifier: Apache-2.0
"""Discards in streams for a running kernel, whose worker does none by itself: a script holds it back.

Clusters are discarded in two ways. A script asks for all that wait on a device: in a trace a DISCARD_TAKE and a
DISCARD_DONE for each, then a DISCARD_TAKE of none. Or an allocation of order 0 that found nothing discards by itself,
and tries again (`folio_alloc_swap`): an ALLOC that failed, DISCARD_TAKE and DISCARD_DONE in turn, and another ALLOC.
So an ALLOC after a DISCARD_DONE is the same allocation as the one that failed before.
"""

from itertools import groupby

from hwswap_map import Status

from hwswap.model.clusters import Device
from hwswap.model.golden import Allocator
from hwswap.model.rows import SLOTS
from hwswap.traces import trace
from hwswap.traces.records import Op, Record


class KernelDiscards:
    """A kernel's discards, and the states in which an allocation would never end."""

    def __init__(self, model: Allocator) -> None:
        """Begin without devices."""
        self.model = model
        self.active: list[Device] = []
        """All devices with write permission by priority, equals in the order they came (swap_active_head)."""

    def note(self, record: Record) -> None:
        """Take note of a device that comes or goes, once the model has carried that out."""
        if record.op == Op.SWAPON:
            device = self.model.devices[record.type]
            behind = (at for at, other in enumerate(self.active) if other.priority < device.priority)
            self.active.insert(next(behind, len(self.active)), device)
        elif record.op == Op.SWAPOFF_BEGIN:
            self.active.remove(self.model.devices[record.type])

    def goes_round(self) -> bool:
        """Tell whether an allocation of order 0 would not come to its end.

        Of two equal devices that are available and have nothing to give, since all of that waits for a discard or they
        are full and were taken back, the kernel visits each again and again (`swap_alloc_slow`).
        """
        for _, equals in groupby(self.model.available, lambda device: device.priority):
            devices = list(equals)
            if any(device.total - device.used > SLOTS * len(device.discard) for device in devices):
                return False
            if len(devices) > 1:
                return True
        return False

    def first(self) -> Device | None:
        """Return the device whose clusters an allocation discards if it finds nothing (`swap_sync_discard`)."""
        return next((device for device in self.active if device.discard), None)

    def retry(self, cpu: int) -> list[Record]:
        """Discard as an allocation of order 0 that has failed does, and allocate again; nothing if none waits."""
        device = self.first()
        if device is None:
            return []
        # It has not ended there.
        self.model.counts.by_path["fail"] -= 1
        return [*self._all_of(device), trace.alloc(cpu, 0, self.model.alloc(cpu, 0))]

    def ask(self, type_: int) -> list[Record]:
        """Discard all that waits on a device, as a script asks for it."""
        return [*self._all_of(self.model.devices[type_]), trace.discard_take(type_, self.model.discard_take(type_)[1])]

    def _all_of(self, device: Device) -> list[Record]:
        """Discard one cluster after the other (`swap_do_scheduled_discard`)."""
        records = []
        while device.discard:
            _, offset = self.model.discard_take(device.type)
            status = self.model.discard_done(device.type, offset)
            assert status == Status.OK
            records += [trace.discard_take(device.type, offset), trace.discard_done(device.type, offset)]
        return records
