# SPDX-License-Identifier: Apache-2.0
"""Proofs that two versions of a circuit behave alike: same inputs, same outputs in every cycle, from equal states on.

Both are flattened to gates. Each register bit of one is paired with one of the other, by its name where it has one that
Chisel did not number by itself (`foo_REG_3`), or else by what it takes in. Pairs share an input of one graph; so do
the data of the same read port of the same memory. Then all outputs, what each pair takes in, and all ports of memories
are compared. If they are equal for every state and every input, equal states lead to equal outputs and equal states.
Equal parts become one node of the graph, so most are equal by structure alone; ABC decides the others.

Modules, ports between them and names of wires may differ. A register, a memory or a port at the outside that only one
of the two has is told. Assertions are compared as well: whether each of them fails.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hwswap.verify import yosys
from hwswap.verify.equivalence import GATES, MEMORIES, Graph, Logic, never, pins_of

PASSES = (
    "proc",
    "flatten",
    "memory_map -rom-only",
    "opt_clean",
    "dffunmap",
    "opt_clean",
    "techmap",
    "simplemap",
    "opt_clean",
)
"""Yosys passes that make gates of a design, of tables too, without making one register of two."""

REGISTERS = {"$_DFF_P_": "C"}
"""Cells that hold a bit, with the port that says when they take another."""

SHOWN = 5
"""So many differences are named."""

_NUMBERED = re.compile(r"(^|_)(REG|r)(_|$)")
_PATH = re.compile(r"\\([^.\\]+)\.")

Bit = int | str
Place = tuple[str, int]
"""A bit of something with a name."""


@dataclass
class Comparison:
    """What was compared, and what is not equal: one sentence each."""

    registers: int = 0
    renamed: int = 0
    outputs: int = 0
    memories: int = 0
    assertions: int = 0
    by_solver: int = 0
    differences: list[str] = field(default_factory=list)

    @property
    def same(self) -> bool:
        """Both behave alike."""
        return not self.differences


class Version(Logic):
    """One of the two circuits."""

    def __init__(self, module: dict[str, Any], verilog: list[str]) -> None:
        """Take a module that `write_json` wrote after PASSES, and the lines of the Verilog it came from."""
        self.ports: dict[str, tuple[str, list[Bit]]] = {
            name: (port["direction"], port["bits"]) for name, port in module["ports"].items()
        }
        self.memories = {name: (value["width"], value["size"]) for name, value in module.get("memories", {}).items()}
        self.next: dict[Bit, Bit] = {}
        """What each register bit takes in."""
        self.clocks: dict[Bit, Bit] = {}
        """When it does."""
        self.reads: dict[Place, Bit] = {}
        self.taken: dict[tuple[str, str, int], Bit] = {}
        """What a memory's ports take in."""
        self.checks: list[tuple[str, Bit, Bit]] = []
        gates: dict[int, tuple[str, list[Any]]] = {}
        ports: Counter[tuple[str, str]] = Counter()
        for name, cell in sorted(module["cells"].items(), key=lambda item: natural((item[0], 0))):
            kind, nets, parameters = cell["type"], cell["connections"], cell["parameters"]
            if kind in GATES:
                gates[nets["Y"][0]] = kind, pins_of(nets)
            elif kind in REGISTERS:
                self.next[nets["Q"][0]] = nets["D"][0]
                self.clocks[nets["Q"][0]] = nets[REGISTERS[kind]][0]
            elif kind in MEMORIES:
                memory = parameters["MEMID"].removeprefix("\\")
                port = f"{memory} {kind} {ports[memory, kind]}"
                ports[memory, kind] += 1
                for pin, bits in nets.items():
                    for i, bit in enumerate(bits):
                        if pin == MEMORIES[kind]:
                            self.reads[port, i] = bit
                        else:
                            self.taken[port, pin, i] = bit
            elif kind == "$check":
                self.checks.append((".".join(_PATH.findall(name)), nets["EN"][0], nets["A"][0]))
            else:
                raise ValueError(f"{name} is a {kind}, which is no gate")
        super().__init__(gates)
        self.names = dict(self.named(module["netnames"], verilog))

    def named(self, nets: dict[str, Any], verilog: list[str]) -> Iterator[tuple[Bit, Place]]:
        """Yield the names of register bits: those that the Verilog declares as registers."""
        for name, net in nets.items():
            # FILE:LINE.COLUMN-LINE.COLUMN
            _, _, place = net["attributes"].get("src", "").rpartition(":")
            line = place.partition(".")[0]
            declared = not net["hide_name"] and line.isdecimal() and verilog[int(line) - 1].lstrip().startswith("reg ")
            for i, bit in enumerate(net["bits"]):
                if declared and bit in self.next:
                    yield bit, (name, i)

    def build(self, graph: Graph, states: dict[Bit, object]) -> Callable[[Bit], int]:
        """Put it into a graph, with these names for what register bits hold."""
        literals: dict[Bit, int] = {bit: graph.input(name) for bit, name in states.items()}
        for name, (direction, bits) in self.ports.items():
            if direction == "input":
                literals |= {bit: graph.input(("port", name, i)) for i, bit in enumerate(bits)}
        literals |= {bit: graph.input(("memory", *place)) for place, bit in self.reads.items()}
        return self.evaluate(graph, literals)


def flat(verilog: Path, top: str, folder: Path, others: Iterable[Path] = ()) -> Version:
    """Read a circuit; Yosys' log and files go into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    files = " ".join(str(path.resolve()) for path in (verilog, *others))
    yosys.run(
        [
            f"read_slang --threads 1 --keep-hierarchy --top {top} {files}",
            f"hierarchy -check -top {top}",
            *PASSES,
            "delete t:$print t:$scopeinfo",
            "write_json gates.json",
        ],
        folder / "yosys.log",
        folder,
    )
    values = json.loads((folder / "gates.json").read_text())
    (folder / "gates.json").unlink()
    return Version(values["modules"][top], verilog.read_text().splitlines())


def natural(place: Place) -> list[object]:
    """Return a key that sorts names by the numbers in them."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", place[0])] + [place[1]]


def is_numbered(place: Place) -> bool:
    """Tell whether Chisel numbered this register, for want of a name."""
    return bool(_NUMBERED.search(place[0].rpartition(".")[2]))


def pairs(versions: tuple[Version, Version]) -> tuple[list[tuple[Bit, Bit, object]], tuple[set[Bit], set[Bit]]]:
    """Pair the register bits of both; return the pairs, and what is left of each.

    A pair comes with a name for what it holds. Pairs that take in the same have the same name if that depends on no
    such pairs: they are equal from the second cycle on, whatever they held before.
    """
    by_name: list[dict[Place, Bit]] = [
        {place: bit for bit, place in version.names.items() if not is_numbered(place)} for version in versions
    ]
    found: list[tuple[Bit, Bit, object]] = [
        (bit, by_name[1][place], ("pair", place)) for place, bit in by_name[0].items() if place in by_name[1]
    ]
    paired = tuple({pair[side] for pair in found} for side in (0, 1))
    left = [version.next.keys() - paired[side] for side, version in enumerate(versions)]
    if not left[0] and not left[1]:
        return found, (set(), set())
    # The others: all that could be equal is taken to be, until what is taken in tells them apart.
    fixed: list[dict[Bit, object]] = [{pair[side]: pair[2] for pair in found} for side in (0, 1)]
    classes: list[dict[Bit, object]] = [dict.fromkeys(bits, 0) for bits in left]
    count = 1
    while True:
        graph = Graph()
        keys: dict[object, int] = {}
        refined: list[dict[Bit, object]] = []
        for version, known, guess in zip(versions, fixed, classes, strict=True):
            of = version.build(graph, known | {bit: ("class", number) for bit, number in guess.items()})
            refined.append(
                {bit: keys.setdefault((number, of(version.next[bit])), len(keys)) for bit, number in guess.items()}
            )
        if len(keys) == count:
            break
        classes = refined
        count = len(keys)
    several = {
        ("class", number) for guess in classes for number, found_of in Counter(guess.values()).items() if found_of > 1
    }
    nodes = {graph.inputs[name] >> 1 for name in several if name in graph.inputs}
    plain = {number for number, literal in keys if not graph.depends(literal, nodes)}
    members: list[dict[object, list[Bit]]] = [defaultdict(list), defaultdict(list)]
    for side, version in enumerate(versions):
        for bit in sorted(left[side], key=lambda bit, v=version: natural(v.names.get(bit, ("", 0)))):
            members[side][classes[side][bit]].append(bit)
    for number, bits in members[0].items():
        others = {versions[1].names.get(bit): bit for bit in members[1][number]}
        # Of registers that take in the same, those of one name; the rest as their names come.
        more = [(bit, others[name]) for bit in bits if (name := versions[0].names.get(bit)) in others and name]
        ours, theirs = {a for a, _ in more}, {b for _, b in more}
        rest = ([bit for bit in bits if bit not in ours], [bit for bit in members[1][number] if bit not in theirs])
        more += zip(*rest, strict=False)
        found += [(a, b, ("class", number) if number in plain else ("one", a)) for a, b in more]
        left[0] -= {a for a, _ in more}
        left[1] -= {b for _, b in more}
    return found, (set(left[0]), set(left[1]))


def differing(what: str, ours: Iterable[object], theirs: Iterable[object]) -> Iterator[str]:
    """Yield a sentence for each thing that only one has."""
    for whose, names in (("before", set(ours) - set(theirs)), ("after", set(theirs) - set(ours))):
        for name in sorted(map(str, names)):
            yield f"{what} {name} is there only {whose}"


def outside(before: Version, after: Version) -> Iterator[str]:
    """Yield a sentence for each port and each memory that only one has, or in another size."""
    ports = [
        [f"{name} ({direction}, {len(bits)} bits)" for name, (direction, bits) in version.ports.items()]
        for version in (before, after)
    ]
    yield from differing("the port", *ports)
    memories = [[f"{name} ({w} x {n})" for name, (w, n) in v.memories.items()] for v in (before, after)]
    yield from differing("the memory", *memories)


def compare(before: Version, after: Version, folder: Path) -> Comparison:
    """Prove that two versions behave alike, as far as they do; files for ABC go into `folder`."""
    result = Comparison(memories=len(after.memories), assertions=len(after.checks))
    result.differences += outside(before, after)
    if result.differences:
        return result
    found, left = pairs((before, after))
    result.registers = len(found)
    result.renamed = sum(before.names.get(a) != after.names.get(b) for a, b, _ in found)
    for whose, version, bits in (("before", before, left[0]), ("after", after, left[1])):
        for bit in sorted(bits, key=lambda bit, v=version: natural(v.names.get(bit, ("", 0)))):
            name, i = version.names.get(bit, ("without a name", 0))
            result.differences.append(f"the register {name}, bit {i}, is there only {whose}")
    graph = Graph()
    sides = [
        version.build(
            graph,
            {pair[side]: pair[2] for pair in found} | {bit: ("alone", side, bit) for bit in left[side]},
        )
        for side, version in enumerate((before, after))
    ]
    points: list[tuple[str, int, int]] = []
    for name, (direction, bits) in after.ports.items():
        if direction == "output":
            result.outputs += len(bits)
            old = before.ports[name][1]
            points += [(f"the output {name}, bit {i}", sides[0](old[i]), sides[1](bit)) for i, bit in enumerate(bits)]
    for a, b, _ in found:
        name, i = after.names.get(b, ("without a name", 0))
        points.append((f"the register {name}, bit {i}", sides[0](before.next[a]), sides[1](after.next[b])))
        points.append((f"the clock of {name}", sides[0](before.clocks[a]), sides[1](after.clocks[b])))
    result.differences += differing("the memory port", before.taken, after.taken)
    points += [
        (f"the memory port {' '.join(map(str, place))}", sides[0](before.taken[place]), sides[1](bit))
        for place, bit in after.taken.items()
        if place in before.taken
    ]
    fails = [
        Counter((path, graph.conjunction(of(enable), of(holds) ^ 1)) for path, enable, holds in version.checks)
        for of, version in zip(sides, (before, after), strict=True)
    ]
    anywhere = [Counter(literal for _, literal in found.elements()) for found in fails]
    for literals in zip(
        sorted((anywhere[0] - anywhere[1]).elements()), sorted((anywhere[1] - anywhere[0]).elements()), strict=False
    ):
        points.append(("an assertion", *literals))
    if len(before.checks) != len(after.checks):
        result.differences.append(f"there are {len(before.checks)} assertions before, {len(after.checks)} after")
    unequal = [point for point in points if point[1] != point[2]]
    result.by_solver = len(unequal)
    if unequal and not never(graph, graph.any(graph.differ(a, b) for _, a, b in unequal), "all.aig", folder):
        for what, a, b in unequal:
            if len(result.differences) > SHOWN:
                break
            if not never(graph, graph.differ(a, b), "one.aig", folder):
                result.differences.append(f"{what} is not proved to be the same")
    return result
