# SPDX-License-Identifier: Apache-2.0
"""What is on the report's page, and in which order: the answer, where offload loses, and then a figure a row."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from hwswap.report import charts, record, tables, verdict
from hwswap.report.charts import Chart
from hwswap.report.figures import Calls, Check, Dataset, Source
from hwswap.report.gather import Gathered
from hwswap.report.page import Section
from hwswap.report.verdict import Judged, Point


@dataclass(frozen=True)
class About:
    """What has to be known of a dataset beside its numbers."""

    title: str
    lede: str
    command: str
    platform: str
    leaves_out: str
    page: str
    base: str = ""
    """Of calls: the column that is 1."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Of calls: what is drawn -> what it is called."""


COUNTING = "Linux 7.3 in a guest with one CPU whose clock counts instructions"
SOC = "simulated SoC, CPU and engine in one clock"

BARE_METAL = {
    "MMIO": "engine by MMIO",
    "tuned": "tuned software",
    "grants": "grants",
    "command ring": "command ring",
}
"""Allocators on bare metal, and what the page calls them."""

ABOUT = {
    "offload": About(
        "Marks and grants: what a call costs",
        "With marks and grants the kernel allocates from places that the engine has granted. Columns: Linux with the "
        "bench alone, the patches with nothing registered, grants, tuned software, tuned software with grants, and the "
        "driver's mode hint with the Verilated engine as a PCI device that the guest's time clocks.",
        "make bench-offload PART=calls",
        f"{COUNTING}; four RAM disks",
        "In columns `grants` the engine is software of ours between the calls, and what it takes is in no figure. "
        "Waiting and cache misses are in none.",
        "docs/results.md",
        "unpatched",
        {
            "engine": "grants, the engine's RTL",
            "grants": "grants, an engine in software",
            "tuned": "tuned software",
            "tuned + grants": "tuned, with grants",
        },
    ),
    "fallbacks": About(
        "Large folios that find no room",
        "Swap is kept at a level with folios of 4 to 128 kB whose mix of sizes changes; the kernel counts those that "
        "it has to split.",
        "make bench-offload PART=fall-backs",
        f"{COUNTING}; RAM disks; every byte that is swapped in is verified",
        "Other loads and other sizes of swap.",
        "docs/results.md",
    ),
    "demo": About(
        "A running kernel",
        "`make demo` swaps the same load in each mode, and then measures the allocator: on swap as the loads left it, "
        "and with half of all slots freed at random.",
        "make demo",
        f"{COUNTING}; the engine's RTL as a PCI device, 100 MHz, 50 cycles a transfer; 4 RAM disks",
        "Waiting and cache misses. Tables of new clusters are made beforehand by a worker.",
        "docs/results.md",
        "unpatched",
        {"hint": "grants, the engine's RTL", "off": "patched, nothing registered"},
    ),
    "tuned": About(
        "Tuned software, without an engine",
        "Swap tables written and searched by ranges: what software gains by itself, so what offload has to be put "
        "beside.",
        "make bench-tuned",
        f"{COUNTING}; four RAM disks; no driver",
        "Cache misses.",
        "docs/results.md",
        "unpatched",
        {"tuned": "tuned software", "off": "patched, nothing registered"},
    ),
    "words": About(
        "Entries that the engine writes",
        "Grants place a folio (`hint`), and the engine also writes its entries in the swap table, which the kernel "
        "looks at (`trusted`) or not (`believed`). The latter two do not pay in a running kernel.",
        "make bench-table",
        f"{COUNTING}; the engine's RTL as a PCI device, 100 MHz, 50 cycles a transfer; waiting included",
        "Cache misses.",
        "docs/swap-table.md",
        "unpatched",
        {
            "hint": "grants, the engine's RTL",
            "tuned": "tuned software",
            "trusted": "the engine writes entries",
            "believed": "the same, not verified",
        },
    ),
    "soc-vexriscv": About(
        "Bare metal, VexRiscv",
        "CPU cycles with CPU and engine in the same clock. By MMIO the engine is the allocator itself; with grants "
        "software is.",
        "make bench-soc",
        f"{SOC}; VexRiscv, no kernel",
        "A kernel, locks, folios, other load. Both software allocators are ours, written from the rules.",
        "docs/bench-soc.md",
        "stock",
        BARE_METAL,
    ),
    "soc-rocket": About(
        "Bare metal, Rocket",
        "The same on a CPU of 64 bits.",
        "make bench-soc CPU=rocket",
        f"{SOC}; Rocket, no kernel",
        "A kernel, locks, folios, other load. Both software allocators are ours, written from the rules.",
        "docs/bench-soc.md",
        "stock",
        BARE_METAL,
    ),
    "soc-linux": About(
        "Linux on the SoC",
        "Linux on the simulated SoC swaps in every mode; the kernel's bench counts CPU cycles. Mode `hint` places by "
        "grants.",
        "make soc-linux",
        f"{SOC}; Rocket; empty device",
        "A nearly full device.",
        "docs/soc.md",
        "off",
        {
            "hint": "mode hint",
            "tuned": "tuned software",
            "shadow": "mode shadow",
            "trusted": "the engine writes entries",
        },
    ),
    "soc-harts": About(
        "Several CPUs",
        "Four Rocket harts allocate and free at the same time, with the kernel's locks between them, waiting included. "
        "In the chart: order 0 on an empty device.",
        "make bench-harts",
        f"{SOC}; four Rocket harts, no kernel",
        "A kernel, folios, other load, a second level of caches. Both software allocators are ours.",
        "docs/bench-harts.md",
    ),
    "soc-linux-harts": About(
        "Linux on several CPUs",
        "The kernel's bench makes its calls on as many harts at once, back to back: mode `off` is the kernel's own "
        "search, mode `hint` places by grants.",
        "make soc-linux-smp",
        f"{SOC}; four Rocket harts, Linux",
        "Other load, a second level of caches.",
        "docs/bench-harts.md",
    ),
    "engine": About(
        "The engine's cycles",
        "Recorded traces on the core alone, its input kept full; every decision is the kernel's.",
        "make bench-engine",
        "Verilated core",
        "Rings, bus, host.",
        "docs/results.md",
    ),
    "scale": About(
        "From 1 GiB to 1 TiB of swap",
        "Clusters in DRAM behind caches. *Fresh*: small orders on a new device; *churn*: frees and allocations all "
        "over a nearly full one; *scan*: allocations of order 4 whose scans all fail.",
        "make bench-scale",
        "Verilated engine with caches; a memory that answers after so many cycles",
        "Rows and refresh of a DRAM.",
        "docs/engine.md",
    ),
    "table-commands": About(
        "Commands on swap tables",
        "The engine reads and writes the kernel's own tables by DMA; the share of the port's peak, a word a cycle, "
        "that a command reaches.",
        "make bench-table",
        "Verilated engine at rest, one command at a time",
        "Other traffic on the bus.",
        "docs/swap-table.md",
    ),
    "swapoff": About(
        "Readahead of swapoff",
        "Fixed windows in the place of adaptive ones, in software alone: no engine is in this figure.",
        "make bench-table",
        f"{COUNTING}; a device with a modelled latency",
        "The engine; a real device.",
        "docs/swap-table.md",
    ),
    "bitstreams": About(
        "Boards",
        "What the SoC with the engine takes of each board's FPGA after place and route. No bitstream was loaded: no "
        "board was at hand.",
        "make bitstreams",
        "ECP5-85F, Yosys and nextpnr",
        "A board.",
        "docs/board.md",
    ),
}
"""By dataset, in the order of the page."""

GROUPS = (
    ("kernel", "In a running kernel", ("offload", "fallbacks", "demo", "tuned", "words", "swapoff")),
    ("soc", "In CPU cycles", ("soc-linux", "soc-vexriscv", "soc-rocket", "soc-harts", "soc-linux-harts")),
    ("hardware", "The engine itself", ("engine", "scale", "table-commands", "bitstreams")),
)
"""Name, title, and datasets of the page's groups of figures."""

MATRIX_CHARTS = {
    "fallbacks": charts.fallbacks,
    "swapoff": charts.swapoff,
    "engine": charts.engine,
    "scale": charts.scale,
    "soc-harts": charts.harts,
    "soc-linux-harts": charts.harts,
    "table-commands": charts.table_commands,
    "bitstreams": charts.bitstreams,
}


def drawn(name: str, dataset: Dataset) -> Chart | None:
    """Return a dataset's chart."""
    about = ABOUT[name]
    if isinstance(dataset, Calls):
        columns = {column: title for column, title in about.columns.items() if column in dataset.columns}
        return charts.calls(dataset, about.base, columns)
    return MATRIX_CHARTS[name](dataset)


def figure(name: str, dataset: Dataset, beside: str = "") -> Section:
    """Return the part of the page for a dataset."""
    about = ABOUT[name]
    facts = {
        "Command": f"`{about.command}`",
        "Platform": about.platform,
        "Leaves out": about.leaves_out,
        "On record": beside,
        "More": about.page,
    }
    numbers = tables.calls(dataset) if isinstance(dataset, Calls) else tables.matrix(dataset)
    return Section(name, about.title, about.lede, dataset.source, drawn(name, dataset), "", numbers, facts, 3)


def extreme(points: Sequence[Point], kind: str) -> str:
    """Return the greatest saving or loss as a cell."""
    if not points:
        return "-"
    return f'<span class="{kind}">{points[0].ratio:.2f}</span> {escape(str(points[0]))}'


def verdict_rows(judged: Sequence[Judged]) -> list[list[str]]:
    """Return a row a way."""
    return [
        [
            escape(one.way.title),
            escape(one.unit),
            tables.badge(one.source),
            extreme(one.cheaper, "gain"),
            extreme(one.dearer, "loss"),
            str(len(one.cheaper)),
            str(one.equal),
            str(len(one.dearer)),
        ]
        for one in judged
    ]


VERDICT_HEAD = ["way", "unit", "from", "greatest saving", "greatest loss", "cheaper", "equal", "dearer"]


def headline(judged: Sequence[Judged], against: str) -> str:
    """Return the answer in three lines of HTML: which ways pay, which are even, which lose, by their median."""
    groups: dict[str, list[str]] = {"Pays": [], "About even": [], "Loses": []}
    for one in sorted(judged, key=lambda one: one.median):
        group = "Pays" if one.median < 1 - EVEN else "Loses" if one.median > 1 + EVEN else "About even"
        least, most = min(point.ratio for point in one.points), max(point.ratio for point in one.points)
        groups[group].append(f"{escape(one.way.title)} <b>{one.median:.2f}</b> ({least:.2f} to {most:.2f})")
    lines = "".join(
        f'<div class="{kind}"><dt>{name}</dt><dd>{"<br>".join(groups[name]) or "none"}</dd></div>'
        for name, kind in (("Pays", "gain"), ("About even", "even"), ("Loses", "loss"))
    )
    said = f"Cost with the engine, {against} = 1: median (least to greatest)"
    return f'<div class="answer"><p>{said}</p><dl>{lines}</dl></div>'


def answer(kernel: Sequence[Judged], tuned: Sequence[Judged]) -> list[Section]:
    """Return the first parts: each way to use the engine beside software, over all kinds of call."""
    on_record = record.verdict()
    found = "".join(tables.table(one.head, [[escape(cell) for cell in row] for row in one.rows]) for one in on_record)
    source = Source("record", on_record[0].page, note="each figure's command and commit is in README's table below")
    lede = (
        "Each point is a kind of call: an allocation or a free, an order, a state of swap. Nothing is chosen: all that "
        "were measured with the engine and without are there, as averages over all calls, failed ones included. "
        f"*Even* is a median within {100 * EVEN:.0f} %."
    )
    rules, tuning = "the kernel's rules in software", "tuned software"
    parts = []
    for name, title, text, level, judged, against in (
        ("verdict", "Does it pay?", lede, 2, kernel, rules),
        ("verdict-tuned", "And beside tuned software?", TUNED, 3, tuned, tuning),
    ):
        numbers = tables.table(VERDICT_HEAD, verdict_rows(judged), 5, f"Beside {against}, averages")
        chart = charts.verdict(judged)
        parts.append(Section(name, title, text, None, chart, "", numbers, {}, level, headline(judged, against)))
    return [*parts, Section("readme", "README's answer", "", source, None, found, level=3)]


EVEN = 0.05
"""A way whose median differs by no more than this share from software's cost is even."""

TUNED = (
    "Much of what an engine could win is the algorithm's: software that does the same work better is the harder rival."
)


def losses(kernel: Sequence[Judged], tuned: Sequence[Judged]) -> Section:
    """Return all kinds of call that are dearer with the engine, the worst first."""
    found = [
        (point, one, against)
        for judged, against in ((kernel, "kernel's rules"), (tuned, "tuned software"))
        for one in judged
        for point in one.dearer
    ]
    found.sort(key=lambda item: -item[0].ratio)

    def row(point: Point, one: Judged, against: str) -> list[str]:
        name, costs = str(point).rsplit(", ", 1)
        return [
            escape(one.way.title),
            escape(name),
            against,
            tables.badge(one.source),
            f"{escape(costs)}<br>{escape(one.unit)}",
            f'<span class="loss">{point.ratio:.2f}</span>',
        ]

    head = ["way", "call", "beside", "from", "software : engine", "ratio"]
    most: dict[str, tuple[Point, Judged, str]] = {}
    for item in found:
        most.setdefault(item[1].way.title, item)
    lede = (
        f"In {len(found)} comparisons a call takes more with the engine than without. The worst of each way:"
        if found
        else "No kind of call takes more with the engine than without."
    )
    shown = tables.table(head, [row(*item) for item in most.values()], 4) if found else ""
    numbers = tables.table(head, [row(*item) for item in found], 4, "All of them") if found else ""
    return Section("losses", "Where offload loses", lede, None, None, shown, numbers, screen=True)


def system() -> Section:
    """Return the architecture's pictures."""
    pictures = (
        ("architecture.svg", "Guest kernel, driver, shared memory, simulated PCI device and engine"),
        ("engine.svg", "The engine"),
        ("soc.svg", "The SoC"),
    )
    html = "".join(
        f'<div class="picture" tabindex="0"><img src="{picture(name)}" alt="{escape(title)}"></div>'
        for name, title in pictures
    )
    lede = (
        "The kernel's tables are the truth: it checks and commits what the engine proposes. All hardware is simulated, "
        "so no wall-clock time is reported anywhere: guests count instructions, the SoC counts CPU cycles, the engine "
        "its own clock cycles."
    )
    return Section("architecture", "The system", lede, None, None, html)


def picture(name: str) -> str:
    """Return a picture as an address that holds it: by itself, so that its styles and names stay its own."""
    return f"data:image/svg+xml;base64,{base64.b64encode(record.picture(name).encode()).decode()}"


def checks(found: Sequence[tuple[Check | None, Check | None]]) -> Section:
    """Return what the checks came to: in this run, and on record."""

    def cell(check: Check | None) -> str:
        return f"{escape(check.figure)} {tables.badge(check.source)}" if check else "-"

    rows = []
    for run, recorded in found:
        one = recorded or run
        assert one is not None
        rows.append([escape(one.name), cell(run), cell(recorded), f"<code>{escape(one.command)}</code>"])
    html = tables.table(["check", "this run", "on record", "command"], rows, 4)
    lede = (
        "What stands behind the figures: whether kernel, golden model and RTL decide the same, and how that is known."
    )
    return Section("checks", "Checks", lede, None, None, html)


def measured() -> Section:
    """Return README's table of figures, as it is."""
    found = record.measured()
    rows = [[escape(cell) for cell in row] for row in found.rows]
    lede = "README's table as it is: each figure with its command, commit and platform, and what it leaves out."
    source = Source("record", found.page, note="each figure names its own commit")
    return Section("record", "All figures on record", lede, source, None, "", tables.table(found.head, rows, 5))


def sources(gathered: Gathered, made_with: Mapping[str, str]) -> Section:
    """Return where each figure is from."""
    rows = []
    for name, dataset in gathered.datasets.items():
        source = dataset.source
        commits, seed = source.commits, "-" if source.seed is None else str(source.seed)
        versions = ", ".join(f"{tool} {version}" for tool, version in source.versions.items()) or "-"
        title = ABOUT[name].title if name in ABOUT else name
        rows.append(
            [
                f'<a href="#{name}">{escape(title)}</a>',
                tables.badge(source),
                escape(source.place),
                escape(commits.get("patches", "-")),
                seed,
                escape(versions),
            ]
        )
    html = tables.table(["figure", "from", "file or page", "patch series", "seed", "versions"], rows, 6)
    if gathered.unread:
        html += f"<p>In the folder, and in no figure: {escape(', '.join(gathered.unread))}.</p>"
    made = "".join(f"<div><dt>{escape(n)}</dt><dd>{escape(v)}</dd></div>" for n, v in made_with.items())
    html += f'<dl class="facts">{made}</dl>'
    lede = (
        "*This run* is a result file that a command left; *on record* is a table of README or docs, with the commit "
        "that is beside it there."
    )
    return Section("sources", "Where the figures are from", lede, None, None, html)


def report(gathered: Gathered, sweeps: Sequence[Section], made_with: Mapping[str, str]) -> list[Section]:
    """Return the parts of the page."""
    kernel, tuned = verdict.judge(gathered.datasets, "kernel"), verdict.judge(gathered.datasets, "tuned")
    parts = [*answer(kernel, tuned), losses(kernel, tuned), system()]
    for name, title, datasets in GROUPS:
        there = [dataset for dataset in datasets if dataset in gathered.datasets]
        if there:
            parts.append(Section(name, title, ""))
        parts += [figure(d, gathered.datasets[d], gathered.beside.get(d, "")) for d in there]
    parts += sweeps
    return [*parts, checks(gathered.checks), measured(), sources(gathered, made_with)]
