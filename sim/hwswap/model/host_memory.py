# SPDX-License-Identifier: Apache-2.0
"""The contents of the memory that host and engine share: commands, and clusters as DUMP writes them."""

from dataclasses import dataclass

import hwswap_map as m
from hwswap_map import Flag, Opcode

from hwswap.model.rows import SLOTS

_WORD = (1 << 64) - 1
_LINK = (1 << 32) - 1


@dataclass(frozen=True)
class Command:
    """A command to give."""

    opcode: int
    type: int = 0
    cpu: int = 0
    order: int = 0
    nr: int = 0
    arg0: int = 0
    arg1: int = 0
    arg2: int = 0
    irq: bool = False

    def words(self) -> tuple[int, int, int, int]:
        """Return the four words in memory."""
        head = (
            m.MEM_COMMAND_HEAD_OPCODE.put(self.opcode)
            | m.MEM_COMMAND_HEAD_IRQ.put(self.irq)
            | m.MEM_COMMAND_HEAD_CPU.put(self.cpu)
            | m.MEM_COMMAND_HEAD_ORDER.put(self.order)
            | m.MEM_COMMAND_HEAD_TYPE.put(self.type)
            | m.MEM_COMMAND_HEAD_NR.put(self.nr)
        )
        return head, self.arg0, self.arg1, self.arg2

    def pack(self) -> bytes:
        """Return the 32 bytes in memory."""
        return b"".join(word.to_bytes(8, "little") for word in self.words())


def prepare(type_: int, pages: int, base: int, flags: int, priority: int = -1, node: int = 0) -> Command:
    """Return a SWAPON_PREPARE."""
    return Command(
        Opcode.SWAPON_PREPARE,
        type_,
        arg0=pages | base << 32,
        arg1=flags,
        arg2=priority & 0xFFFF | node << 24,
    )


@dataclass(frozen=True)
class ClusterState:
    """A cluster as DUMP writes it: its slots in use, 512 bits, its order, the list that it is on, and its links."""

    bitmap: int
    order: int
    flag: Flag
    before: int | None = None
    """The engine cluster before it in its list; None: the link has no meaning."""
    behind: int | None = None
    """The one behind it."""

    def words(self) -> list[int]:
        """Return the ten words in memory; a link without meaning is 0."""
        meta = (
            m.MEM_CLUSTER_STATE_META_COUNT.put(self.bitmap.bit_count())
            | m.MEM_CLUSTER_STATE_META_ORDER.put(self.order)
            | m.MEM_CLUSTER_STATE_META_FLAG.put(self.flag)
        )
        links = m.MEM_CLUSTER_STATE_LINKS_NEXT.put(self.behind or 0)
        links |= m.MEM_CLUSTER_STATE_LINKS_PREV.put(self.before or 0)
        return [meta, *(self.bitmap >> at & _WORD for at in range(0, SLOTS, 64)), links]

    def masks(self) -> list[int]:
        """Return the bits of these words that have a meaning."""
        links = m.MEM_CLUSTER_STATE_LINKS_NEXT.put(_LINK) if self.behind is not None else 0
        links |= m.MEM_CLUSTER_STATE_LINKS_PREV.put(_LINK) if self.before is not None else 0
        return [_WORD] * (1 + SLOTS // 64) + [links]
