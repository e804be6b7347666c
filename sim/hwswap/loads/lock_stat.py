# SPDX-License-Identifier: Apache-2.0
"""Swap's locks, as a kernel with lock statistics counts them (`/proc/lock_stat`, Documentation/locking/lockstat.rst).

On a CPU whose clock counts instructions a hold's length is in instructions. Those of the counting itself are in it, so
kernels that count are to be compared with each other alone.
"""

from dataclasses import dataclass

LOCKS = {
    "&p->lock": "si->lock",
    "swap_avail_lock": "swap_avail_lock",
    "&cluster_info[i].lock": "ci->lock",
}
"""The name that a lock's initialiser gives it -> what code that takes it calls it."""

PER = 1000
"""Folios out that acquisitions are told for."""


@dataclass(frozen=True)
class Lock:
    """What was counted of one lock class."""

    name: str
    contentions: int
    acquisitions: int
    hold_max: int
    """Instructions, or nanoseconds of the guest, as `hold_total`."""
    hold_total: int


def read(line: str) -> Lock:
    """Returns what a line of lock_stat says; ValueError if it is none.

    Behind the name: contentions between CPUs, contentions, four times of waiting, acquisitions that moved between CPUs,
    acquisitions, and the shortest, longest, total and mean hold; times are in microseconds, with two places.
    """
    name, colon, rest = line.rpartition(":")
    words = rest.split()
    if not colon or len(words) != 12:
        raise ValueError(f"no line of /proc/lock_stat: '{line}'")
    longest, total = (round(1000 * float(word)) for word in words[9:11])
    return Lock(name, int(words[1]), int(words[7]), longest, total)


def find(found: dict[str, Lock], name: str) -> Lock | None:
    """Returns the class of this name; of several, the one that was registered last.

    seq_file's mutex is called `&p->lock`, too; it is there from boot on, so the one of swap devices has a `#2`.
    """
    of_name = [lock for full, lock in sorted(found.items()) if full.split("#")[0] == name]
    return of_name[-1] if of_name else None


def figures(found: dict[str, Lock], folios: int) -> dict[str, float | None]:
    """Returns the rows of a run: of each lock, acquisitions for 1,000 folios out, and the mean and longest hold."""
    rows: dict[str, float | None] = {}
    for name, title in LOCKS.items():
        lock = find(found, name)
        taken = lock.acquisitions if lock else 0
        rows[f"{title}, taken for {PER:,} folios out"] = PER * taken / folios if found and folios else None
        rows[f"{title}, mean hold"] = lock.hold_total / taken if lock and taken else None
        rows[f"{title}, longest hold"] = lock.hold_max if lock and taken else None
    return rows
