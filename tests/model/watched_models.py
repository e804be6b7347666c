# SPDX-License-Identifier: Apache-2.0
"""The coverage of streams, and the number of devices that an allocation of the golden model visits."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from hwswap.model.golden import Allocator
from hwswap.traces import stream, trace
from hwswap.traces.trace import Op


@dataclass
class Reached:
    """The coverage of streams."""

    ops: Counter[int] = field(default_factory=Counter)
    orders: Counter[int] = field(default_factory=Counter)
    paths: Counter[str] = field(default_factory=Counter)
    types: set[int] = field(default_factory=set)
    cpus: set[int] = field(default_factory=set)

    def records(self, shape: stream.Shape) -> Iterator[trace.Record]:
        """Make one more stream, and count."""
        making = stream.Stream(shape)
        for record in making:
            self.ops[record.op] += 1
            if record.op == Op.ALLOC and record.type != trace.FAILED:
                self.orders[record.order] += 1
                self.types.add(record.type)
                self.cpus.add(record.cpu)
            yield record
        self.paths += making.model.counts.by_path


class Walking(Allocator):
    """Note the longest walk along the devices: (visits, those of rotating devices).

    Count the allocations whose CPU's place is on a device under swapoff, where a search is in vain.
    """

    longest = 0, 0
    left = 0

    def alloc(self, cpu, order):
        """Allocate."""
        device = self.next_offsets[cpu][order].device
        type(self).left += device is not None and not device.writeok
        self.walk = 0, 0
        found = super().alloc(cpu, order)
        type(self).longest = tuple(map(max, self.longest, self.walk))
        return found

    def visit(self, device, cpu):
        """Visit a device."""
        found = super().visit(device, cpu)
        if found[0] is not None:
            self.walk = self.walk[0] + 1, self.walk[1] + found[0].rotating
        return found
