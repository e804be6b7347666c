# SPDX-License-Identifier: Apache-2.0
"""The result files that commands leave in build/, or in a copy of it, compressed or not, as figures.

A file that is there and cannot be read ends the report with one sentence: leaving it out would show what is on record
in its place.
"""

import gzip
import json
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from hwswap.report.figures import Call, Calls, Check, Dataset, Figures, Matrix, ReportError, Source, Stat

Report = dict[str, Any]

STATES = {"empty": "empty", "50": "half full", "90": "90 % full", "fail": "no room"}
"""As make bench-tuned and make bench-offload name them."""

ALL_STATES = ("", "empty", "after the loads", "half full", "90 % full", "no room", "fragmented")
"""In the order in which tables have them."""


def commits_of(report: Report) -> dict[str, str]:
    """Return the commits that a result names, in whichever of the forms that the commands write."""
    named = report.get("commits") or report.get("provenance") or {}
    found = dict(named) if isinstance(named, dict) else {"hwswap": named}
    for name, key in (("hwswap", "commit"), ("patches", "patches")):
        if isinstance(report.get(key), str):
            found[name] = report[key]
    return found


def source_of(report: Report, place: str, note: str = "") -> Source:
    """Return where a result is from."""
    versions = dict(report.get("versions", {}))
    versions |= {name: report[name] for name in ("linux", "qemu") if isinstance(report.get(name), str)}
    notes = [note, "short form" if report.get("short") else ""]
    return Source("run", place, commits_of(report), report.get("seed"), versions, "; ".join(filter(None, notes)))


def stat_of(entry: Mapping[str, Any]) -> Stat:
    """Return a line of the kernel's bench."""
    failed = entry["op"] == "alloc" and entry.get("failed", 0) == entry["n"]
    return Stat(entry["avg"], entry["p50"], entry["p99"], failed)


def calls_of(entries: Iterable[tuple[str, Call, Mapping[str, Any]]]) -> dict[Call, dict[str, Stat]]:
    """Return rows of column, call and line; what was not done at all has no line."""
    rows: dict[Call, dict[str, Stat]] = {}
    for column, call, entry in entries:
        if entry["n"]:
            rows.setdefault(call, {})[column] = stat_of(entry)
    return rows


def demo(report: Report, place: str) -> list[Dataset]:
    """`make demo`."""
    entries = []
    for name, lines in report["bench"].items():
        state, column = ("fragmented", name.removeprefix("fragmented-")) if "-" in name else ("after the loads", name)
        entries += [(column, (e["op"], e["order"], state), e) for e in lines]
    rows = calls_of(entries)
    return [Calls("demo", "guest instructions", dict(sorted(rows.items(), key=_order)), source_of(report, place))]


def _order(item: tuple[Call, Any]) -> tuple[int, bool, int]:
    """Sort by order, allocations first, and states as swap fills."""
    (op, order, state), _ = item
    return order, op == "free", ALL_STATES.index(state) if state in ALL_STATES else len(ALL_STATES)


def tuned(report: Report, place: str) -> list[Dataset]:
    """`make bench-tuned`."""
    rows = calls_of((e["kernel"], (e["op"], e["order"], STATES[e["state"]]), e) for e in report["bench"])
    return [Calls("tuned", "guest instructions", rows, source_of(report, place))]


def _mean_of_seeds(runs: list[Report]) -> dict[str, float | None]:
    """Return the folios split of each size, of all, and how many there were, in the mean of runs with several seeds."""

    def mean(kind: str, size: str) -> float:
        return sum(run[kind][size] for run in runs) / len(runs)

    split = {f"{size} kB": mean("split", size) for size in runs[0]["split"]}
    every = sum(split.values())
    return {**split, "all": every, "of": every + sum(mean("whole", size) for size in runs[0]["whole"])}


def offload(report: Report, place: str) -> list[Dataset]:
    """`make bench-offload`: its parts are of runs of their own."""
    found: list[Dataset] = []
    if calls := report.get("calls"):
        rows = calls_of((e["column"], (e["op"], e["order"], STATES[e["state"]]), e) for e in calls["bench"])
        found.append(
            Calls("offload", "guest instructions", dict(sorted(rows.items(), key=_order)), source_of(calls, place))
        )
    if fall := report.get("fallbacks"):
        runs: dict[tuple[str, ...], list[Report]] = {}
        for run in fall["runs"]:
            priorities = run["priorities"]
            different = f" ({' '.join(map(str, priorities))})" if len(set(priorities)) > 1 else ""
            runs.setdefault((f"{len(priorities)}{different}", f"{run['percent']} %", run["placement"]), []).append(run)
        cells = {where: _mean_of_seeds(of_seeds) for where, of_seeds in runs.items()}
        note = f"means of the seeds {', '.join(map(str, fall['seeds']))}"
        found.append(Matrix("fallbacks", ("devices", "full", "placement"), cells, source_of(fall, place, note)))
    return found


def driver(report: Report, place: str) -> list[Dataset]:
    """The driver's part of `make bench-table`: entries written by the engine, swapoff's readahead."""
    rows = calls_of((e["mode"], (e["op"], e["order"], ""), e) for e in report["bench"])
    cells: dict[tuple[str, ...], dict[str, float | None]] = {}
    for run in report["swapoff"]:
        column = "fixed, ms" if run["fixed"] else "adaptive, ms"
        cells.setdefault((str(run["page_cluster"]),), {})[column] = run["nsec"] / 1e6
    source = source_of(report, place)
    return [
        Calls("words", "guest instructions", rows, source),
        Matrix("swapoff", ("page_cluster",), dict(sorted(cells.items())), source),
    ]


def table_commands(report: Report, place: str) -> list[Dataset]:
    """The engine's part of `make bench-table`."""
    cells: dict[tuple[str, ...], dict[str, float | None]] = {}
    for command in report["commands"]:
        items, unit = command["items"], command["unit"]
        row = cells.setdefault((command["command"], f"{items} {unit if items > 1 else unit[:-1]}"), {})
        row[f"busy, {command['latency']}"] = command["busy"]
        row[f"round trip, {command['latency']}"] = command["round_trip"]
        row[f"% of peak, {command['latency']}"] = round(100 * command["share"], 1) or None
    return [Matrix("table-commands", ("command", "of"), cells, source_of(report, place))]


PATHS = {"hint": "by hint", "nonfull": "from a NONFULL list", "free": "an empty cluster", "frag": "from a FRAG list"}


def engine(report: Report, place: str) -> list[Dataset]:
    """`make bench-engine`."""
    cells: dict[tuple[str, ...], dict[str, float | None]] = {}
    for group in report["groups"]:
        alloc = group["kind"] == "alloc"
        what = f"allocate order {group['order']}" if alloc else group["kind"]
        path = PATHS.get(group["path"], group["path"]) if alloc else ""
        row = {name: group["cycles"][key] for name, key in (("number", "count"), ("mean", "mean"))}
        row |= {name: group["cycles"][name] for name in ("p50", "p99", "max")}
        cells[what, path, "yes" if group["list_move"] else "no"] = row
    cells["all", "", ""] = {"number": report["operations"], "mean": report["cycles"] / max(report["operations"], 1)}
    return [Matrix("engine", ("operation", "path", "changes list"), cells, source_of(report, place))]


def scale(report: Report, place: str) -> list[Dataset]:
    """`make bench-scale`."""
    cells: dict[tuple[str, ...], dict[str, float | None]] = {}
    for result in report["results"]:
        if result["operations"] < 2 or result["phase"] not in ("fresh", "churn", "scan"):
            continue
        store = "in DRAM" if result["store"] == "dram" else "on chip"
        hits = None if result["hit_rate"] is None else 100 * result["hit_rate"]
        cells[size_words(result["gib"]), store, result["phase"], str(result["latency"])] = {
            **{name: result["cycles"][name] for name in ("mean", "p50", "p99")},
            "cache hits, %": hits,
        }
    return [Matrix("scale", ("swap", "clusters", "work", "latency"), cells, source_of(report, place))]


def size_words(gib: int) -> str:
    """Name a size."""
    return f"{gib} GiB" if gib < 1024 else f"{gib // 1024} TiB"


SCHEMES = {"register": "MMIO", "ring": "command ring", "words": "table entries alone"}
SCHEMES |= {"trusted": "MMIO, entries by the engine"}


def bench_soc(report: Report, place: str) -> list[Dataset]:
    """`make bench-soc`: the first run is the full measurement, the others sweep a parameter."""
    first = report["runs"][0]
    rows: dict[Call, dict[str, Stat]] = {}
    for cell in first["cells"]:
        if cell["n"] and cell["sum"]:
            stat = Stat(cell["mean"], cell["p50"], cell["p99"], cell["failures"] == cell["n"])
            call = cell["op"], cell["order"], cell["state"]
            rows.setdefault(call, {})[SCHEMES.get(cell["scheme"], cell["scheme"])] = stat
    ordered = dict(sorted(rows.items(), key=lambda item: (item[0][2], *_order(item))))
    source = source_of(report, place, f"engine build {first['platform']['build']}")
    return [Calls(f"soc-{report['cpu']}", "CPU cycles", ordered, source)]


def bench_harts(report: Report, place: str) -> list[Dataset]:
    """`make bench-harts`: an allocation and its free on several harts."""
    rows: dict[tuple[str, ...], dict[str, float | None]] = {}
    for row in report["measured"]:
        column = SCHEMES.get(row["scheme"], row["scheme"])
        rows.setdefault((row["case"], str(row["harts"])), {})[column] = row["cycles"]
    commits = {"hwswap": report["runs"][0]["commit"]}
    source = Source("run", place, commits, note=f"engine build {report['engine']['build_hash']}")
    return [Matrix("soc-harts", ("device, load", "harts"), rows, source)]


def soc_linux_smp(report: Report, place: str) -> list[Dataset]:
    """`make soc-linux-smp`: an allocation and its free in Linux on several harts."""
    rows: dict[tuple[str, ...], dict[str, float | None]] = {}
    for row in report["measured"]:
        rows.setdefault((row["case"], str(row["harts"])), {})[row["mode"]] = row["cycles"]
    note = f"engine build {report['engine']['build_hash']}, DRAM latency {report['dram_latency']}"
    return [Matrix("soc-linux-harts", ("device, load", "harts"), rows, source_of(report, place, note))]


def soc_linux(report: Report, place: str) -> list[Dataset]:
    """`make soc-linux`."""
    rows = calls_of(
        (mode, (e["op"], e["order"], ""), e) for mode, found in report["modes"].items() for e in found["benches"]
    )
    note = f"engine build {report['engine']['build_hash']}, DRAM latency {report['dram_latency']}"
    return [Calls("soc-linux", "CPU cycles", dict(sorted(rows.items(), key=_order)), source_of(report, place, note))]


def bitstreams(report: Report, place: str) -> list[Dataset]:
    """`make bitstreams`."""
    cells: dict[tuple[str, ...], dict[str, float | None]] = {}
    versions: dict[str, str] = {}
    for made in report["bitstreams"]:
        if "utilisation" not in made:
            continue
        total, percent, reached = made["utilisation"]["total"], made["percent"], made["reached_mhz"].values()
        ours = sum(part["LUT"] for name, part in made["utilisation"].items() if name.startswith("engine"))
        cells[made["board"], made["cpu"], made["profile"]] = {
            "LUTs": total["LUT"],
            "LUTs, %": percent["LUT"],
            "of them the engine, %": round(percent["LUT"] * ours / total["LUT"], 1),
            "registers, %": percent["FF"],
            "block RAMs, %": percent["BRAM"],
            "MHz asked": made["asked_mhz"],
            "MHz reached, least": min(reached, default=None),
            "MHz reached, most": max(reached, default=None),
        }
        versions |= made.get("tools", {})
    source = Source("run", place, commits_of(report), None, versions)
    return [Matrix("bitstreams", ("board", "CPU", "engine"), cells, source)]


def _lockstep(report: Report) -> str:
    rows = report["traces"]
    decisions, forced = sum(row["decisions"] for row in rows), sum(sum(row["causes"].values()) for row in rows)
    different = sum(bool(row["difference"]) for row in rows)
    said = "all equal" if not different else f"{different} with a difference"
    return f"{len(rows)} traces, {decisions:,} decisions, {forced:,} of them forced: {said}"


def _witness(report: Report) -> str:
    said = "all equal" if not report["faults"] else "; ".join(report["faults"])
    return f"{report['folios']:,} folios, {report['slots']:,} slots: {said}"


def _fuzz(report: Report) -> str:
    said = "all equal" if not report["faults"] else "; ".join(report["faults"])
    return f"{report['operations']:,} random operations: {said}"


def _formal(report: Report) -> str:
    results = [found["result"] for found in report["properties"]]
    counted = {name: results.count(name) for name in dict.fromkeys(results)}
    return f"{len(results)} properties: " + ", ".join(f"{number} {name}" for name, number in counted.items())


def _mutate(report: Report) -> str:
    return f"{report['killed']} of {report['faults']} mutants found, {100 * report['score']:.1f} %"


def _coverage(report: Report) -> str:
    shares = [100 * report[name]["reached"] / report[name]["points"] for name in ("line", "toggle")]
    bins = report["functional"]
    return f"lines {shares[0]:.1f} %, toggles {shares[1]:.1f} %, {bins['hit']} of {bins['bins']} functional bins"


def _demo_checks(report: Report) -> str:
    failed = [check["text"] for check in report["checks"] if not check["passed"]]
    return f"{len(report['checks'])} conditions: " + ("all met" if not failed else "not met: " + "; ".join(failed))


READERS: Mapping[str, Callable[[Report, str], list[Dataset]]] = {
    "demo/demo.json": demo,
    "bench-tuned/tuned.json": tuned,
    "bench-offload/offload.json": offload,
    "bench-table/driver.json": driver,
    "bench-table/engine.json": table_commands,
    "bench-engine/bench-engine.json": engine,
    "bench-scale/bench-scale.json": scale,
    "bench-soc/vexriscv.json": bench_soc,
    "bench-soc/rocket.json": bench_soc,
    "bench-soc/rocket4.json": bench_harts,
    "soc-linux/linux.json": soc_linux,
    "soc-linux-smp/linux-smp.json": soc_linux_smp,
    "bitstreams/summary.json": bitstreams,
}
"""File in the folder of results -> what reads it."""

CHECKS: Mapping[str, tuple[str, str, Callable[[Report], str]]] = {
    "demo/demo.json": ("demo", "make demo", _demo_checks),
    "lockstep/lockstep.json": ("lockstep", "make lockstep", _lockstep),
    "witness/witness.json": ("witness", "make witness", _witness),
    "fuzz/fuzz.json": ("fuzz", "make fuzz", _fuzz),
    "formal/formal.json": ("formal", "make formal", _formal),
    "mutate/mutate.json": ("mutate", "make mutate", _mutate),
    "coverage/coverage.json": ("coverage", "make coverage", _coverage),
}
"""File -> name of the check, its command, and what it came to."""

TITLES = {"demo": "conditions of the demo", "fuzz": "random operations on running kernels"}
"""Of checks that have no row on record, whose words would be theirs."""

BUILT = ("rtl", "model", "mutants/", "netlist", "bitstream-", "part-", "placements", "linux-", "kernel", "soc-")
"""How folders of build/ begin whose JSON files describe what was built, and measure nothing."""


def find(folder: Path, place: str) -> Path | None:
    """Return a result's file, as its command leaves it or compressed, as in docs/measured; None if neither."""
    return next((path for path in (folder / place, folder / f"{place}.gz") if path.is_file()), None)


def load(path: Path, place: str) -> Report:
    """Read a file."""
    try:
        found = json.loads(gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_text())
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise ReportError(f"{place} is no JSON: run its command again, or remove it ({error})") from error
    if not isinstance(found, dict):
        raise ReportError(f"{place} is not what its command writes: run that again, or remove it")
    return found


def read(folder: Path) -> Figures:
    """Read all results in a folder."""
    if not folder.is_dir():
        raise ReportError(f"there is no folder {folder}: name one with results, as build")
    figures = Figures()
    for place in dict.fromkeys((*READERS, *CHECKS)):
        path = find(folder, place)
        if path is None:
            continue
        report = load(path, place)
        try:
            for dataset in READERS[place](report, place) if place in READERS else ():
                figures.add(dataset)
            if place in CHECKS:
                name, command, say = CHECKS[place]
                title = TITLES.get(name, name)
                figures.checks[name] = Check(title, say(report), command, source_of(report, place))
        except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
            raise ReportError(
                f"{place} is not what its command writes today ({type(error).__name__}: {error}): run that again, or "
                "remove it"
            ) from error
    figures.unread = unread(folder)
    return figures


def unread(folder: Path) -> list[str]:
    """Return the results in a folder that no figure is taken from, so that the page can name them."""
    found = []
    for path in sorted((*folder.glob("*/*.json"), *folder.glob("*/*.json.gz"))):
        place = path.relative_to(folder).as_posix().removesuffix(".gz")
        if not place.startswith(BUILT) and place not in READERS and place not in CHECKS:
            found.append(place)
    return found
