# SPDX-License-Identifier: Apache-2.0
"""The advisory side as a plain Python model: the kernel's tables are the truth, the engine follows and proposes.

Each cluster has two bitmaps: what the kernel uses, as last applied, and what outstanding hints hold. Lists and
counts are over both together, so a hint is made by the same search as an allocation. docs/architecture.md tells the
rules.
"""

from dataclasses import dataclass

from hwswap_map import (
    MEM_CLUSTER_STATE_BITMAP_OFFSET,
    MEM_CLUSTER_STATE_BYTES,
    MEM_CLUSTER_STATE_META_COUNT,
    MEM_CLUSTER_STATE_META_EPOCH,
    MEM_CLUSTER_STATE_META_FLAG,
    MEM_CLUSTER_STATE_META_OFFSET,
    MEM_CLUSTER_STATE_META_ORDER,
    MEM_CLUSTER_STATE_META_SEQ,
    MEM_CLUSTER_STATE_TAIL_OFFSET,
    MEM_CLUSTER_STATE_TAIL_SEQ_BEGIN,
    MEM_DEVICE_FLAGS_FLAGS_NO_HINTS,
    Flag,
    Status,
)

from hwswap.model.golden import SOLIDSTATE, Allocator, Cluster, Device, Slots
from hwswap.model.rows import BLOCK, SLOTS

NO_HINTS = MEM_DEVICE_FLAGS_FLAGS_NO_HINTS.put(1)

SEQ_BITS = 32


@dataclass(frozen=True)
class Record:
    """A cluster-state record: one cluster as the host tells it."""

    bitmap: int
    order: int
    flag: Flag
    seq: int
    epoch: int

    @property
    def count(self) -> int:
        """Slots in use."""
        return self.bitmap.bit_count()

    def pack(self, seq_begin: int | None = None) -> bytes:
        """Return the 80 bytes in host memory; another `seq_begin` makes a record that is being written."""
        meta = (
            MEM_CLUSTER_STATE_META_SEQ.put(self.seq)
            | MEM_CLUSTER_STATE_META_COUNT.put(self.count)
            | MEM_CLUSTER_STATE_META_ORDER.put(self.order)
            | MEM_CLUSTER_STATE_META_FLAG.put(self.flag)
            | MEM_CLUSTER_STATE_META_EPOCH.put(self.epoch)
        )
        tail = MEM_CLUSTER_STATE_TAIL_SEQ_BEGIN.put(self.seq if seq_begin is None else seq_begin)
        return meta.to_bytes(8, "little") + self.bitmap.to_bytes(SLOTS // 8, "little") + tail.to_bytes(8, "little")

    @classmethod
    def unpack(cls, data: bytes) -> "Record":
        """Read the 80 bytes; a record whose numbers contradict each other is a ValueError."""
        if len(data) != MEM_CLUSTER_STATE_BYTES:
            raise ValueError(f"a cluster state is {MEM_CLUSTER_STATE_BYTES} bytes, not {len(data)}")

        def word(offset: int) -> int:
            return int.from_bytes(data[offset : offset + 8], "little")

        meta = word(MEM_CLUSTER_STATE_META_OFFSET)
        first = MEM_CLUSTER_STATE_BITMAP_OFFSET
        bitmap = int.from_bytes(data[first : first + SLOTS // 8], "little")
        seq = MEM_CLUSTER_STATE_META_SEQ.get(meta)
        begin = MEM_CLUSTER_STATE_TAIL_SEQ_BEGIN.get(word(MEM_CLUSTER_STATE_TAIL_OFFSET))
        if begin != seq:
            raise ValueError(f"SEQ is {seq}, SEQ_BEGIN is {begin}: the record is being written")
        count = MEM_CLUSTER_STATE_META_COUNT.get(meta)
        if count != bitmap.bit_count():
            raise ValueError(f"COUNT is {count}, the bitmap has {bitmap.bit_count()} slots in use")
        return cls(
            bitmap=bitmap,
            order=MEM_CLUSTER_STATE_META_ORDER.get(meta),
            flag=Flag(MEM_CLUSTER_STATE_META_FLAG.get(meta)),
            seq=seq,
            epoch=MEM_CLUSTER_STATE_META_EPOCH.get(meta),
        )


class MirrorCluster(Cluster):
    """A cluster with the kernel's view (`kernel`, `kflag`, `korder`, `kseq`) beside the effective one it inherits."""

    __slots__ = ("hinted", "kernel", "kflag", "korder", "kseq")

    def __init__(self, index: int) -> None:
        """Make an empty cluster that takes a record of any sequence number."""
        super().__init__(index)
        self.kernel = 0
        self.hinted = 0
        self.kflag = Flag.NONE
        self.korder = 0
        self.kseq: int | None = None


class MirrorDevice(Device):
    """A device whose clusters are mirrored."""

    def __init__(self, type_: int, pages: int, base: int, flags: int, priority: int, epoch: int) -> None:
        """Claim clusters as the kernel does; its bad slots are its own, no hint's."""
        super().__init__(type_, pages, base, flags, priority, epoch)
        effective = [(cluster.used, cluster.count) for cluster in self.clusters]
        self.clusters: list[Cluster] = [MirrorCluster(index) for index in range(len(effective))]
        for cluster, (used, count) in zip(self.clusters, effective, strict=True):
            cluster.used = used
            cluster.count = count
            cluster.bad = used
            assert isinstance(cluster, MirrorCluster)
            cluster.kernel = used

    def set_bad(self, offset: int, nr: int) -> None:
        """Count bad slots as the kernel's."""
        super().set_bad(offset, nr)
        cluster = self.clusters[offset // SLOTS]
        if isinstance(cluster, MirrorCluster):
            cluster.kernel = cluster.used


class Mirror(Allocator):
    """The engine in advisory mode. `free` of the authoritative side is not for it; `hint`, `apply`, `release` are."""

    def new_device(self, type_: int, pages: int, base: int, flags: int, priority: int, epoch: int) -> Device:
        """Make a device with mirrored clusters."""
        return MirrorDevice(type_, pages, base, flags, priority, epoch)

    def hint(self, cpu: int, order: int) -> Slots | None:
        """Reserve 2^order slots for a hint, found as an allocation's are (`folio_alloc_swap`)."""
        return self.alloc(cpu, order)

    def offered(self, cpu: int) -> list[Device]:
        """Pass over devices that shall get no hints: told so, or rotating."""
        return [device for device in super().offered(cpu) if device.flags & SOLIDSTATE and not device.flags & NO_HINTS]

    @staticmethod
    def usable(cluster: Cluster, order: int) -> bool:
        """Leave a cluster alone that the kernel has off its lists, though a hint before it led there."""
        return cluster.flag != Flag.NONE and Allocator.usable(cluster, order)

    @staticmethod
    def list_first(device: Device, cluster: Cluster) -> None:
        """Leave a cluster where it is that a record has placed already."""
        assert isinstance(cluster, MirrorCluster)
        if cluster.kseq is None:
            Allocator.list_first(device, cluster)

    def take(self, cluster: Cluster, mask: int) -> None:
        """Reserve slots for a hint."""
        assert isinstance(cluster, MirrorCluster)
        super().take(cluster, mask)
        cluster.hinted |= mask

    def find(self, number: int) -> tuple[Device, MirrorCluster] | None:
        """Return the device and cluster of an engine cluster number, None where nothing is claimed."""
        for device in self.devices.values():
            index = number - device.base
            if 0 <= index < len(device.clusters):
                cluster = device.clusters[index]
                assert isinstance(cluster, MirrorCluster)
                return device, cluster
        return None

    def apply(self, number: int, record: Record) -> bool:
        """Take over a record for engine cluster `number`; False if it is old, of another epoch, or nobody's."""
        found = self.find(number)
        if found is None:
            return False
        device, cluster = found
        if record.epoch != device.epoch:
            return False
        if cluster.kseq is not None and not 0 < (record.seq - cluster.kseq) % (1 << SEQ_BITS) < 1 << (SEQ_BITS - 1):
            return False
        cluster.kernel = record.bitmap
        cluster.hinted &= ~record.bitmap
        cluster.kflag = record.flag
        cluster.korder = record.order
        cluster.kseq = record.seq
        self.recount(device, cluster)
        self.place(device, cluster)
        return True

    def release(self, type_: int, offset: int, order: int, epoch: int) -> Status:
        """Give back the slots of a hint that was consumed or recalled."""
        device = self.devices.get(type_)
        if device is None or device.epoch != epoch:
            return Status.BAD_DEVICE
        cluster = device.clusters[offset // SLOTS]
        assert isinstance(cluster, MirrorCluster)
        cluster.hinted &= ~(BLOCK[order] << offset % SLOTS)
        self.recount(device, cluster)
        if cluster.flag in (Flag.NONE, Flag.DISCARD):
            pass  # the kernel keeps it off the lists
        elif not cluster.count:
            self.put(device, cluster, Flag.FREE, 0)
        elif cluster.flag == Flag.FULL and cluster.count != SLOTS:
            self.put(device, cluster, Flag.FRAG, cluster.order)
        return Status.OK

    def recount(self, device: Device, cluster: MirrorCluster) -> None:
        """Bring the effective bitmap and the counts in line with the two bitmaps."""
        before = cluster.count
        cluster.used = cluster.kernel | cluster.hinted
        cluster.count = cluster.used.bit_count()
        if cluster.count > before:
            self.add_usage(device, cluster.count - before)
        elif cluster.count < before:
            self.drop_usage(device, before - cluster.count)

    def place(self, device: Device, cluster: MirrorCluster) -> None:
        """Put a cluster on the list the record and the outstanding hints together call for."""
        # Off-list or free for the kernel, which does not know yet what the hints will make of the cluster.
        predicted = bool(cluster.hinted) and cluster.kflag in (Flag.NONE, Flag.FREE)
        order = cluster.order if predicted else cluster.korder
        if cluster.kflag == Flag.DISCARD or (cluster.kflag == Flag.NONE and not predicted):
            self.put(device, cluster, cluster.kflag, order)
        elif cluster.count == SLOTS:
            self.put(device, cluster, Flag.FULL, order)
        elif not cluster.count:
            self.put(device, cluster, Flag.FREE, 0)
        elif predicted:
            listed = cluster.flag in (Flag.NONFULL, Flag.FRAG)
            if not listed and (cluster.kflag == Flag.FREE or cluster.flag == Flag.FULL):
                self.put(device, cluster, Flag.FRAG, order)
        elif cluster.kflag == Flag.FRAG:
            self.put(device, cluster, Flag.FRAG, order)
        else:
            self.put(device, cluster, Flag.NONFULL, order)

    def put(self, device: Device, cluster: Cluster, flag: Flag, order: int) -> None:
        """Move a cluster to the tail of a list unless it is on that list already."""
        if cluster.flag == flag and (cluster.order == order or flag not in (Flag.NONFULL, Flag.FRAG)):
            cluster.order = order
            return
        device.unlist(cluster)
        cluster.flag = flag
        cluster.order = order
        self.counts.list_moves += 1
        if flag != Flag.NONE:
            device.list_of(flag, order)[cluster.index] = cluster

    def dump(self, number: int) -> Record | None:
        """Return what DUMP writes: the kernel's state as last applied, hints left out."""
        found = self.find(number)
        if found is None:
            return None
        device, cluster = found
        return Record(cluster.kernel, cluster.korder, cluster.kflag, cluster.kseq or 0, device.epoch)

    def hinted_slots(self) -> int:
        """Return the slots in outstanding hints."""
        return sum(
            cluster.hinted.bit_count()
            for device in self.devices.values()
            for cluster in device.clusters
            if isinstance(cluster, MirrorCluster)
        )
