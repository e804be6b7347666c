# SPDX-License-Identifier: Apache-2.0
"""Proofs that a mutant is none: in no state and with no input does it change an output or the next state.

The netlist with all faults, as gates, is taken twice: with the fault and without. Registers are cut: what they hold is
an input that both copies share, what they take in is an output; so are the ports of memories. If no assignment of the
inputs makes any output of the two copies differ, nothing can ever tell them apart. ABC proves it, one fault at a time.

Nothing is assumed about which states can be reached. A fault that matters only in states that cannot be reached is so
not proved, and counts as a fault.
"""

import gzip
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from hwswap.verify import yosys

PASSES = ("delete t:$check t:$print t:$scopeinfo", "dffunmap", "opt_clean", "techmap", "simplemap", "opt_clean")
"""Yosys passes that leave gates, registers with a clock and nothing else, and ports of memories of a netlist."""

MEMORIES = {"$memrd_v2": "DATA", "$memwr_v2": ""}
"""Cells of memories, with their output."""

REGISTER = "$_DFF_P_"

GATES = ("$_NOT_", "$_AND_", "$_OR_", "$_XOR_", "$_XNOR_", "$_MUX_")

CONFLICTS = 100_000
"""Conflicts of ABC's solver after which a proof has not succeeded: a count, so no verdict depends on the machine."""

SECONDS = 600.0
"""A proof that takes so long is ended whatever it was to do: its caller is told."""

FALSE, TRUE = 0, 1


class Graph:
    """An and-inverter graph: literal 2 n is node n, 2 n + 1 its inverse; node 0 is false. Equal nodes are one."""

    def __init__(self) -> None:
        """Begin with nothing but the constant."""
        self.inputs: dict[object, int] = {}
        self.ands: dict[tuple[int, int], int] = {}
        self.nodes: list[tuple[int, int] | None] = [None]

    def input(self, name: object) -> int:
        """Return the literal of an input, which is made when it is named first."""
        if name not in self.inputs:
            self.inputs[name] = 2 * len(self.nodes)
            self.nodes.append(None)
        return self.inputs[name]

    def conjunction(self, a: int, b: int) -> int:
        """Return a AND b."""
        if a > b:
            a, b = b, a
        if a == FALSE or a == b ^ 1:
            return FALSE
        if a in (TRUE, b):
            return b
        if (a, b) not in self.ands:
            self.ands[a, b] = 2 * len(self.nodes)
            self.nodes.append((a, b))
        return self.ands[a, b]

    def differ(self, a: int, b: int) -> int:
        """Return a XOR b."""
        return self.choice(a, b ^ 1, b)

    def choice(self, condition: int, then: int, otherwise: int) -> int:
        """Return `then` where the condition holds, `otherwise` elsewhere."""
        if then == otherwise:
            return then
        return (
            self.conjunction(self.conjunction(condition, then) ^ 1, self.conjunction(condition ^ 1, otherwise) ^ 1) ^ 1
        )

    def any(self, literals: Iterable[int]) -> int:
        """Return whether one of them holds."""
        found = FALSE
        for literal in literals:
            found = self.conjunction(found ^ 1, literal ^ 1) ^ 1
        return found

    def depends(self, literal: int, inputs: set[int]) -> bool:
        """Tell whether a literal depends on one of these nodes."""
        seen, waiting = set(), [literal >> 1]
        while waiting:
            node = waiting.pop()
            if node in inputs:
                return True
            if node not in seen:
                seen.add(node)
                if pair := self.nodes[node]:
                    waiting += [pair[0] >> 1, pair[1] >> 1]
        return False

    def aiger(self, output: int) -> bytes:
        """Return what the literal depends on in the binary AIGER format, with it as the only output."""
        needed, waiting = set(), [output >> 1]
        while waiting:
            node = waiting.pop()
            if node and node not in needed:
                needed.add(node)
                if pair := self.nodes[node]:
                    waiting += [pair[0] >> 1, pair[1] >> 1]
        # Inputs come first; ands are numbered behind what they depend on, since they were made behind it.
        leaves = sorted(node for node in needed if self.nodes[node] is None)
        gates = sorted(node for node in needed if self.nodes[node] is not None)
        number = {0: 0} | {node: i for i, node in enumerate(leaves + gates, 1)}
        made = bytearray(f"aig {len(needed)} {len(leaves)} 0 1 {len(gates)}\n".encode())
        made += f"{2 * number[output >> 1] | output & 1}\n".encode()
        return bytes(made + self.encoded(gates, number))

    def encoded(self, gates: Iterable[int], number: dict[int, int]) -> bytes:
        """Return the ands of binary AIGER: for each node how far its inputs are behind it, in the numbers given."""
        made = bytearray()
        for node in gates:
            pair = self.nodes[node]
            assert pair is not None
            low, high = sorted(2 * number[literal >> 1] | literal & 1 for literal in pair)
            for delta in (2 * number[node] - high, high - low):
                while delta > 127:
                    made.append(delta & 127 | 128)
                    delta >>= 7
                made.append(delta)
        return bytes(made)


class Logic:
    """The gates of a netlist, by the net that each drives: its kind, and the nets at its inputs (A, B, S)."""

    def __init__(self, gates: dict[int, tuple[str, list[Any]]]) -> None:
        """Take the gates, and put each behind those it depends on."""
        self.gates = gates
        self.order = list(self.sorted())

    def sorted(self) -> Iterator[int]:
        """Yield the gates, each behind those it depends on."""
        done: set[int] = set()
        for start in self.gates:
            waiting = [start]
            while waiting:
                net = waiting[-1]
                if net in done:
                    waiting.pop()
                    continue
                missing = [bit for bit in self.gates[net][1] if bit in self.gates and bit not in done]
                if missing:
                    waiting += missing
                else:
                    done.add(waiting.pop())
                    yield net

    def evaluate(self, graph: Graph, literals: dict[int | str, int]) -> Callable[[int | str], int]:
        """Put the gates into a graph, where some nets have literals already; return what tells the literal of a net.

        A net that nothing drives is an input of the graph by its name: what is undefined, too.
        """
        literals |= {"0": FALSE, "1": TRUE}

        def of(bit: int | str) -> int:
            if bit not in literals:
                literals[bit] = graph.input(bit)
            return literals[bit]

        for net in self.order:
            kind, pins = self.gates[net]
            a = of(pins[0])
            if kind == "$_NOT_":
                literals[net] = a ^ 1
                continue
            b = of(pins[1])
            if kind == "$_AND_":
                literals[net] = graph.conjunction(a, b)
            elif kind == "$_OR_":
                literals[net] = graph.conjunction(a ^ 1, b ^ 1) ^ 1
            elif kind == "$_MUX_":
                literals[net] = graph.choice(of(pins[2]), b, a)
            else:
                literals[net] = graph.differ(a, b) ^ (kind == "$_XNOR_")
        return of


class Gates(Logic):
    """A netlist of gates with an input that chooses a fault."""

    def __init__(self, values: dict[str, Any], top: str, select: str) -> None:
        """Take what `write_json` wrote after PASSES."""
        module = values["modules"][top]
        self.select: list[int] = module["ports"][select]["bits"]
        gates: dict[int, tuple[str, list[Any]]] = {}
        self.outputs: list[Any] = []
        for port in module["ports"].values():
            if port["direction"] == "output":
                self.outputs += port["bits"]
        for name, cell in module["cells"].items():
            kind, ports = cell["type"], cell["connections"]
            if kind in GATES:
                gates[ports["Y"][0]] = kind, pins_of(ports)
            elif kind == REGISTER:
                self.outputs += ports["D"]
            elif kind in MEMORIES:
                self.outputs += [bit for port, bits in ports.items() if port != MEMORIES[kind] for bit in bits]
            else:
                raise ValueError(f"{name} is a {kind}, which is no gate")
        super().__init__(gates)

    def build(self, graph: Graph, fault: int) -> list[int]:
        """Put the netlist with a fault into a graph; return the literals of its outputs."""
        of = self.evaluate(graph, {bit: fault >> i & 1 for i, bit in enumerate(self.select)})
        return [of(bit) for bit in self.outputs]


def pins_of(ports: dict[str, list[Any]]) -> list[Any]:
    """Return the nets at a gate's inputs."""
    return [bit for port in ("A", "B", "S") for bit in ports.get(port, ())]


def never(graph: Graph, literal: int, name: str, folder: Path) -> bool | None:
    """Tell whether a literal is proved to be false for all inputs, None if ABC was ended for the time it took.

    A file for ABC goes into `folder` meanwhile.
    """
    if literal in (FALSE, TRUE):
        return literal == FALSE
    (folder / name).write_bytes(graph.aiger(literal))
    said = yosys.abc(f"read_aiger {name}; strash; iprove -M {CONFLICTS}", folder, SECONDS)
    (folder / name).unlink()
    return None if said is None else "UNSATISFIABLE" in said


class Prover:
    """Proves faults to be none."""

    def __init__(self, path: Path, top: str, select: str) -> None:
        """Read the gates, packed, and put the netlist without fault into a graph."""
        self.gates = Gates(json.loads(gzip.decompress(path.read_bytes())), top, select)
        self.graph = Graph()
        self.sound = self.gates.build(self.graph, 0)

    def no_fault(self, number: int, folder: Path) -> bool:
        """Tell whether a fault is proved to change nothing; files go into `folder`."""
        faulty = self.gates.build(self.graph, number)
        pairs = {(a, b) for a, b in zip(self.sound, faulty, strict=True) if a != b}
        if not pairs:
            return True
        miter = self.graph.any(self.graph.differ(a, b) for a, b in sorted(pairs))
        proved = never(self.graph, miter, f"fault-{number}.aig", folder)
        if proved is None:
            raise yosys.OutOfTimeError(f"ABC was ended: it may take {SECONDS:.0f} s")
        return proved
