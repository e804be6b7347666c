# SPDX-License-Identifier: Apache-2.0
"""The firmware's allocators, compiled for the host, and an independent judge of any swap allocator's answers."""

import ctypes
import subprocess
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

from hwswap.model.clusters import BLKDEV
from hwswap.model.rows import SLOTS, free_runs, run
from hwswap.project.paths import ROOT

SOURCE = ROOT / "litex" / "firmware"

WORD_FREE = 0
WORD_BAD = (~0 << 3) & (1 << 64) - 1


def word_of(pfn: int) -> int:
    """The table word of a slot that holds folio `pfn`: a cached folio, count 0."""
    return pfn << 2 | 2


class Status(IntEnum):
    """enum swap_status."""

    OK = 0
    NO_SPACE = 1
    BAD_DEVICE = 2
    BAD_RANGE = 3
    UNSUPPORTED = 4
    NO_MEMORY = 5


class Place(ctypes.Structure):
    """struct swap_place."""

    _fields_ = (("type", ctypes.c_uint32), ("offset", ctypes.c_uint32))


_SWAP = ctypes.c_void_p
_UINT = ctypes.c_uint
_U32 = ctypes.c_uint32


def _method(*arguments):
    return ctypes.CFUNCTYPE(ctypes.c_int, _SWAP, *arguments)


class Ops(ctypes.Structure):
    """struct swap_ops."""

    _fields_ = (
        ("create", ctypes.c_void_p),
        ("destroy", ctypes.CFUNCTYPE(None, _SWAP)),
        ("prepare", _method(_UINT, _U32, _UINT, ctypes.c_int)),
        ("mark_bad", _method(_UINT, _U32, _UINT)),
        ("swapon", _method(_UINT)),
        ("swapoff_begin", _method(_UINT)),
        ("swapoff", _method(_UINT)),
        ("alloc", _method(_UINT, _UINT, ctypes.c_uint64, ctypes.POINTER(Place))),
        ("free", _method(_UINT, _U32, _UINT)),
        ("word", ctypes.CFUNCTYPE(ctypes.c_uint64, _SWAP, _UINT, _U32)),
    )


def compile_library(folder: Path, word_bits: int) -> ctypes.CDLL:
    """Compile both allocators; `word_bits` is how wide the tuned one's bitmap words are."""
    library = folder / f"allocators-{word_bits}.so"
    sources = [SOURCE / "allocator" / "stock.c", SOURCE / "allocator" / "tuned.c", SOURCE / "host" / "host.c"]
    command = ["cc", "-std=c17", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-DBITS_WORD={word_bits}"]
    # Undefined behaviour of C ends the program.
    command += ["-fsanitize=undefined", "-fsanitize-undefined-trap-on-error", f"-I{SOURCE / 'allocator'}"]
    subprocess.run([*command, f"-I{ROOT / 'hw' / 'generated'}", "-o", library, *sources], check=True)
    loaded = ctypes.CDLL(str(library))
    loaded.host_create.restype = _SWAP
    loaded.host_create.argtypes = (ctypes.POINTER(Ops), _UINT, _UINT)
    loaded.host_held.restype = ctypes.c_size_t
    return loaded


class Allocator:
    """One of the two allocators, on the host."""

    def __init__(self, library: ctypes.CDLL, name: str, devices: int = 32, cpus: int = 1) -> None:
        """Make `stock` or `tuned`."""
        self.library = library
        self.ops = Ops.in_dll(library, f"swap_{name}")
        self.swap = library.host_create(ctypes.byref(self.ops), devices, cpus)
        assert self.swap
        self.place = Place()

    def __getattr__(self, name: str):
        """An operation that returns a status: prepare, mark_bad, swapon, swapoff_begin, swapoff, free."""
        operation = getattr(self.ops, name)
        return lambda *arguments: Status(operation(self.swap, *arguments))

    def alloc(self, cpu: int, order: int, pfn: int) -> tuple[int, int] | None:
        """Allocate 2^order slots: device and offset, None for none."""
        status = self.ops.alloc(self.swap, cpu, order, pfn, ctypes.byref(self.place))
        if status == Status.NO_SPACE:
            return None
        assert status == Status.OK, Status(status)
        return self.place.type, self.place.offset

    def word(self, type_: int, offset: int) -> int:
        """A slot's table word."""
        return self.ops.word(self.swap, type_, offset)

    def destroy(self) -> int:
        """End it; return the bytes that it and others still hold."""
        self.ops.destroy(self.swap)
        return self.library.host_held()


@dataclass
class _Cluster:
    used: int = 0
    bad: int = 0
    order: int = 0


@dataclass
class _Device:
    pages: int
    flags: int
    writeok: bool = False
    clusters: list[_Cluster] = field(default_factory=list)


class Judge:
    """Knows, from the operations alone, which slots are in use and which an allocation may have.

    Written from the rules, without any allocator's ideas of lists or of where to look.
    """

    def __init__(self) -> None:
        """Start without devices."""
        self.devices: dict[int, _Device] = {}
        self.words: dict[tuple[int, int], int] = {}

    def prepare(self, type_: int, pages: int, flags: int) -> None:
        """Add a device: its header, and the last cluster's slots beyond its end, are bad."""
        count = -(-pages // SLOTS)
        device = _Device(pages, flags, clusters=[_Cluster() for _ in range(count)])
        self.devices[type_] = device
        self.mark_bad(type_, 0, 1)
        if pages % SLOTS:
            self.mark_bad(type_, pages, SLOTS - pages % SLOTS)

    def mark_bad(self, type_: int, offset: int, nr: int) -> None:
        """Slots are bad."""
        cluster = self.devices[type_].clusters[offset // SLOTS]
        cluster.bad |= run(offset % SLOTS, nr)
        cluster.used |= cluster.bad
        for slot in range(offset, offset + nr):
            self.words[type_, slot] = WORD_BAD

    def swapon(self, type_: int) -> None:
        """Slots of the device may be given."""
        self.devices[type_].writeok = True

    def swapoff_begin(self, type_: int) -> None:
        """They may not any more."""
        self.devices[type_].writeok = False

    def swapoff(self, type_: int) -> None:
        """The device goes."""
        device = self.devices.pop(type_)
        for cluster in device.clusters:
            assert cluster.used == cluster.bad, "a device goes that is in use"
        self.words = {place: word for place, word in self.words.items() if place[0] != type_}

    def alloc(self, order: int, result: tuple[int, int] | None, pfn: int) -> None:
        """Judge an allocation's result."""
        if result is None:
            assert not (there := self.legal_run(order)), f"order {order} failed, but there is a run at {there}"
            return
        type_, offset = result
        nr = 1 << order
        device = self.devices[type_]
        assert device.writeok, f"device {type_} gives no slots"
        assert not order or device.flags & BLKDEV, f"device {type_} takes no order {order}"
        assert 0 < offset <= device.pages - nr, f"offset {offset} of {device.pages}"
        assert offset % nr == 0, f"offset {offset} is not aligned for order {order}"
        cluster = device.clusters[offset // SLOTS]
        mask = run(offset % SLOTS, nr)
        assert not cluster.used & mask, f"slots {offset} to {offset + nr - 1} are in use"
        if not cluster.used:
            cluster.order = order
        assert order in (0, cluster.order), f"order {order} in a cluster of order {cluster.order}"
        cluster.used |= mask
        for slot in range(offset, offset + nr):
            self.words[type_, slot] = word_of(pfn)

    def legal_run(self, order: int) -> tuple[int, int] | None:
        """The first place an allocation of an order could legally have; None: there is none."""
        for type_, device in self.devices.items():
            if not device.writeok or (order and not device.flags & BLKDEV):
                continue
            for index, cluster in enumerate(device.clusters):
                if order and cluster.used and cluster.order != order:
                    continue
                runs = free_runs(cluster.used, order)
                if runs:
                    return type_, index * SLOTS + (runs & -runs).bit_length() - 1
        return None

    def free(self, type_: int, offset: int, nr: int) -> None:
        """Slots are given back."""
        cluster = self.devices[type_].clusters[offset // SLOTS]
        mask = run(offset % SLOTS, nr)
        assert cluster.used & ~cluster.bad & mask == mask, "freed what was not in use"
        cluster.used &= ~mask
        if not cluster.used:
            cluster.order = 0
        for slot in range(offset, offset + nr):
            del self.words[type_, slot]

    def check_words(self, allocator: Allocator) -> None:
        """Compare all table words."""
        for type_, device in self.devices.items():
            for slot in range(len(device.clusters) * SLOTS):
                word = allocator.word(type_, slot)
                expected = self.words.get((type_, slot), WORD_FREE)
                assert word == expected, f"slot {slot} of device {type_} has the word {word:#x}, not {expected:#x}"

    def in_use(self, type_: int) -> list[tuple[int, int]]:
        """The slots of a device in use, as (cluster, bitmap) without bad ones."""
        return [(i, cluster.used & ~cluster.bad) for i, cluster in enumerate(self.devices[type_].clusters)]
