# SPDX-License-Identifier: Apache-2.0
"""Proofs that a mutant matters in no state that can be reached: from reset on it changes no output and no state.

The netlist without fault is a machine. Beside it stands what the fault makes of the same state and inputs; *bad* is
that an output, the next value of a register, the address of a memory's read, or what is written into a memory differs
there. As long as bad never holds, a machine with the fault goes through the same states, so if bad can never hold,
nothing can tell the two apart. ABC proves that by property directed reachability, which finds the invariants it needs.

A cycle of reset comes first. Registers that it sets to a constant, whatever they held, begin with that, and the fault
must not change it; all others begin with anything. What a memory gives is anything, anew in each cycle, but the same
for both; so is each undefined bit.

A fault may change some registers, if nothing is seen of that: those that it can change at once have a twin, with what
they hold in the machine with the fault, and bad is that anything but they differs.

The whole machine is too much. So most registers are cut: they, too, hold anything anew in each cycle, which only adds
states. Kept are, at first, the narrow ones that bad depends on, then those that these depend on, and so on, until the
proof succeeds or its time is over. What is proved of a machine that can do more holds for the machine.
"""

import gzip
import json
import subprocess
import threading
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hwswap.verify import yosys
from hwswap.verify.equivalence import FALSE, MEMORIES, REGISTER, TRUE, Gates, Graph


@dataclass(frozen=True)
class Effort:
    """After what a proof has not succeeded; all of it is counted, so that no verdict depends on the machine."""

    frames: int
    """Cycles that ABC looks ahead at most."""
    conflicts: int
    """Conflicts of one question to its solver at most."""
    rings: int
    """How often registers are added."""


SHORT = Effort(frames=30, conflicts=500, rings=2)
"""Of a short run of `hwswap mutate`."""

LONG = Effort(frames=100, conflicts=10_000, rings=3)
"""Of a long one."""

CPU_SECONDS = 120
"""CPU time of one proof that is ended whatever it was to do: its caller is told."""

NARROW = 6
"""Bits of the widest register that is kept at first, and, if it is reset, later."""

TWINS = 64
"""The most registers that a fault may change without being seen."""

RESET = "reset"
"""The input that resets."""

UNKNOWN = 2
"""A value that may be 0 or 1."""


class Machine:
    """A netlist of gates with its registers and memories, an input that chooses a fault, and one that resets."""

    def __init__(self, path: Path, top: str, select: str, reset: str = RESET) -> None:
        """Read what `write_json` wrote after equivalence.PASSES, packed."""
        values = json.loads(gzip.decompress(path.read_bytes()))
        module: dict[str, Any] = values["modules"][top]
        self.gates = Gates(values, top, select)
        self.reset: int = module["ports"][reset]["bits"][0]
        self.outputs = [
            bit for port in module["ports"].values() if port["direction"] == "output" for bit in port["bits"]
        ]
        self.registers: dict[int, Any] = {}
        self.reads: list[list[Any]] = []
        self.writes: list[dict[str, list[Any]]] = []
        for name, cell in module["cells"].items():
            ports = cell["connections"]
            if cell["type"] == REGISTER:
                self.registers[ports["Q"][0]] = ports["D"][0]
            elif cell["type"] in MEMORIES and "EN" in ports and MEMORIES[cell["type"]]:
                if ports["EN"] != ["1"] or int(cell["parameters"]["CLK_ENABLE"], 2):
                    raise ValueError(f"{name} is no memory that is read at any time")
                self.reads.append(ports["ADDR"])
            elif cell["type"] in MEMORIES:
                self.writes.append(ports)
        self.widths = self.widths_of(module["netnames"])

    def widths_of(self, names: dict[str, Any]) -> dict[int, int]:
        """Return for each register how many bits the narrowest named net has that it belongs to (1: none)."""
        widths: dict[int, int] = {}
        for net in names.values():
            if not net["hide_name"]:
                for bit in net["bits"]:
                    if bit in self.registers:
                        widths[bit] = min(widths.get(bit, len(net["bits"])), len(net["bits"]))
        return widths

    def after_reset(self, fault: int) -> dict[int, int]:
        """Return which registers hold which constants after a cycle of reset, whatever they held before."""
        values: dict[Any, int] = {"0": 0, "1": 1, self.reset: 1}
        values |= {bit: fault >> i & 1 for i, bit in enumerate(self.gates.select)}
        for net in self.gates.order:
            kind, pins = self.gates.gates[net]
            values[net] = ternary(kind, [values.get(pin, UNKNOWN) for pin in pins])
        found = {q: values.get(d, UNKNOWN) for q, d in self.registers.items()}
        return {q: value for q, value in found.items() if value != UNKNOWN}


def ternary(kind: str, pins: list[int]) -> int:
    """Work out a gate whose pins may be unknown."""
    possible = {0}
    for i, pin in enumerate(pins):
        possible = {bits | bit << i for bits in possible for bit in ((0, 1) if pin == UNKNOWN else (pin,))}
    results = set()
    for bits in possible:
        a, b, s = bits & 1, bits >> 1 & 1, bits >> 2 & 1
        results.add(
            {"$_NOT_": 1 - a, "$_AND_": a & b, "$_OR_": a | b, "$_XOR_": a ^ b, "$_XNOR_": 1 - (a ^ b)}.get(
                kind, b if s else a
            )
        )
    return results.pop() if len(results) == 1 else UNKNOWN


class Reachability:
    """Proves faults to matter in no state that can be reached; several threads may have it do so at once."""

    def __init__(self, machine: Machine) -> None:
        """Put the machine without fault into a graph."""
        self.machine = machine
        self.growing = threading.Lock()
        self.graph = Graph()
        self.state = {q: self.graph.input(("register", q)) for q in machine.registers}
        self.register_of = {literal >> 1: q for q, literal in self.state.items()}
        self.sound = self.build(0)
        self.next = {q: self.literal(self.sound, d, q) for q, d in machine.registers.items()}
        self.begin = machine.after_reset(0)

    def build(self, fault: int, twins: Mapping[int, int] | None = None) -> dict[Any, int]:
        """Put the netlist with a fault into the graph; return the literals of its nets.

        `twins` are registers that hold something of their own, with its literal.
        """
        gates, graph = self.machine.gates, self.graph
        literals: dict[Any, int] = {"0": FALSE, "1": TRUE} | self.state | dict(twins or {})
        literals |= {bit: fault >> i & 1 for i, bit in enumerate(gates.select)}
        for net in gates.order:
            kind, pins = gates.gates[net]
            a, b, s = (
                *(self.literal(literals, pin, (net, i)) for i, pin in enumerate(pins)),
                *(FALSE,) * (3 - len(pins)),
            )
            if kind == "$_NOT_":
                literals[net] = a ^ 1
            elif kind == "$_AND_":
                literals[net] = graph.conjunction(a, b)
            elif kind == "$_OR_":
                literals[net] = graph.conjunction(a ^ 1, b ^ 1) ^ 1
            elif kind == "$_MUX_":
                literals[net] = graph.choice(s, b, a)
            else:
                literals[net] = graph.differ(a, b) ^ (kind == "$_XNOR_")
        return literals

    def literal(self, literals: dict[Any, int], bit: Any, place: object = None) -> int:
        """Return the literal of a net; what is undefined is another input at each place, the same for both copies."""
        if bit in ("x", "z"):
            return self.graph.input(("undefined", place))
        if bit not in literals:
            literals[bit] = self.graph.input(bit)
        return literals[bit]

    def bad(self, faulty: dict[Any, int], loose: Collection[int] = ()) -> int:
        """Return the literal of something being other than without fault that must not be: all but `loose`."""
        machine, graph, sound = self.machine, self.graph, self.sound

        def differs(bit: Any, when: int = TRUE) -> int:
            there = "undefined", bit
            a, b = self.literal(sound, bit, there), self.literal(faulty, bit, there)
            return graph.conjunction(when, graph.differ(a, b))

        held = [d for q, d in machine.registers.items() if q not in loose]
        seen = [*machine.outputs, *held, *(bit for bits in machine.reads for bit in bits)]
        found = {differs(bit) for bit in seen}
        for write in machine.writes:
            enables = [self.literal(sound, bit, "enable") for bit in write["EN"]]
            found |= {differs(bit) for bit in write["EN"]}
            some = graph.any(set(enables))
            found |= {differs(bit, some) for bit in write["ADDR"]}
            found |= {differs(bit, enable) for bit, enable in zip(write["DATA"], enables, strict=True)}
        return graph.any(sorted(found))

    def depends_on(self, literals: Iterable[int]) -> set[int]:
        """Return the registers that literals depend on, within a cycle."""
        seen: set[int] = set()
        waiting = [literal >> 1 for literal in literals]
        found = set()
        while waiting:
            node = waiting.pop()
            if node in seen:
                continue
            seen.add(node)
            if pair := self.graph.nodes[node]:
                waiting += [pair[0] >> 1, pair[1] >> 1]
            elif node in self.register_of:
                found.add(self.register_of[node])
        return found

    def unreachable(self, fault: int, folder: Path, effort: Effort = SHORT) -> bool:
        """Tell whether a fault is proved to matter in no state that can be reached; files go into `folder`."""
        faulty = self.machine.after_reset(fault)
        if any(faulty.get(q) != value for q, value in self.begin.items()):
            return False
        with self.growing:
            copy = self.build(fault)
            bad = self.bad(copy)
            # Registers that the fault may change at once: they may, if that is not seen.
            loose = [q for q, d in self.machine.registers.items() if copy.get(d, d) != self.sound.get(d, d)]
            twins = {q: self.graph.input(("twin", q)) for q in loose}
            other = self.build(fault, twins)
            unseen = self.bad(other, twins)
            behind = {q: self.literal(other, self.machine.registers[q], q) for q in loose}
        if FALSE in (bad, unseen):
            return True
        path = folder / f"reach-{fault}.aig"
        if self.never(bad, {}, {}, path, effort):
            return True
        return len(twins) <= TWINS and self.never(unseen, twins, behind, path, effort)

    def never(self, bad: int, twins: Mapping[int, int], behind: Mapping[int, int], path: Path, effort: Effort) -> bool:
        """Tell whether something is proved to be never; `behind` is what comes next in the twins."""
        kept = set(twins)
        edge = self.depends_on([bad, *behind.values()])
        for ring in range(effort.rings):
            new = {q for q in edge - kept if self.machine.widths.get(q, 1) <= NARROW and (not ring or q in self.begin)}
            if ring and not new:
                return False
            kept |= new
            proved = prove(self.with_registers(kept, bad, twins, behind), path, effort)
            if proved is not False:
                return bool(proved)
            edge = self.depends_on(self.next[q] for q in new)
        return False

    def with_registers(self, kept: set[int], bad: int, twins: Mapping[int, int], behind: Mapping[int, int]) -> bytes:
        """Return, in the binary AIGER format, the machine in which only some registers are more than inputs.

        Twins are kept, too; they begin with what their registers begin with.
        """
        graph = Graph()
        # 0 in the first cycle, then 1: registers that reset does not set begin with an input.
        running = graph.input("running")
        places = {q: graph.input(("kept", q)) for q in sorted(kept)}
        literals = {0: FALSE}
        for q, place in places.items():
            free = place if q in self.begin else graph.choice(running, place, graph.input(("first", q)))
            literals[self.state[q] >> 1] = free
        seconds = {q: graph.input(("twin", q)) for q in sorted(twins)}
        for q, place in seconds.items():
            free = place if q in self.begin else graph.choice(running, place, graph.input(("first", q)))
            literals[twins[q] >> 1] = free

        def copy(literal: int) -> int:
            waiting = [literal >> 1]
            while waiting:
                node = waiting[-1]
                pair = self.graph.nodes[node]
                if node in literals:
                    waiting.pop()
                elif pair is None:
                    literals[node] = graph.input(("free", node))
                elif missing := [half >> 1 for half in pair if half >> 1 not in literals]:
                    waiting += missing
                else:
                    literals[node] = graph.conjunction(*(literals[half >> 1] ^ half & 1 for half in pair))
            return literals[literal >> 1] ^ literal & 1

        output = copy(bad)
        latches = [(running, TRUE, 0)]
        latches += [(place, copy(self.next[q]), self.begin.get(q, 0)) for q, place in places.items()]
        latches += [(place, copy(behind[q]), self.begin.get(q, 0)) for q, place in seconds.items()]
        return aiger(graph, latches, output)


def aiger(graph: Graph, latches: list[tuple[int, int, int]], output: int) -> bytes:
    """Return a machine in the binary AIGER format: latches with their next and first values, and one output."""
    held = [latch >> 1 for latch, _, _ in latches]
    latch_nodes = set(held)
    inputs = [n for n in range(1, len(graph.nodes)) if graph.nodes[n] is None and n not in latch_nodes]
    gates = [n for n in range(1, len(graph.nodes)) if graph.nodes[n] is not None]
    number = {0: 0} | {node: i for i, node in enumerate([*inputs, *held, *gates], 1)}

    def of(literal: int) -> int:
        return 2 * number[literal >> 1] | literal & 1

    made = bytearray(f"aig {len(number) - 1} {len(inputs)} {len(held)} 1 {len(gates)}\n".encode())
    for _, behind, first in latches:
        made += f"{of(behind)} {first}\n".encode()
    made += f"{of(output)}\n".encode()
    return bytes(made + graph.encoded(gates, number))


def prove(machine: bytes, path: Path, effort: Effort) -> bool | None:
    """Tell whether a machine's output is never 1; None if `effort` was not enough."""
    path.write_bytes(machine)
    try:
        limited = ["sh", "-c", 'ulimit -t "$0"; exec "$@"', str(CPU_SECONDS), str(yosys.abc_program()), "-q"]
        commands = f"read_aiger {path.name}; strash; pdr -F {effort.frames} -C {effort.conflicts}"
        done = subprocess.run([*limited, commands], cwd=path.parent, capture_output=True, text=True, check=False)
    finally:
        path.unlink()
    if done.returncode < 0:
        raise yosys.OutOfTimeError(
            f"ABC was ended by signal {-done.returncode}: it may take {CPU_SECONDS} s of CPU time"
        )
    if "Property proved" in done.stdout:
        return True
    if "was asserted in frame" in done.stdout:
        return False
    if "Property UNDECIDED" in done.stdout:
        return None
    raise yosys.YosysError(f"ABC ended with status {done.returncode}: {(done.stdout + done.stderr)[-300:]}")
