# SPDX-License-Identifier: Apache-2.0
"""Loads and checks figures.toml: all that the calculation takes in, each figure with its source."""

import itertools
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("figures.toml")

UNITS = {
    "host_clock": "GHz",
    "host_cycles_per_instruction": "cycles/instruction",
    "line_transfer": "ns",
    "engine_clock": "MHz",
    "soc_clock": "MHz",
    "engine_cycles_an_operation": "cycles",
    "free_keeps_list": "instructions",
    "free_changes_list": "instructions",
    "si_lock_lines": "cache lines",
    "allocations_counted": "operations",
    "allocations_that_move_clusters": "operations",
    "frees_counted": "operations",
    "frees_that_move_clusters": "operations",
    "grant_units": "units",
    "cluster_slots": "slots",
    "register_reads_allocate": "round trips",
    "register_reads_free": "round trips",
    "grant_lines": "cache lines",
    "grant_bytes": "bytes",
    "mark_bytes": "bytes",
}
"""The figures that have to be there, and their units."""

MAY_BE_ZERO = {"grant_lines", "si_lock_lines", "round_trip"}

KINDS = {
    "measured": ("command", "commit", "platform"),
    "read": ("files", "commit"),
    "derived": ("how",),
    "published": ("title", "where"),
    "assumed": ("why",),
}
"""Kinds of sources, and what each has to say."""

STATES = ("empty", "half full", "90 % full")
MODES = ("unpatched", "tuned", "grants", "tuned + grants")
"""Of a running kernel. No kernel allocates by MMIO, so there is no such mode."""

SCHEMES = ("stock", "tuned", "register", "grants")
FLOOR = "words"
"""A scheme of the bench that writes table entries and does nothing else: what all others do, too."""

SOC_STATES = ("empty", "fragmented")
OPS = ("alloc", "free")
HARTS_STATES = ("empty", "fragmented", "full")
HARTS_LOADS = ("order0", "passed", "order4", "mixed")


class FigureError(ValueError):
    """The file of figures is not as it has to be; says in one sentence why."""


@dataclass(frozen=True)
class Figure:
    """A number with a unit and a source."""

    name: str
    value: float
    unit: str
    source: str
    kind: str


@dataclass(frozen=True)
class Link:
    """A way between CPU and engine.

    Attributes:
        name: of it.
        title: for people.
        round_trip: ns that a read takes beyond that of a register beside the CPU.
        bandwidth: GB/s in one direction.
        coherent: whether the engine's cache may own lines that the CPU then has to fetch across the link.
    """

    name: str
    title: str
    round_trip: Figure
    bandwidth: Figure
    coherent: bool


@dataclass(frozen=True)
class SwapOut:
    """CPU cycles of Linux on the SoC, by the order of the folios.

    Attributes:
        order: of the folios.
        page_out: cycles of a page's way out, all of the kernel's work.
        page_in: the same of its way in.
    """

    order: int
    page_out: float
    page_in: float


@dataclass(frozen=True)
class Soc:
    """What the bare-metal bench took on the simulated SoC.

    Attributes:
        cpu: name of the CPU.
        latencies: DRAM latencies in cycles.
        cycles: by scheme, state, operation and order, the mean at each latency.
        ratios: engine clock to CPU clock; none: not swept.
        by_ratio: the same at each ratio.
        ratio_latency: DRAM latency of that sweep.
    """

    cpu: str
    latencies: tuple[int, ...]
    cycles: Mapping[tuple[str, str, str, int], tuple[float, ...]]
    ratios: tuple[float, ...]
    by_ratio: Mapping[tuple[str, str, str, int], tuple[float, ...]]
    ratio_latency: int


@dataclass(frozen=True)
class Harts:
    """What an allocation and its free took on several harts of the simulated SoC.

    Attributes:
        counts: numbers of harts, from 1 on.
        cycles: with each, waiting included, a mean.
        held: of them, with one hart, the cycles in which the device's lock was held.
    """

    counts: tuple[int, ...]
    cycles: tuple[float, ...]
    held: float


@dataclass(frozen=True)
class Figures:
    """All of it.

    Attributes:
        sources: by name, as in the file.
        figures: by name.
        links: by name, the nearest first.
        kernel: instructions of an allocation and of a free, by mode, state and order.
        swap_outs: by order.
        linux: by mode and order, mean cycles of an allocation and of a free in Linux on the SoC, and their medians.
        turnaround: memory latency, and cycles from a mark to its grant.
        socs: by CPU.
        harts: by scheme, state and load.
        linux_harts: of Linux on as many harts, by scheme, state and order; cycles by number of harts.
    """

    sources: Mapping[str, Mapping[str, str]]
    figures: Mapping[str, Figure]
    links: Mapping[str, Link]
    kernel: Mapping[tuple[str, str, int], tuple[float, float]]
    swap_outs: Mapping[int, SwapOut]
    linux: Mapping[tuple[str, int], tuple[float, float, float, float]]
    turnaround: tuple[tuple[float, float], ...]
    socs: Mapping[str, Soc]
    harts: Mapping[tuple[str, str, str], Harts]
    linux_harts: Mapping[tuple[str, str, int], Mapping[int, float]]

    def __getitem__(self, name: str) -> float:
        """Return a figure's value."""
        return self.figures[name].value


def number(where: str, value: Any, zero: bool = False) -> float:
    """Return a number that is finite and above 0, or not below it."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FigureError(f"{where} is {value!r}: it has to be a number")
    if not math.isfinite(value) or value < 0 or (value == 0 and not zero):
        raise FigureError(f"{where} is {value}: it has to be finite and {'0 or more' if zero else 'above 0'}")
    return float(value)


def table(data: Mapping[str, Any], key: str, where: str = "") -> Mapping[str, Any]:
    """Return a table of the file."""
    found = data.get(key)
    if not isinstance(found, Mapping):
        raise FigureError(f"table {where}{key} is missing")
    return found


def rows(data: Mapping[str, Any], where: str, width: int, key: str = "rows") -> list[list[Any]]:
    """Return the rows of a table, each of so many cells."""
    found = data.get(key)
    if not isinstance(found, list) or not found:
        raise FigureError(f"{where}.{key} is missing or empty")
    for row in found:
        if not isinstance(row, list) or len(row) != width:
            raise FigureError(f"{where}.{key} has the row {row!r}: it has to have {width} cells")
    return found


def one_of(where: str, value: Any, known: tuple[Any, ...]) -> Any:
    """Return a value that has to be one of those known."""
    if value not in known:
        raise FigureError(f"{where} is {value!r}: known are {', '.join(map(str, known))}")
    return value


def order_of(where: str, value: Any) -> int:
    """Return an order."""
    return one_of(f"{where}, order", value, tuple(range(10)))


def read_sources(data: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return the sources, each complete."""
    sources = {}
    for name, source in table(data, "source").items():
        kind = one_of(f"source.{name}.kind", source.get("kind"), tuple(KINDS))
        for field in KINDS[kind]:
            if not isinstance(source.get(field), str) or not source[field].strip():
                raise FigureError(f"source.{name} is {kind} and has no {field}")
        if "commit" in KINDS[kind] and not re.fullmatch(r"[0-9a-f]{7,40}", source["commit"]):
            raise FigureError(f"source.{name}.commit is {source['commit']!r}: it has to be a commit's hash")
        sources[name] = dict(source)
    return sources


def source_of(where: str, data: Mapping[str, Any], sources: Mapping[str, Mapping[str, str]]) -> str:
    """Return the name of a source that is there."""
    name = data.get("source")
    if name not in sources:
        raise FigureError(f"{where}.source is {name!r}: there is no such source")
    return str(name)


def read_figure(
    where: str, name: str, data: Any, unit: str, sources: Mapping[str, Mapping[str, str]], zero: bool = False
) -> Figure:
    """Return a figure."""
    if not isinstance(data, Mapping):
        raise FigureError(f"{where} is missing")
    if data.get("unit") != unit:
        raise FigureError(f"{where}.unit is {data.get('unit')!r}: it has to be {unit!r}")
    if "value" not in data:
        raise FigureError(f"{where}.value is missing")
    source = source_of(where, data, sources)
    return Figure(name, number(f"{where}.value", data["value"], zero), unit, source, sources[source]["kind"])


def read_kernel(
    data: Mapping[str, Any], sources: Mapping[str, Mapping[str, str]]
) -> dict[tuple[str, str, int], tuple[float, float]]:
    """Return the guest's instructions."""
    found: dict[tuple[str, str, int], tuple[float, float]] = {}
    for name, part in table(data, "kernel").items():
        where = f"kernel.{name}"
        source_of(where, part, sources)
        for mode, state, order, *calls in rows(part, where, 5):
            key = (
                one_of(f"{where}, mode", mode, MODES),
                one_of(f"{where}, state", state, STATES),
                order_of(where, order),
            )
            if key in found:
                raise FigureError(f"{where} has {mode}, {state}, order {order} twice")
            allocate, free = (number(f"{where}, {mode}, {state}, order {order}", call) for call in calls)
            found[key] = (allocate, free)
    for mode, state, order in found:
        if ("unpatched", state, order) not in found:
            raise FigureError(f"kernel has {mode} and not unpatched for {state}, order {order}")
    return found


def read_swap_outs(data: Mapping[str, Any], sources: Mapping[str, Mapping[str, str]]) -> dict[int, SwapOut]:
    """Return what swapping a page takes in Linux on the SoC."""
    part = table(data, "swap_out")
    source_of("swap_out", part, sources)
    clock = number("swap_out.clock", part.get("clock"))
    found = {}
    for order, *times in rows(part, "swap_out", 4):
        out, back, pages = (number(f"swap_out, order {order}", time) for time in times)
        found[order_of("swap_out", order)] = SwapOut(order, out * clock / pages, back * clock / pages)
    return found


def read_linux(
    data: Mapping[str, Any], sources: Mapping[str, Mapping[str, str]], swap_outs: Mapping[int, SwapOut]
) -> dict[tuple[str, int], tuple[float, float, float, float]]:
    """Return what calls take in Linux on the SoC."""
    part = table(data, "linux")
    source_of("linux", part, sources)
    found = {}
    for mode, order, *calls in rows(part, "linux", 6):
        key = (one_of("linux, mode", mode, ("unpatched", "grants")), order_of("linux", order))
        allocate, free, *medians = (number(f"linux, {mode}, order {order}", call) for call in calls)
        found[key] = (allocate, free, medians[0], medians[1])
    for order, swap in swap_outs.items():
        calls = found.get(("unpatched", order))
        if calls is None:
            raise FigureError(f"linux has no unpatched of order {order}")
        if calls[0] / 2**order >= swap.page_out:
            raise FigureError(f"swap_out, order {order}: an allocation takes more than all of the page's way out")
    if ("unpatched", 0) not in found:
        raise FigureError("linux has no unpatched of order 0")
    return found


def read_cells(
    where: str, data: Mapping[str, Any], key: str, width: int
) -> dict[tuple[str, str, str, int], tuple[float, ...]]:
    """Return rows of the bench on the SoC."""
    cells: dict[tuple[str, str, str, int], tuple[float, ...]] = {}
    for scheme, state, op, order, *means in rows(data, where, 4 + width, key):
        cell = (
            one_of(f"{where}, scheme", scheme, (*SCHEMES, FLOOR)),
            one_of(f"{where}, state", state, SOC_STATES),
            one_of(f"{where}, operation", op, OPS),
            order_of(where, order),
        )
        if cell in cells:
            raise FigureError(f"{where}.{key} has {', '.join(map(str, cell))} twice")
        cells[cell] = tuple(number(f"{where}, {scheme} {state} {op} {order}", mean) for mean in means)
    return cells


def read_soc(cpu: str, data: Mapping[str, Any], sources: Mapping[str, Mapping[str, str]]) -> Soc:
    """Return what was measured with a CPU."""
    where = f"soc.{cpu}"
    source_of(where, data, sources)
    latencies = data.get("latencies")
    if not isinstance(latencies, list) or not latencies:
        raise FigureError(f"{where}.latencies has to be a list of DRAM latencies")
    for latency in latencies:
        number(f"{where}.latencies", latency)
    cells = read_cells(where, data, "rows", len(latencies))
    ratios = data.get("ratios", [])
    by_ratio = read_cells(where, data, "ratio_rows", len(ratios)) if ratios else {}
    ratio_latency = int(number(f"{where}.ratio_latency", data.get("ratio_latency"))) if ratios else 0
    return Soc(cpu, tuple(map(int, latencies)), cells, tuple(map(float, ratios)), by_ratio, ratio_latency)


def several_harts(
    data: Mapping[str, Any], name: str, sources: Mapping[str, Mapping[str, str]]
) -> tuple[Mapping[str, Any], list[int]]:
    """Return a part of what was measured on several harts, and its numbers of harts."""
    part = table(data, name)
    source_of(name, part, sources)
    counts = part.get("counts")
    if not isinstance(counts, list) or counts[:2] != [1, 2]:
        raise FigureError(f"{name}.counts has to be a list of numbers of harts that begins with 1, 2")
    return part, counts


def read_harts(data: Mapping[str, Any], sources: Mapping[str, Mapping[str, str]]) -> dict[tuple[str, str, str], Harts]:
    """Return what was measured with several harts; nothing where no run of them is on record."""
    if "harts" not in data:
        return {}
    part, counts = several_harts(data, "harts", sources)
    found = {}
    for scheme, state, load, *values in rows(part, "harts", 4 + len(counts)):
        where = f"harts, {scheme} {state} {load}"
        key = (one_of(where, scheme, SCHEMES), one_of(where, state, HARTS_STATES), one_of(where, load, HARTS_LOADS))
        if key in found:
            raise FigureError(f"harts.rows has {', '.join(key)} twice")
        *cycles, held = (number(where, value, zero=True) for value in values)
        if not held < cycles[0]:
            raise FigureError(f"{where}: the lock is held for longer than the calls take")
        found[key] = Harts(tuple(counts), tuple(cycles), held)
    return found


def read_linux_harts(
    data: Mapping[str, Any], sources: Mapping[str, Mapping[str, str]]
) -> dict[tuple[str, str, int], dict[int, float]]:
    """Return what Linux took on several harts; nothing where no run is on record."""
    if "linux_harts" not in data:
        return {}
    part, counts = several_harts(data, "linux_harts", sources)
    found = {}
    for scheme, state, order, *values in rows(part, "linux_harts", 3 + len(counts)):
        where = f"linux_harts, {scheme} {state} {order}"
        key = (one_of(where, scheme, SCHEMES), one_of(where, state, HARTS_STATES), int(number(where, order, zero=True)))
        if key in found:
            raise FigureError(f"linux_harts.rows has {', '.join(map(str, key))} twice")
        found[key] = {count: number(where, value) for count, value in zip(counts, values, strict=True)}
    return found


def read_links(data: Mapping[str, Any], sources: Mapping[str, Mapping[str, str]]) -> dict[str, Link]:
    """Return the links, the nearest first."""
    links = []
    for name, part in table(data, "link").items():
        where = f"link.{name}"
        if not isinstance(part, Mapping) or not isinstance(part.get("coherent"), bool):
            raise FigureError(f"{where}.coherent is missing: true or false")
        if not isinstance(part.get("title"), str):
            raise FigureError(f"{where}.title is missing")
        round_trip = read_figure(
            f"{where}.round_trip", f"{name}, round trip", part.get("round_trip"), "ns", sources, True
        )
        bandwidth = read_figure(f"{where}.bandwidth", f"{name}, bandwidth", part.get("bandwidth"), "GB/s", sources)
        links.append(Link(name, part["title"], round_trip, bandwidth, part["coherent"]))
    return {link.name: link for link in sorted(links, key=lambda link: link.round_trip.value)}


def parse(data: Mapping[str, Any]) -> Figures:
    """Return the figures of a file that was read; FigureError if one is missing or is nonsense."""
    sources = read_sources(data)
    given = table(data, "figure")
    unknown = sorted(set(given) - set(UNITS))
    if unknown:
        raise FigureError(f"figure.{unknown[0]} is not known")
    figures = {
        name: read_figure(f"figure.{name}", name, given.get(name), unit, sources, name in MAY_BE_ZERO)
        for name, unit in UNITS.items()
    }
    for part, whole in (
        ("allocations_that_move_clusters", "allocations_counted"),
        ("frees_that_move_clusters", "frees_counted"),
        ("free_keeps_list", "free_changes_list"),
    ):
        if figures[part].value > figures[whole].value:
            raise FigureError(f"figure.{part} is greater than figure.{whole}")
    part = table(data, "turnaround")
    source_of("turnaround", part, sources)
    turnaround = tuple(
        (number("turnaround, latency", latency), number("turnaround, cycles", cycles))
        for latency, cycles in rows(part, "turnaround", 2)
    )
    if len(turnaround) < 2:
        raise FigureError("turnaround.rows has to have two latencies or more")
    for (low, first), (high, last) in itertools.pairwise(turnaround):
        if high <= low or last < first:
            raise FigureError("turnaround.rows has to rise, in latency and in cycles")
    swap_outs = read_swap_outs(data, sources)
    return Figures(
        sources,
        figures,
        read_links(data, sources),
        read_kernel(data, sources),
        swap_outs,
        read_linux(data, sources, swap_outs),
        turnaround,
        {cpu: read_soc(cpu, soc, sources) for cpu, soc in table(data, "soc").items()},
        read_harts(data, sources),
        read_linux_harts(data, sources),
    )


def load(path: Path = FILE) -> Figures:
    """Return the figures of a file; FigureError says in one sentence what is wrong with it."""
    try:
        return parse(tomllib.loads(path.read_text()))
    except OSError as error:
        raise FigureError(f"{path} cannot be read: {error.strerror}") from error
    except tomllib.TOMLDecodeError as error:
        raise FigureError(f"{path} is not TOML: {error}") from error
    except FigureError as error:
        raise FigureError(f"{path}: {error}") from error
