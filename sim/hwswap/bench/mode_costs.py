# SPDX-License-Identifier: Apache-2.0
"""What swapoff takes by mode and threshold, and a search by the engine with its wait: part of `make bench-table`.

The guest (sim/guest/bench-modes.sh) switches a half-full device off in each mode, and has a swapoff look for slots that
belong to nobody, round after round, as software and as the engine searches. Here its lines become figures. All times
are of the guest, whose clock counts instructions: an instruction takes a nanosecond.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

from rich.table import Table

SLOTS_A_MB = 256
CLUSTER = 512
"""Slots of one."""

MODE_COUNTERS = ("searches_used", "searches_busy", "timeouts")
"""What the guest prints of the driver's counters after each swapoff, in this order."""

Report = dict[str, Any]


class Configuration(NamedTuple):
    """A mode, and the threshold from which on the engine is asked."""

    mode: str
    min_clusters: int

    def __str__(self) -> str:
        """As the guest's script takes it."""
        return f"{self.mode} {self.min_clusters}"


PAGE_CLUSTER = 3
SEARCHES = ((8, 2047), (8, 1599), (8, 575), (32, 2047))
"""Devices that are searched, in MB, and slots that are put to use, half of which are freed: four clusters; fewer slots
in use in as many; two clusters with a table and two without; twelve more without. The first two are searched by
the engine as well."""

CONFIGURATIONS = (
    Configuration("off", 4),
    Configuration("hint", 4),
    Configuration("scan", 4),
    Configuration("scan", 1),
    Configuration("scan", 100_000),
    Configuration("trusted", 4),
)
"""The defaults in each mode; then the threshold at its ends, so that the engine does all of it, or nothing."""

SHORT_CONFIGURATIONS = (Configuration("off", 4), Configuration("scan", 4))


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    configurations: Sequence[Configuration]
    frees: Sequence[int]
    """Percentages of the device that are freed before the swapoff."""
    mb: int
    """Of the device that is switched off."""
    software_s: float = 0.4
    """For how long each of SEARCHES is searched."""
    engine_s: float = 0.1
    """The same of those that the engine searches, which is simulated meanwhile."""
    tick_us: int = 20
    """How often the engine is told the guest's time, and clocked up to it. At 10 what a command takes
    is the same; below that the guest would do little else."""
    nsec: int = 10_000
    """What a request of the device takes: little, as the rest is what is looked for."""


LONG = Size(CONFIGURATIONS, (50, 99), 32)
# Too short for the price of a search alone: some dozen rounds, of which the parts are differences.
SHORT = Size(SHORT_CONFIGURATIONS, (50,), 4, software_s=0.1, engine_s=0.02)


def job(size: Size, seed: int) -> str:
    """Return what the guest runs."""
    configurations = "\n".join(map(str, size.configurations))
    searches = "\n".join(f"{megabytes} {slots}" for megabytes, slots in SEARCHES)
    return (
        f"SEED={seed}\nNSEC={size.nsec}\nSIZE_MB={size.mb}\n"
        f"SEARCHES='{searches}'\nSOFTWARE_S={size.software_s}\nENGINE_S={size.engine_s}\nTICK_US={size.tick_us}\n"
        f"FREES='{' '.join(map(str, size.frees))}'\nCONFIGURATIONS='{configurations}'\n. /bench-modes\n"
    )


def _differences(before: Sequence[int], after: Sequence[int]) -> list[int]:
    return [then - now for now, then in zip(before, after, strict=True)]


@dataclass
class Collected:
    """What the guest printed."""

    modes: list[dict[str, Any]] = field(default_factory=list)
    searches: list[dict[str, Any]] = field(default_factory=list)

    def feed(self, line: str) -> None:
        """Takes one line of a guest's output."""
        key, *words = line.split()
        if key == "@mode":
            self._mode(words)
        elif key == "@counted":
            self.modes[-1] |= dict(zip(MODE_COUNTERS, map(int, words), strict=True))
        elif key == "@search":
            self._search(words)

    def _mode(self, words: list[str]) -> None:
        mode, clusters, freed, when, nsec, pages, *stat = words
        # Documentation/block/stat.rst: reads completed, reads merged, sectors read.
        numbers = [int(nsec), int(pages), int(stat[0])]
        if when == "before":
            self._before = numbers
            return
        spent = dict(zip(("nsec", "pages", "reads"), _differences(self._before, numbers), strict=True))
        labels = {"mode": mode, "min_clusters": int(clusters), "freed": int(freed)}
        self.modes.append({**labels, **spent})

    def _search(self, words: list[str]) -> None:
        who, megabytes, slots, held, when, *numbers = words
        values = [int(number.rpartition("=")[2]) for number in numbers]
        if when == "first":
            self._looks = []
        self._looks.append(values)
        if when != "third":
            return
        # A short time and a longer one, with a look at the counters in each: that is not in the difference.
        short, long = (_differences(*looks) for looks in pairwise(self._looks))
        nsec, *counted = _differences(short, long)
        # What is filled begins behind the header; a cluster that was touched has a table.
        clusters = 1 + int(slots) // CLUSTER
        labels = {
            "by": who,
            "filled": int(slots),
            "held": int(held),
            "with_table": clusters * CLUSTER - 1,
            "without_table": int(megabytes) * SLOTS_A_MB - clusters * CLUSTER,
            "nsec": nsec,
        }
        if who == "software":
            # The backend is asked in every other round.
            self.searches.append({**labels, "pairs": counted[0]})
            return
        names = [number.partition("=")[0] for number in numbers[1:]]
        counters = dict(zip(names, counted, strict=True))
        # In every other round all of them are found; which round it is that is not over counts as a part of one.
        self.searches.append({**labels, "pairs": counters["used_right"] / int(held), **counters})


def searches(measured: Sequence[Mapping[str, Any]]) -> Report:
    """Return what parts of a search take, by software and by the engine; nanoseconds.

    Swapoff goes round after round: one in which the backend is asked first, one in which it is not. A backend that
    finds nothing leaves both to software. So a round of software's takes half the time of a pair, and it is so much for
    each slot that is looked at (one price in a cluster with a table, another without), so much more for each that is in
    use, and so much besides: four prices from four devices. A round of the engine's is a pair without the one by
    software: so much for each slot in use (another price, as it is a bit in an answer then), so much a command, what
    comes besides; and software looks at the slots behind the last one in use, of which the engine has said that there
    is none: two prices from two devices.
    """
    full, fewer, tables, large = (of for of in measured if of["by"] == "software")
    software_round, *others = (of["nsec"] / of["pairs"] / 2 for of in (full, fewer, tables, large))
    # Each of the others differs from the first one in what one price more is of.
    in_use = (software_round - others[0]) / (full["held"] - fewer["held"])
    without_table = (others[2] - software_round) / (large["without_table"] - full["without_table"])
    more = full["with_table"] - tables["with_table"]
    with_table = (software_round - others[1] - in_use * (full["held"] - tables["held"])) / more + without_table
    besides = software_round - in_use * full["held"] - with_table * full["with_table"]
    engines = [of for of in measured if of["by"] == "engine"]
    rounds = [
        of["nsec"] / of["pairs"] - without for of, without in zip(engines, (software_round, others[0]), strict=True)
    ]
    asked = [of["searches_used"] / of["pairs"] for of in engines]
    held = [of["held"] for of in engines]
    rest = [
        whole - besides - with_table * (of["with_table"] - of["filled"])
        for whole, of in zip(rounds, engines, strict=True)
    ]
    # rest = asked * command + held * answered, twice
    determinant = asked[0] * held[1] - asked[1] * held[0]
    command = (rest[0] * held[1] - rest[1] * held[0]) / determinant
    answered = (asked[0] * rest[1] - asked[1] * rest[0]) / determinant
    found = {
        "slot_nsec": with_table,
        "slot_without_table_nsec": without_table,
        "slot_in_use_nsec": in_use,
        "round_nsec": besides,
        "software_cluster_nsec": CLUSTER * with_table,
        "software_round_nsec": software_round,
        "engine_round_nsec": rounds[0],
        "searches_a_round": asked[0],
        "slot_answered_nsec": answered,
        "search_nsec": command,
    }
    return {name: round(float(value), 2) for name, value in found.items()}


def modes_table(report: Report) -> Table:
    """What a swapoff takes, a row a configuration and share of slots freed."""
    table = Table(
        title=f"swapoff by mode and threshold; {report['modes_device']['nsec'] / 1000:g} µs a request, "
        f"{report['modes_device']['mb']} MB, page_cluster {PAGE_CLUSTER}"
    )
    for title in ("mode", "scan_min_clusters", "freed", "pages", "ms", "searches"):
        table.add_column(title, justify="left" if title == "mode" else "right")
    for run in report["modes"]:
        table.add_row(
            run["mode"],
            f"{run['min_clusters']:,}",
            f"{run['freed']} %",
            f"{run['pages']:,}",
            f"{run['nsec'] / 1e6:.1f}",
            f"{run['searches_used']:,}",
        )
    return table


def commands_table(report: Report) -> Table:
    """What a command takes, beside software."""
    found = report["commands"]
    table = Table(title="A command of the engine with the wait for its interrupt; µs of the guest")
    table.add_column("what")
    table.add_column("µs", justify="right")
    engine = next(of for of in report["searches"] if of["by"] == "engine")
    of_round = (
        f"a round of swapoff over {(engine['with_table'] + 1) // CLUSTER} clusters, {engine['held']:,} slots in use"
    )
    rows = [
        (f"TABLE_SCAN, a cluster each time ({found['searches_a_round']:.1f} a round)", "search_nsec"),
        ("software: a cluster with a table in which nothing is in use", "software_cluster_nsec"),
        (f"{of_round}: software", "software_round_nsec"),
        (f"{of_round}: engine", "engine_round_nsec"),
    ]
    if report["short"]:
        # A small difference of long times: of so few rounds it would be noise.
        del rows[0]
        table.caption = "A short run is not long enough for the price of a TABLE_SCAN."
    for what, name in rows:
        table.add_row(what, f"{found[name] / 1000:.1f}")
    return table
