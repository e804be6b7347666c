# SPDX-License-Identifier: Apache-2.0
"""How many large folios are split under a changing mix of sizes, by placement: the models' side of bench-offload."""

from collections import Counter

import pytest
from hwswap.experiments.folio_mix import DEFAULT_SIZES, Draw, Mix, swap_out
from hwswap.model.golden import Allocator, Slots
from hwswap.model.grant_entries import TOP_ORDER, Placement
from hwswap.model.granted import GrantedAllocator
from hwswap.model.grants import Grants
from hwswap.model.rows import ORDERS, SLOTS
from hwswap_map import Status

MB = 256
DEVICES = 2
CLUSTERS = MB // 2
AT_92 = Mix(fill_mb=MB * 92 // 100, churn_mb=MB * 92 // 200, seed=1)


class Emptied:
    """Counts the clusters that become free."""

    emptied = 0

    def free_cluster(self, device, cluster):
        """Take note."""
        self.emptied += 1
        super().free_cluster(device, cluster)


class Kernel(Emptied, Allocator):
    """The kernel's own placement."""

    def __init__(self):
        """Use two devices of one priority."""
        super().__init__(devices=DEVICES, cpus=1, clusters=CLUSTERS)
        for type_ in range(DEVICES):
            self.prepare(type_, CLUSTERS // DEVICES * SLOTS, type_ * CLUSTERS // DEVICES)
            self.swapon(type_)


class Granted(Emptied, GrantedAllocator):
    """The kernel with an engine, which has its say behind every fourth folio."""

    def __init__(self, placement, sparing=True):
        """Use two devices of one priority."""
        super().__init__(DEVICES, CLUSTERS, lambda arrays, lines: Grants(arrays, lines, placement, sparing))

    def after(self, number):
        """Let the engine have its say."""
        if number % 4 == 0:
            self.engine()


def splits(kernel):
    """Return what was split, and how many large folios there were."""
    folios = swap_out(kernel, AT_92, getattr(kernel, "after", lambda number: None))
    assert not kernel.faults()
    print(f"{type(kernel).__name__}: {sum(folios.split.values())} split, {dict(folios.split)}")
    return +folios.split, sum((folios.split + folios.whole)[4 * pages] for pages in DEFAULT_SIZES[1:])


def test_the_kernel_splits_as_many_as_in_a_guest():
    """The very folios that `make bench-offload` counts at 92 %, seed 1, short form: the model is the kernel's."""
    kernel = Kernel()
    assert splits(kernel) == ({16: 122, 32: 87}, 9733)
    assert kernel.emptied == 0, "a cluster gets another order after all"


def test_a_sparing_engine_splits_fewer():
    """Granted in advance, free clusters are gone when an order that has nothing else comes for them."""
    eager, sparing = Granted(Placement.INDEXED, sparing=False), Granted(Placement.INDEXED)
    kernel, eagerly, sparingly = (splits(one)[0].total() for one in (Kernel(), eager, sparing))
    assert eagerly > kernel
    assert sparingly < kernel / 2
    assert eager.emptied == sparing.emptied == 0


def test_open_clusters_end_it():
    """Any order may go into any cluster, as in a guest."""
    assert splits(Granted(Placement.OPEN)) == ({}, 9733)


class Buddy:
    """A buddy allocator over all clusters of both devices, of one mind: it knows each free of the moment it comes."""

    def __init__(self):
        """Begin with all clusters free."""
        self.blocks = [set() for _ in range(ORDERS)]
        self.blocks[-1] = {cluster * SLOTS for cluster in range(CLUSTERS)}

    def alloc(self, cpu, order):
        """Take the smallest block that is large enough, of equals the lowest, and leave what is too much of it free."""
        found = next((size for size in range(order, ORDERS) if self.blocks[size]), None)
        if found is None:
            return None
        offset = min(self.blocks[found])
        self.blocks[found].remove(offset)
        for size in range(order, found):
            self.blocks[size].add(offset + (1 << size))
        return Slots(0, offset)

    def free(self, type_, offset, nr):
        """Join what is free with its neighbour, as far as that is free, too."""
        size = nr.bit_length() - 1
        while size < TOP_ORDER and (offset ^ 1 << size) in self.blocks[size]:
            self.blocks[size].remove(offset ^ 1 << size)
            offset &= ~(1 << size)
            size += 1
        self.blocks[size].add(offset)
        return Status.OK


@pytest.mark.parametrize(("percent", "kernel", "least"), [(92, 1041, {128: 39}), (96, 2474, {64: 69, 128: 85})])
def test_what_best_fit_leaves_under_twice_the_churn(percent, kernel, least):
    """No order has clusters of its own, no grant is ahead of its time: what is left is the load's own fragmentation.

    The load is that of the long form. A 60th and a 30th of what the kernel splits, wanted of `open`, are 17 and 82.
    """
    fill = MB * percent // 100
    load = Mix(fill_mb=fill, churn_mb=fill, seed=1)
    assert swap_out(Kernel(), load).split.total() == kernel
    folios = swap_out(Buddy(), load)
    print(f"{percent} % full: kernel {kernel}, best fit {folios.split.total()}, {dict(folios.split)}")
    assert +folios.split == least


class Boundless:
    """An allocator that always has room, and takes note of how many slots each order has at most."""

    def __init__(self):
        """Begin with nothing in use; the offset of what is allocated is its order."""
        self.used, self.most = Counter(), Counter()

    def alloc(self, cpu, order):
        """Give some place."""
        self.used[order] += 1 << order
        self.most[order] = max(self.most[order], self.used[order])
        return Slots(cpu, order)

    def free(self, type_, offset, nr):
        """Take note."""
        self.used[offset] -= nr
        return Status.OK


def test_a_cluster_an_order_leaves_nothing_to_spare():
    """Each order's most, at whatever time, is together all of swap, at 92 %: clusters of one order hardly suffice."""
    boundless = Boundless()
    swap_out(boundless, AT_92)
    most = {4 * pages: boundless.most[pages.bit_length() - 1] / SLOTS for pages in DEFAULT_SIZES}
    print({size: round(clusters, 1) for size, clusters in most.items()}, f"of {CLUSTERS} clusters")
    assert sum(most.values()) > CLUSTERS


def test_each_size_has_as_many_pages_but_for_the_favourite():
    draw = Draw(Mix(1, 1, seed=3, sizes=(1, 16, 128, 512)))
    drawn = Counter()
    favourites = Counter()
    for _ in range(200_000):
        pages = draw.size()
        drawn[pages] += pages
        favourites[draw.sizes[draw.favourite]] += pages
    assert set(drawn) == {1, 16, 128, 512}
    for pages in drawn:
        # Four of seven parts while it is the favourite, one of seven else.
        expected = (4 * favourites[pages] + favourites.total() - favourites[pages]) / 7
        assert drawn[pages] == pytest.approx(expected, rel=0.1)


def test_the_programs_arguments():
    assert Mix(409, 100, 7, (1, 16, 512)).command() == "swapmix --sizes 4k,64k,2048k --fill 409m --churn 100m --seed 7"
