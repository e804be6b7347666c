# SPDX-License-Identifier: Apache-2.0
"""Mutants: one copy of the engine's Verilog with many, of which an input chooses one (0: none).

A fault inverts a bit at an input or output of a cell of the word-level netlist, holds it at 0 or 1, or inverts it only
while another bit of the same port is 0 or 1; Yosys' `mutate` puts it in. The netlist is flat and optimised before
faults are chosen, so that none lies in what is constant, double or never used in this engine as it was built. The
assertions are taken out for the choice, so that none lies in what only they look at; they are in the copy with the
faults.

What is no candidate, each by a rule that can be checked:

- a bit from which no path leads to an output of the engine (`Netlist.live`): nothing can show it;
- a bit that is tied to a constant: the cell beside it has the same fault at its other input;
- a clock: that would be a fault in the clock tree, not in the logic;
- a cell without a line in the Verilog: the optimiser's own.

    python -m hwswap.verify.make_mutants RTL OUTPUT SEED

writes OUTPUT/HwSwap.sv, with the input `mutsel`, OUTPUT/mutants.json, and OUTPUT/gates.json.gz for proofs
(equivalence.py).
"""

import gzip
import json
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from hwswap.verify import equivalence, yosys
from hwswap.verify.netlist import Netlist, Site, modules_of

SELECT = "mutsel"
SELECT_BITS = 16
TOP = "HwSwap"
COUNT = 420
PER_LINE = 2
"""The most faults in the cells of one line of the Verilog."""

AT_LEAST = 4
"""Faults in each kind of module, if so many can be had."""

AT_MOST = 0.12
"""Share of all faults that one kind of module may have."""

MEMORY = "memory"
"""The kind of all modules that firtool makes for memories."""

GATES = "gates.json.gz"
"""The file with the netlist as gates."""

CLOCK = "CLK"
"""The port of cells that a clock comes in by."""

MODES = ("inv", "const0", "const1", "cnot0", "cnot1")

_MEMORY = re.compile(r".*_\d+x\d+")
_SCALA = re.compile(r"([\w/]+/)?(\w+\.scala):(\d+)")


@dataclass(frozen=True)
class Mutant:
    """A fault: its number, its place, and the change.

    `module` is the kind of module, `wire` a name of the net, with the path of instances. `line` is the line of the
    Verilog, `source` the line of the Chisel source it comes from, if that is known.
    """

    number: int
    module: str
    mode: str
    cell: str
    port: str
    bit: int
    control: int | None
    wire: str
    line: int
    source: str

    @property
    def kind(self) -> str:
        """The kind of module."""
        return kind_of(self.module)

    def __str__(self) -> str:
        """Describe the fault."""
        what = {
            "inv": "inverted",
            "const0": "held at 0",
            "const1": "held at 1",
            "cnot0": f"inverted while bit {self.control} is 0",
            "cnot1": f"inverted while bit {self.control} is 1",
        }[self.mode]
        wire = f" ({self.wire})" if self.wire else ""
        return f"{self.module} {self.source or f'line {self.line}'}: port {self.port} bit {self.bit}{wire} {what}"


def kind_of(module: str) -> str:
    """Return the kind of a module, all memories being one."""
    return MEMORY if _MEMORY.fullmatch(module) else module


def source_of(lines: list[str], number: int) -> str:
    """Return the Chisel line that a line of the Verilog names; lines without a comment belong to the next one with."""
    for line in lines[number - 1 : number + 8]:
        if found := _SCALA.search(line):
            return f"{found.group(2)}:{found.group(3)}"
        if line.rstrip().endswith(";") and line is not lines[number - 1]:
            break
    return ""


def candidates(netlist: Netlist, verilog: list[str]) -> dict[str, dict[int, list[Site]]]:
    """Return where faults can be, by kind of module and line."""
    modules = modules_of(verilog)
    found: dict[str, dict[int, list[Site]]] = defaultdict(lambda: defaultdict(list))
    for site in sorted(netlist.live()):
        line = netlist.cells[site.cell].line
        if not line:
            continue
        if site.port != CLOCK and modules[line - 1] and not isinstance(netlist.bit(site), str):
            found[kind_of(modules[line - 1])][line].append(site)
    return found


def choose(pool: dict[str, dict[int, list[Site]]], count: int, rng: random.Random) -> list[Site]:
    """Choose `count` places, spread over all kinds of modules, and in each over its lines.

    Each kind has AT_LEAST; the others are drawn by how many lines a kind has, up to a share of all, AT_MOST.
    """
    per_line: Counter[int] = Counter()
    per_kind: Counter[str] = Counter()
    chosen: list[Site] = []
    left = {kind: dict(lines) for kind, lines in sorted(pool.items())}

    def take(kind: str) -> None:
        line = rng.choice(sorted(left[kind]))
        by_cell: dict[str, list[Site]] = defaultdict(list)
        for site in left[kind][line]:
            if site not in chosen:
                by_cell[site.cell].append(site)
        # First the cell, so that wide ones do not have them all.
        chosen.append(rng.choice(by_cell[rng.choice(sorted(by_cell))]))
        per_kind[kind] += 1
        per_line[line] += 1
        if per_line[line] == min(PER_LINE, len(pool[kind][line])):
            del left[kind][line]

    def open_kinds(limit: float) -> list[str]:
        return [kind for kind in left if left[kind] and per_kind[kind] < limit]

    for limit in (AT_LEAST, AT_MOST * count):
        while len(chosen) < count and (kinds := open_kinds(limit)):
            weights = [len(pool[kind]) for kind in kinds] if limit > AT_LEAST else None
            take(rng.choices(kinds, weights)[0])
    if len(chosen) < count:
        raise ValueError(f"only {len(chosen)} faults can be chosen: ask for fewer")
    return chosen


def seed_faults(netlist: Netlist, verilog: list[str], places: Iterable[Site], rng: random.Random) -> list[Mutant]:
    """Draw the change at each place; numbered from 1 on, by place."""
    modules = modules_of(verilog)
    found = []
    for site in places:
        cell = netlist.cells[site.cell]
        others = [i for i, bit in enumerate(cell.ports[site.port]) if i != site.bit and not isinstance(bit, str)]
        mode = rng.choice(MODES if others else MODES[:3])
        control = rng.choice(others) if mode.startswith("cnot") else None
        wire = netlist.names.get(netlist.bit(site), "")
        source = source_of(verilog, cell.line)
        found.append(
            Mutant(0, modules[cell.line - 1], mode, *(site.cell, site.port, site.bit), control, wire, cell.line, source)
        )
    found.sort(key=lambda mutant: (mutant.module, mutant.line, mutant.cell, mutant.port, mutant.bit))
    return [replace(mutant, number=number) for number, mutant in enumerate(found, 1)]


def command(mutant: Mutant) -> str:
    """Return the Yosys command that puts a fault in."""
    control = "" if mutant.control is None else f" -ctrlbit {mutant.control}"
    return (
        f"mutate -ctrl {SELECT} {SELECT_BITS} {mutant.number} -mode {mutant.mode} -module {TOP} "
        f"-cell {mutant.cell} -port {mutant.port} -portbit {mutant.bit}{control}"
    )


def make(rtl: Path, output: Path, seed: int) -> list[Mutant]:
    """Write the Verilog with the faults and the list of them."""
    output.mkdir(parents=True, exist_ok=True)
    yosys.run(
        [
            f"read_slang --threads 1 --keep-hierarchy --top {TOP} {rtl}",
            f"hierarchy -check -top {TOP}",
            "proc",
            "flatten",
            "opt",
            "opt_clean",
            "write_rtlil clean.il",
            "delete t:$check t:$print",
            "opt_clean",
            "write_json candidates.json",
        ],
        output / "choose.log",
        output,
    )
    verilog = rtl.read_text().splitlines()
    netlist = Netlist(json.loads((output / "candidates.json").read_text()), TOP)
    rng = random.Random(seed)
    pool = candidates(netlist, verilog)
    chosen = seed_faults(netlist, verilog, choose(pool, COUNT, rng), rng)
    yosys.run(
        [
            "read_rtlil clean.il",
            *map(command, chosen),
            f"write_verilog -noattr {TOP}.sv",
            *equivalence.PASSES,
            "write_json gates.json",
        ],
        output / "seed.log",
        output,
    )
    (output / GATES).write_bytes(gzip.compress((output / "gates.json").read_bytes(), 1))
    values = {"seed": seed, "mutants": [asdict(mutant) for mutant in chosen]}
    (output / "mutants.json").write_text(json.dumps(values, indent=1) + "\n")
    for name in ("clean.il", "candidates.json", "gates.json"):
        (output / name).unlink()
    return chosen


def load(folder: Path) -> tuple[int, list[Mutant]]:
    """Return the seed and the faults that `make` wrote into a folder."""
    values = json.loads((folder / "mutants.json").read_text())
    return values["seed"], [Mutant(**mutant) for mutant in values["mutants"]]


def main(rtl: str, output: str, seed: str) -> int:
    """Make the engine with faults; return the exit status."""
    try:
        chosen = make(Path(rtl).resolve(), Path(output), int(seed))
    except (yosys.YosysError, ValueError, OSError) as error:
        print(f"mutants: {error}", file=sys.stderr)
        return 1
    kinds = len({mutant.kind for mutant in chosen})
    print(f"{len(chosen)} faults in {kinds} kinds of modules, seed {seed}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
