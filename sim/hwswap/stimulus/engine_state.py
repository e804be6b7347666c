# SPDX-License-Identifier: Apache-2.0
"""The engine's own state against the golden model's: its devices, its clusters, its counts.

CHECK looks at its lists, DUMP tells its clusters.
"""

from collections.abc import Iterable

import hwswap_map as m
from hwswap_map import Opcode, Status

from hwswap.model.golden import Allocator
from hwswap.model.host_memory import Command
from hwswap.stimulus.commands import Expected
from hwswap.stimulus.script import DUMP, WORD, Script, Sizes

AT_ONCE = 512
"""Clusters of one DUMP."""

GUARD = 0x5A5A
"""The words before and after the records, which must stay."""


def device_table(script: Script, model: Allocator, sizes: Sizes) -> None:
    """Compare the registers of the device table with the model."""
    for type_ in range(sizes.devices):
        at = m.DEVICE_BASE + m.DEVICE_STRIDE * type_
        device = model.devices.get(type_)
        if device is None:
            script.read(at + m.DEVICE_SIZE_OFFSET, 0)
            script.read(at + m.DEVICE_STATE_OFFSET, 0)
            continue
        script.read(
            at + m.DEVICE_SIZE_OFFSET, m.DEVICE_SIZE_PAGES.put(device.pages) | m.DEVICE_SIZE_BASE.put(device.base)
        )
        script.read(
            at + m.DEVICE_STATE_OFFSET,
            m.DEVICE_STATE_USED.put(device.used)
            | m.DEVICE_STATE_PRIORITY.put(device.priority & 0xFFFF)
            | m.DEVICE_STATE_CLAIMED.put(1)
            | m.DEVICE_STATE_WRITEOK.put(device.writeok)
            | m.DEVICE_STATE_AVAILABLE.put(device in model.available),
        )


def clusters(script: Script, model: Allocator, types: Iterable[int]) -> None:
    """Have the engine check its lists and write its clusters, and compare these with the model's, device by device."""
    for type_ in types:
        script.give([Expected(Command(Opcode.CHECK, type_), Status.OK)])
        states = model.dump(type_)
        for first in range(0, len(states), AT_ONCE):
            part = states[first : first + AT_ONCE]
            words = [GUARD, *(word for state in part for word in state.words()), GUARD]
            masks = [WORD, *(mask for state in part for mask in state.masks()), WORD]
            for at in (DUMP, DUMP + 8 * (len(words) - 1)):
                script.put(at, GUARD)
            target = script.base + DUMP + 8
            command = Command(Opcode.DUMP, nr=len(part), arg0=model.devices[type_].base + first, arg1=target)
            script.give([Expected(command, Status.OK)])
            for number, (word, mask) in enumerate(zip(words, masks, strict=True)):
                script.expect(DUMP + 8 * number, word, mask)


def whole(script: Script, model: Allocator, sizes: Sizes) -> None:
    """Compare all devices and all of their clusters with the model."""
    device_table(script, model, sizes)
    clusters(script, model, sorted(model.devices))


def statistics(script: Script, model: Allocator, requests: int, moves: bool = True) -> None:
    """Compare the statistics registers, after so many requests by page; `moves`: of lists, too."""
    s = script
    s.note("statistics")
    paths = model.counts.by_path
    for name, value in (
        ("COMMANDS", s.tail + requests),
        ("COMMAND_ERRORS", s.errors),
        *((f"ALLOC_{path.upper()}", paths[path]) for path in ("fast", "nonfull", "free", "frag", "steal", "fail")),
        ("FREES", model.counts.frees),
        ("SCANS", model.counts.scans),
        *((("LIST_MOVES", model.counts.list_moves),) if moves else ()),
    ):
        s.read(getattr(m, f"STAT_{name}_OFFSET"), value)
    free = sum(device.total - device.used for device in model.devices.values() if device.writeok)
    s.read(m.USAGE_OFFSET, m.USAGE_SLOTS.put(free))
    s.read(m.CMD_HEAD_OFFSET, s.tail)
    s.read(m.STATUS_OFFSET, 0)
    s.beats()
