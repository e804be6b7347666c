# SPDX-License-Identifier: Apache-2.0
"""How many large folios are split under a changing mix of sizes, by placement: the models' side of bench-offload."""

from folio_mix import MB, PAGES, Boundless, Kernel, folio_mix
from hwswap.model.grants import Grants, Placement
from hwswap.model.rows import SLOTS


def splits(percent, sparing=None):
    """Return how many large folios were split; with no engine if `sparing` is None."""

    def engine(arrays, lines):
        return Grants(arrays, lines, Placement.INDEXED, sparing)

    kernel = Kernel(2, None if sparing is None else engine)
    whole, split = folio_mix(kernel, percent)
    assert not kernel.faults()
    assert kernel.emptied == 0, "a cluster gets another order after all"
    print(f"{percent} % full, sparing {sparing}: {sum(split.values())} split, {dict(split)}")
    return sum(split.values()), whole, split


def test_the_kernel_splits_as_many_as_in_a_guest():
    """The very folios that `make bench-offload` counts at 92 %, seed 1, short form: the model is the kernel's."""
    _, whole, split = splits(92)
    assert split == {16: 122, 32: 87}
    assert sum(whole[size] + split[size] for size in (16, 32, 64, 128)) == 9733


def test_a_sparing_engine_splits_fewer():
    """Granted in advance, free clusters are gone when an order that has nothing else comes for them."""
    kernel, eager, sparing = (splits(92, how)[0] for how in (None, False, True))
    assert eager > kernel
    assert sparing < kernel / 2


def test_a_cluster_an_order_leaves_nothing_to_spare():
    """Each order's most, at whatever time, is together all of swap, at 92 %: clusters of one order hardly suffice."""
    boundless = Boundless()
    folio_mix(boundless, 92)
    most = {4 * pages: boundless.most[pages.bit_length() - 1] / SLOTS for pages in PAGES}
    print({size: round(clusters, 1) for size, clusters in most.items()}, f"of {MB // 2} clusters")
    assert sum(most.values()) > MB // 2
