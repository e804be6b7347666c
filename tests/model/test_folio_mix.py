# SPDX-License-Identifier: Apache-2.0
"""Large folios that are split under a changing mix of sizes, by placement: the models' side of bench-offload."""

from collections import Counter

import pytest
from hwswap.experiments.folio_mix import DEFAULT_SIZES, Draw, Mix, swap_out
from hwswap.model.golden import Allocator
from hwswap.model.grant_entries import Placement
from hwswap.model.granted import GrantedAllocator
from hwswap.model.grants import Grants
from hwswap.model.rows import SLOTS

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

    def __init__(self, placement):
        """Use two devices of one priority."""
        super().__init__(DEVICES, CLUSTERS, lambda arrays, lines: Grants(arrays, lines, placement))

    def after(self, number):
        """Let the engine have its say."""
        if number % 4 == 0:
            self.engine()


def splits(kernel):
    """Return the folios that were split, and the number of large ones."""
    folios = swap_out(kernel, AT_92, getattr(kernel, "after", lambda number: None))
    assert not kernel.faults()
    print(f"{type(kernel).__name__}: {sum(folios.split.values())} split, {dict(folios.split)}")
    return +folios.split, sum((folios.split + folios.whole)[4 * pages] for pages in DEFAULT_SIZES[1:])


def test_the_kernel_splits_as_many_as_in_a_guest():
    """The very folios that `make bench-offload` counts at 92 %, seed 1, short form: the model is the kernel's."""
    kernel = Kernel()
    assert splits(kernel) == ({16: 122, 32: 87}, 9733)
    assert kernel.emptied == 0, "a cluster gets another order after all"


def test_an_engine_that_spares_free_clusters_splits_fewer():
    kernel, engine = Kernel(), Granted(Placement.INDEXED)
    assert splits(engine)[0].total() < splits(kernel)[0].total() / 2
    assert engine.emptied == 0


def test_open_clusters_end_it():
    """Any order may go into any cluster, as in a guest."""
    assert splits(Granted(Placement.OPEN)) == ({}, 9733)


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
