# SPDX-License-Identifier: Apache-2.0
"""What a host writes into shared memory besides cluster-state records: commands, and its CPU lines."""

from collections.abc import Sequence
from dataclasses import dataclass

import hwswap_map as m
from hwswap_map import Opcode


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
    reclaim: bool = False

    def words(self) -> tuple[int, int, int, int]:
        """Return the four words in memory."""
        head = (
            m.MEM_COMMAND_HEAD_OPCODE.put(self.opcode)
            | m.MEM_COMMAND_HEAD_IRQ.put(self.irq)
            | m.MEM_COMMAND_HEAD_RECLAIM.put(self.reclaim)
            | m.MEM_COMMAND_HEAD_CPU.put(self.cpu)
            | m.MEM_COMMAND_HEAD_ORDER.put(self.order)
            | m.MEM_COMMAND_HEAD_TYPE.put(self.type)
            | m.MEM_COMMAND_HEAD_NR.put(self.nr)
        )
        return head, self.arg0, self.arg1, self.arg2

    def pack(self) -> bytes:
        """Return the 32 bytes in memory."""
        return b"".join(word.to_bytes(8, "little") for word in self.words())


def prepare(
    type_: int, pages: int, base: int, flags: int, priority: int = -1, epoch: int = 0, node: int = 0
) -> Command:
    """Return a SWAPON_PREPARE."""
    return Command(
        Opcode.SWAPON_PREPARE,
        type_,
        arg0=pages | base << 32,
        arg1=flags,
        arg2=priority & 0xFFFF | epoch << 16 | node << 24,
    )


def cpu_line(notice_tail: int, resync: int, want: int, heads: Sequence[int]) -> list[int]:
    """Return the words of a CPU line; `heads` are the entries ever popped of its hint rings, by order."""
    pairs = zip(heads[::2], heads[1::2], strict=True)
    words = [
        m.MEM_CPU_LINE_NOTICE_NOTICE_TAIL.put(notice_tail) | m.MEM_CPU_LINE_NOTICE_RESYNC.put(resync),
        m.MEM_CPU_LINE_WANT_ORDERS.put(want),
        *(m.MEM_CPU_LINE_HINT_HEAD_EVEN.put(even) | m.MEM_CPU_LINE_HINT_HEAD_ODD.put(odd) for even, odd in pairs),
    ]
    return words + [0] * (m.MEM_CPU_LINE_BYTES // 8 - len(words))
