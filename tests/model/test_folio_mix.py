# SPDX-License-Identifier: Apache-2.0
"""Large folios that are split under a changing mix of sizes, by placement: the models' side of bench-offload."""

from collections import Counter

import pytest
from allocators import machine
from hwswap.experiments.folio_mix import DEFAULT_SIZES, Draw, Mix, swap_out
from hwswap.model.golden import Allocator
from hwswap.model.grant_entries import Placement
from hwswap.model.granted import GrantedAllocator
from hwswap.model.grants import Grants

MB = 256
DEVICES = 2
CLUSTERS = MB // 2
AT_92 = Mix(fill_mb=MB * 92 // 100, churn_mb=MB * 92 // 200, seed=1)


def kernel():
    """Make the kernel's own placement, with two devices of one priority."""
    return machine(*[CLUSTERS // DEVICES] * DEVICES, model=Allocator(devices=DEVICES, cpus=1, clusters=CLUSTERS))


def granted(placement):
    """Make the kernel with an engine, with two devices of one priority."""
    return GrantedAllocator(DEVICES, CLUSTERS, lambda arrays, lines: Grants(arrays, lines, placement))


def splits(model):
    """Return the folios that were split, the number of large ones, and that of clusters that became free.

    Let the engine, if there is one, run after every fourth folio.
    """
    emptied, free_cluster = [], model.free_cluster
    model.free_cluster = lambda device, cluster: emptied.append(cluster) or free_cluster(device, cluster)
    engine = getattr(model, "engine", lambda: None)
    folios = swap_out(model, AT_92, lambda number: None if number % 4 else engine())
    assert not model.faults()
    print(f"{type(model).__name__}: {sum(folios.split.values())} split, {dict(folios.split)}")
    large = sum((folios.split + folios.whole)[4 * pages] for pages in DEFAULT_SIZES[1:])
    return +folios.split, large, len(emptied)


def test_the_kernel_splits_as_many_as_in_a_guest():
    """The very folios that `make bench-offload` counts at 92 %, seed 1, short form: the model is the kernel's.

    No cluster gets another order after all.
    """
    assert splits(kernel()) == ({16: 122, 32: 87}, 9733, 0)


def test_an_engine_that_spares_free_clusters_splits_fewer():
    split, _, emptied = splits(granted(Placement.INDEXED))
    assert split.total() < splits(kernel())[0].total() / 2
    assert emptied == 0


def test_open_clusters_end_it():
    """Any order may go into any cluster, as in a guest."""
    assert splits(granted(Placement.OPEN))[:2] == ({}, 9733)


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
