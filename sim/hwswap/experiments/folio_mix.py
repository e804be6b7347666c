# SPDX-License-Identifier: Apache-2.0
"""swapmix (sw/driver/workloads) on models: folios of several sizes come and go, in a mix that changes.

It draws the same numbers as the program, so a model of a kernel gets exactly the kernel's folios.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from hwswap.model.clusters import Slots
from hwswap.model.golden import Allocator

FAVOURED = 4
"""Times as many pages have one size, another one every PHASE pages."""

MB = 256
"""Pages."""

PHASE = 16 * MB
BITS = (1 << 64) - 1
DEFAULT_SIZES = (1, 4, 8, 16, 32)
"""Pages of a folio."""


@dataclass(frozen=True)
class Mix:
    """The arguments of the program."""

    fill_mb: int
    """Kept in swap."""

    churn_mb: int
    """Freed and written anew after that."""

    seed: int
    sizes: tuple[int, ...] = DEFAULT_SIZES

    def command(self) -> str:
        """Return the program's command line."""
        sizes = ",".join(f"{4 * pages}k" for pages in self.sizes)
        return f"swapmix --sizes {sizes} --fill {self.fill_mb}m --churn {self.churn_mb}m --seed {self.seed}"


@dataclass
class Folios:
    """The numbers of folios, by their size in kB, that were swapped out whole, and that were split."""

    whole: Counter[int] = field(default_factory=Counter)
    split: Counter[int] = field(default_factory=Counter)


def mix64(x: int) -> int:
    """Mix all bits: splitmix64's finaliser."""
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & BITS
    x = (x ^ x >> 27) * 0x94D049BB133111EB & BITS
    return x ^ x >> 31


class Draw:
    """The program's random numbers, and the sizes that it draws by them."""

    def __init__(self, mix: Mix) -> None:
        """Begin as the program does."""
        self.state = mix64(mix.seed)
        self.sizes = mix.sizes
        self.favourite = self.phase = 0

    def below(self, bound: int) -> int:
        """Return the next number below `bound`."""
        while True:
            self.state = self.state + 0x9E3779B97F4A7C15 & BITS
            value = mix64(self.state)
            if value < BITS - BITS % bound:
                return value % bound

    def size(self) -> int:
        """Return the next folio's pages."""
        if not self.phase:
            self.favourite, self.phase = self.below(len(self.sizes)), PHASE
        weights = [
            self.sizes[-1] // pages * (FAVOURED if at == self.favourite else 1) for at, pages in enumerate(self.sizes)
        ]
        drawn, at = self.below(sum(weights)), 0
        while drawn >= weights[at]:
            drawn -= weights[at]
            at += 1
        self.phase = max(0, self.phase - self.sizes[at])
        return self.sizes[at]


def swap_out(allocator: Allocator, mix: Mix, after: Callable[[int], None] = lambda number: None) -> Folios:
    """Swap out as the program does; a folio that finds no run goes out page by page.

    Args:
        allocator: as large as swap is in the guest.
        mix: the arguments of the program.
        after: called after each folio, with the number of those that went out.
    """
    draw, found = Draw(mix), Folios()
    wanted, left = mix.fill_mb * MB, mix.churn_mb * MB
    there: list[list[tuple[int, Slots]]] = []
    pages = number = 0
    while left:
        size, full = draw.size(), False
        while pages + size > wanted:
            at = draw.below(len(there))
            there[at], there[-1] = there[-1], there[at]
            for nr, slots in there.pop():
                allocator.free(*slots, nr)
                pages -= nr
            full = True
        run = allocator.alloc(0, size.bit_length() - 1)
        if run is not None:
            found.whole[4 * size] += 1
            there.append([(size, run)])
        else:
            found.split[4 * size] += 1
            there.append([(1, single(allocator)) for _ in range(size)])
        pages += size
        left = max(0, left - size) if full else left
        number += 1
        after(number)
    return found


def single(allocator: Allocator) -> Slots:
    """Give one slot; there always is one, as swap is larger than its content."""
    slots = allocator.alloc(0, 0)
    assert slots is not None, "swap is full"
    return slots
