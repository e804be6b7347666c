# SPDX-License-Identifier: Apache-2.0
"""A sweep file (docs/report.md) and the points that follow from it; what is wrong with a file is one sentence."""

import hashlib
import itertools
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from hwswap.compare.fallback import POLICIES
from hwswap.project import paths
from hwswap.traces.stream import FEATURES, Shape

AXES = ("engine", "load", "policy", "latency", "stall", "seed")
"""What a point is a combination of."""

DEFAULTS: Mapping[str, Sequence[Any]] = {
    "engine": ["default"],
    "policy": ["linux"],
    "latency": [16],
    "stall": [0],
    "seed": [1],
}
"""Of axes that a file leaves out; without `load` all loads of the file are measured."""

NUMBERS = {"latency": (1, 100_000), "stall": (0, 90), "seed": (1, 2**31 - 2)}
"""The least and the greatest value of an axis: those of hwswap-replay."""

DEFAULT_SIZES, WIDE_SIZES, DRAM_SIZES = (8, 4, 1024), (32, 64, 512), (2, 4, 524_288)
SIZED = re.compile(r"([1-9]\d*)x([1-9]\d*)x([1-9]\d*)")


MOST_CLUSTERS = 65_536
"""Of a stream."""


class SweepError(RuntimeError):
    """The sweep cannot be done; the message is one sentence for the user."""


@dataclass(frozen=True)
class Engine:
    """A built engine: its name in sweep files, the folder of build/ with its replayer, and its sizes."""

    name: str
    folder: str
    devices: int
    cpus: int
    clusters: int
    index: bool = True
    """Whether it has policy `indexed`: the index goes with clusters on chip."""

    @property
    def program(self) -> Path:
        """The replayer of operations on it."""
        return paths.BUILD / self.folder / "hwswap-replay"

    @property
    def sized(self) -> bool:
        """Whether its name says its sizes: then sim/setup/build makes it for sweeps alone."""
        return self.folder == f"model-{self.name}"


ENGINES = {
    "default": Engine("default", "model", *DEFAULT_SIZES),
    "wide": Engine("wide", "model-wide", *WIDE_SIZES),
    "dram": Engine("dram", "model-scale", *DRAM_SIZES, index=False),
}
"""Those that other targets build, too; any other sizes are named as DEVICESxCPUSxCLUSTERS."""


@dataclass(frozen=True)
class Load:
    """What an engine is given: a trace file, or a random stream of a shape (without its seed)."""

    name: str
    trace: Path | None = None
    operations: int = 0
    """Of a stream how many, of a trace how many records from its beginning on, 0 for all."""
    devices: int = 0
    cpus: int = 0
    clusters: int = 0
    span: int = 0
    features: tuple[str, ...] = ()

    def shape(self, seed: int) -> Shape:
        """Return the shape of its stream."""
        return Shape(seed, self.operations, self.devices, self.cpus, self.clusters, self.span, frozenset(self.features))

    def identity(self) -> str:
        """Say all that its operations depend on, but the seed."""
        if self.trace is not None:
            return f"trace {hashlib.sha256(self.trace.read_bytes()).hexdigest()} {self.operations}"
        return f"stream {self.shape(0)}"


@dataclass(frozen=True)
class Point:
    """One measurement: a value of each axis."""

    engine: Engine
    load: Load
    policy: str
    latency: int
    stall: int
    seed: int | None
    """None where nothing is drawn, so that every seed would measure the same."""

    def __str__(self) -> str:
        """Name it as a user would."""
        words = [self.engine.name, self.load.name, self.policy, f"latency {self.latency}"]
        words += [f"stall {self.stall} %"] if self.stall else []
        words += [f"seed {self.seed}"] if self.seed is not None else []
        return ", ".join(words)


@dataclass(frozen=True)
class Plan:
    """A sweep file as read."""

    name: str
    text: str
    points: tuple[Point, ...]

    @property
    def engines(self) -> list[Engine]:
        """Engines of its points, each once."""
        return list(dict.fromkeys(point.engine for point in self.points))


def _known(found: Mapping[str, Any], allowed: Sequence[str], where: str) -> None:
    """Refuse keys that mean nothing."""
    for name in found:
        if name not in allowed:
            raise SweepError(f"{where} has '{name}', which means nothing there: it can have {', '.join(allowed)}")


def _table(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise SweepError(f"{where} has to be a table")
    return value


def _whole(value: object, where: str, low: int, high: int) -> int:
    """Return a whole number from low to high."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise SweepError(f"{where} is {value!r}: it has to be a whole number from {low:,} to {high:,}")
    return value


def _engine(name: str, where: str) -> Engine:
    if name in ENGINES:
        return ENGINES[name]
    sizes = SIZED.fullmatch(name)
    if sizes is None:
        raise SweepError(
            f"{where} names engine '{name}': there are {', '.join(ENGINES)}, and sizes as in 4x2x256, devices by CPUs "
            "by clusters"
        )
    return Engine(name, f"model-{name}", *map(int, sizes.groups()))


def _axis(grid: Mapping[str, Any], name: str, default: Sequence[Any]) -> list[Any]:
    """Return the values of an axis, each once and none of them wrong in kind."""
    values = grid.get(name, default)
    if not isinstance(values, list) or not values:
        raise SweepError(f"grid.{name} has to be a list of at least one value")
    for value in values:
        if name in NUMBERS:
            _whole(value, f"a value of grid.{name}", *NUMBERS[name])
        elif not isinstance(value, str):
            raise SweepError(f"grid.{name} has {value!r}: it has to be a name")
    if len(set(values)) != len(values):
        raise SweepError(f"grid.{name} has a value twice")
    return values


def _load(name: str, found: Mapping[str, Any], sizes: tuple[int, int, int]) -> Load:
    """Read a load; sizes are those of the smallest engine, which a stream fits if it says nothing else."""
    where = f"load.{name}"
    if ("trace" in found) == ("stream" in found):
        raise SweepError(f"{where} has to have either 'trace', a file, or 'stream', a number of operations")
    if "trace" in found:
        _known(found, ("trace", "operations"), where)
        if not isinstance(found["trace"], str):
            raise SweepError(f"{where}.trace has to be the name of a file")
        path = paths.ROOT / found["trace"]
        if not path.is_file():
            raise SweepError(f"{where}.trace names {found['trace']}, which is not there")
        operations = _whole(found.get("operations", 0), f"{where}.operations", 0, 10**9)
        return Load(name, path, operations)
    _known(found, ("stream", "devices", "cpus", "clusters", "span", "features"), where)
    features = found.get("features", [])
    if not isinstance(features, list) or any(feature not in FEATURES for feature in features):
        raise SweepError(f"{where}.features has to be a list of some of {', '.join(FEATURES)}")
    defaults = {field.name: field.default for field in fields(Shape)}
    devices, cpus, clusters = (
        _whole(found.get(size, min(least, MOST_CLUSTERS)), f"{where}.{size}", 1, MOST_CLUSTERS)
        for size, least in zip(("devices", "cpus", "clusters"), sizes, strict=True)
    )
    span = _whole(found.get("span", min(defaults["span"], clusters)), f"{where}.span", 1, clusters)
    operations = _whole(found["stream"], f"{where}.stream", 1, 10**9)
    load = Load(name, None, operations, devices, cpus, clusters, span, tuple(features))
    try:
        load.shape(1)
    except ValueError as error:
        raise SweepError(f"{where}: {error}") from error
    return load


def _excluded(named: Mapping[str, Any], rules: Sequence[Mapping[str, Any]]) -> bool:
    return any(all(named[axis] == value for axis, value in rule.items()) for rule in rules)


def _rules(found: object) -> list[dict[str, Any]]:
    """Read what is not to be measured."""
    if not isinstance(found, list):
        raise SweepError("exclude has to be written as [[exclude]]")
    for rule in found:
        _known(_table(rule, "exclude"), AXES, "exclude")
        if not rule:
            raise SweepError("exclude without an axis would leave nothing")
    return found


def _points(
    axes: Mapping[str, list[Any]], engines: Mapping[str, Engine], loads: Mapping[str, Load], rules: list[dict[str, Any]]
) -> tuple[Point, ...]:
    """List all combinations, each measurement once."""
    points: dict[Point, None] = {}
    for values in itertools.product(*(axes[axis] for axis in AXES)):
        named = dict(zip(AXES, values, strict=True))
        if _excluded(named, rules):
            continue
        engine, load = engines[named["engine"]], loads[named["load"]]
        if named["policy"] == "indexed" and not engine.index:
            raise SweepError(
                f"engine {engine.name} has no index, so that policy indexed cannot be measured on it: leave it out by "
                f'[[exclude]] with engine = "{engine.name}" and policy = "indexed"'
            )
        drawn = load.trace is None or named["stall"] or named["policy"] == "random-trunk"
        seed = named["seed"] if drawn else None
        points[Point(engine, load, named["policy"], named["latency"], named["stall"], seed)] = None
    if not points:
        raise SweepError("nothing is left to be measured: exclude takes all points out")
    return tuple(points)


def parse(text: str, name: str) -> Plan:
    """Read the text of a sweep file; `name` is the sweep's when the text has none."""
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SweepError(f"it is not TOML: {error}") from error
    _known(found, ("name", "grid", "load", "exclude"), "the file")
    name = found.get("name", name)
    if not isinstance(name, str) or not re.fullmatch(r"[\w.-]+", name) or name.startswith("."):
        raise SweepError(f"name is {name!r}: it has to be letters, digits, '-', '_' and '.', as it names a folder")
    grid = _table(found.get("grid", {}), "grid")
    _known(grid, AXES, "grid")
    described = _table(found.get("load", {}), "load")
    if not described:
        raise SweepError("there is no load: add a table [load.NAME] with 'trace' or 'stream'")
    axes = {axis: _axis(grid, axis, DEFAULTS.get(axis, list(described))) for axis in AXES}
    engines = {engine: _engine(engine, "grid.engine") for engine in axes["engine"]}
    for policy in axes["policy"]:
        if policy not in POLICIES:
            raise SweepError(f"grid.policy names '{policy}': there are {', '.join(POLICIES)}")
    sizes = tuple(min(getattr(e, size) for e in engines.values()) for size in ("devices", "cpus", "clusters"))
    loads = {load: _load(load, _table(table, f"load.{load}"), sizes) for load, table in described.items()}
    for load in axes["load"]:
        if load not in loads:
            raise SweepError(f"grid.load names '{load}', of which there is no table [load.{load}]")
    rules = _rules(found.get("exclude", []))
    return Plan(name, text, _points(axes, engines, loads, rules))


def read(path: Path) -> Plan:
    """Read a sweep file."""
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise SweepError(f"{path} cannot be read: {getattr(error, 'strerror', None) or 'it is no text'}") from error
    try:
        return parse(text, path.stem)
    except SweepError as error:
        raise SweepError(f"{path}: {error}") from error


def sources() -> str:
    """Hash what decides beside the engine: golden model, streams, and the other operations under a policy."""
    digest = hashlib.sha256()
    for package in ("model", "traces", "compare", "kernel", "sweep"):
        for path in sorted((paths.ROOT / "sim/hwswap" / package).rglob("*.py")):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def load_key(point: Point, made_of: str) -> str:
    """Name a point's operations: the same for all points that share them."""
    parts = [made_of, point.load.identity(), point.policy, point.seed]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def key(point: Point, made_of: str, program: str) -> str:
    """Name a point's result: another one when anything it is made of is another.

    Args:
        point: what is measured.
        made_of: hash of the sources.
        program: hash of the engine's program.
    """
    parts = [load_key(point, made_of), program, point.latency, point.stall, point.seed]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
