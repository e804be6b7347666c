# SPDX-License-Identifier: Apache-2.0
"""Proofs that a mutant is none: in no state and with no input does it change an output or the next state.

The netlist with all faults, as gates, is written twice for ABC: with the fault and without. Registers are cut: what
they hold is an input that both have, what they take in is an output; so are the ports of memories. If no assignment of
the inputs makes any output of the two differ, nothing can ever tell them apart. ABC proves it, one fault at a time.

Nothing is assumed about which states can be reached. A fault that matters only in states that cannot be reached is so
not proved, and counts as a fault.
"""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hwswap.verify import yosys

PASSES = ("delete t:$check t:$print t:$scopeinfo", "dffunmap", "opt_clean", "techmap", "simplemap", "opt_clean")
"""Yosys passes that leave gates, registers with a clock and nothing else, and ports of memories of a netlist."""

MEMORIES = {"$memrd_v2": "DATA", "$memwr_v2": ""}
"""Cells of memories, with their output."""

REGISTER = "$_DFF_P_"

GATES = {
    "$_NOT_": ("0 1",),
    "$_AND_": ("11 1",),
    "$_OR_": ("1- 1", "-1 1"),
    "$_XOR_": ("10 1", "01 1"),
    "$_XNOR_": ("00 1", "11 1"),
    "$_MUX_": ("1-0 1", "-11 1"),
}
"""The inputs A, B and S that make a gate 1, as BLIF has it."""

CONFLICTS = 100_000
"""Conflicts of ABC's solver after which a proof has not succeeded: a count, so no verdict depends on the machine."""

SECONDS = 600.0
"""A proof that takes so long is ended in any case: its caller is told."""


class Prover:
    """Proves faults to be none."""

    def __init__(self, path: Path, top: str, select: str, folder: Path) -> None:
        """Read the gates, packed, of which the input `select` chooses a fault; files for ABC go into `folder`."""
        module = json.loads(gzip.decompress(path.read_bytes()))["modules"][top]
        self.folder = folder
        self.select: list[int] = module["ports"][select]["bits"]
        gates: dict[Any, tuple[str, list[Any]]] = {}
        outputs = [bit for port in module["ports"].values() if port["direction"] == "output" for bit in port["bits"]]
        for name, cell in module["cells"].items():
            kind, ports = cell["type"], cell["connections"]
            if kind in GATES:
                gates[ports["Y"][0]] = kind, [bit for port in "ABS" for bit in ports.get(port, ())]
            elif kind == REGISTER:
                outputs += ports["D"]
            elif kind in MEMORIES:
                outputs += [bit for port, bits in ports.items() if port != MEMORIES[kind] for bit in bits]
            else:
                raise ValueError(f"{name} is a {kind}, which is no gate")
        self.lines = list(self.blif(gates, outputs))
        (folder / "sound.blif").write_text(self.text(0))

    def blif(self, gates: dict[Any, tuple[str, list[Any]]], outputs: list[Any]) -> Iterator[str]:
        """Yield the lines of the netlist; a net that nothing drives is an input, and so is an undefined one."""
        used = {bit for _, pins in gates.values() for bit in pins}.union(outputs)
        inputs = used.difference(gates, "01", self.select)
        yield ".model netlist"
        yield " ".join([".inputs", *sorted(f"n{bit}" for bit in inputs)])
        yield " ".join([".outputs", *(f"o{number}" for number in range(len(outputs)))])
        for net, (kind, pins) in gates.items():
            yield " ".join([".names", *(f"n{bit}" for bit in pins), f"n{net}"])
            yield from GATES[kind]
        for number, bit in enumerate(outputs):
            yield f".names n{bit} o{number}"
            yield "1 1"

    def text(self, fault: int) -> str:
        """Return the netlist with a fault, or with none: 0."""
        constants = {"0": 0, "1": 1} | {bit: fault >> i & 1 for i, bit in enumerate(self.select)}
        made = [f".names n{bit}" + "\n1" * value for bit, value in constants.items()]
        return "\n".join([*self.lines, *made, ".end\n"])

    def no_fault(self, number: int) -> bool:
        """Tell whether a fault is proved to change nothing."""
        faulty = self.folder / f"fault-{number}.blif"
        faulty.write_text(self.text(number))
        said = yosys.abc(f"miter sound.blif {faulty.name}; strash; iprove -M {CONFLICTS}", self.folder, SECONDS)
        faulty.unlink()
        if said is None:
            raise yosys.OutOfTimeError(f"ABC was ended: it may take {SECONDS:.0f} s")
        return "UNSATISFIABLE" in said
