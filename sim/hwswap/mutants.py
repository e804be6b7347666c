# SPDX-License-Identifier: Apache-2.0
"""Seeded faults: one copy of the engine's Verilog with many, of which an input chooses one (0: none).

Yosys' `mutate` makes them. A fault inverts a bit at an input or output of a cell of the word-level netlist, holds it
at 0 or 1, or inverts it only while another bit of the same port is 0 or 1. Before faults are chosen the netlist is
tidied, so that none lies where nothing depends on it, and the assertions are taken out, so that none lies in what only
they look at; the assertions are in the copy with the faults.

    python -m hwswap.mutants RTL OUTPUT --count 300 --seed 1

writes OUTPUT/HwSwap.sv, with the input `mutsel`, and OUTPUT/mutants.json.
"""

import argparse
import json
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from hwswap import yosys

SELECT = "mutsel"
SELECT_BITS = 16
TOP = "HwSwap"
PER_LINE = 2
"""The most faults in what comes from one line of the Verilog."""

AT_LEAST = 4
"""Faults in each kind of module, if so many were found."""

AT_MOST = 0.12
"""Share of all faults that one kind of module may have."""

MEMORY = "memory"
"""The kind of all modules that firtool makes for memories."""

_MEMORY = re.compile(r".*_\d+x\d+")
_OPTION = re.compile(r"-(\w+) (\S+)")
_SCALA = re.compile(r"([\w/]+/)?(\w+\.scala):(\d+)")


@dataclass(frozen=True)
class Mutant:
    """A fault: its number, where it is, and what is changed.

    `module` is the kind of module, `instance` where in the engine it is. `line` is the line of the Verilog, `source`
    the line of the Chisel source it comes from, if that is known.
    """

    number: int
    module: str
    instance: str
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
        """The kind of module, all memories being one."""
        return MEMORY if _MEMORY.fullmatch(self.module) else self.module

    def __str__(self) -> str:
        """Say what it is."""
        what = {
            "inv": "inverted",
            "const0": "held at 0",
            "const1": "held at 1",
            "cnot0": f"inverted while bit {self.control} is 0",
            "cnot1": f"inverted while bit {self.control} is 1",
        }[self.mode]
        wire = f" ({self.wire})" if self.wire else ""
        return f"{self.module} {self.source or f'line {self.line}'}: port {self.port} bit {self.bit}{wire} {what}"


def source_of(lines: list[str], number: int) -> str:
    """Return the Chisel line that a line of the Verilog names; lines without a comment belong to the next one with."""
    for line in lines[number - 1 : number + 8]:
        if found := _SCALA.search(line):
            return f"{found.group(2)}:{found.group(3)}"
        if line.rstrip().endswith(";") and line is not lines[number - 1]:
            break
    return ""


def parse(text: str, verilog: list[str]) -> list[Mutant]:
    """Read what `mutate -list` wrote."""
    found = []
    for line in text.splitlines():
        options: dict[str, list[str]] = defaultdict(list)
        for name, value in _OPTION.findall(line):
            options[name].append(value)
        if options["port"] == ["CLK"]:  # that would be a fault in the clock tree, not in the logic
            continue
        place = re.search(r":(\d+)\.", options["src"][-1]) if options["src"] else None
        number = int(place.group(1)) if place else 0
        kind, _, instance = options["module"][0].partition("$")
        found.append(
            Mutant(
                number=0,
                module=kind,
                instance=instance or options["module"][0],
                mode=options["mode"][0],
                cell=options["cell"][0],
                port=options["port"][0],
                bit=int(options["portbit"][0]),
                control=int(options["ctrlbit"][0]) if options["ctrlbit"] else None,
                wire=(options["wire"] or [""])[0],
                line=number,
                source=source_of(verilog, number) if number else "",
            )
        )
    return found


def choose(candidates: Iterable[Mutant], count: int, seed: int) -> list[Mutant]:
    """Choose `count` faults, spread over all kinds of modules; numbered from 1 on."""
    pool = list(candidates)
    random.Random(seed).shuffle(pool)
    per_line: Counter[tuple[str, int]] = Counter()
    per_kind: Counter[str] = Counter()
    chosen: list[Mutant] = []

    def take(limit: float) -> None:
        for mutant in list(pool):
            if len(chosen) == count:
                return
            place = (mutant.module, mutant.line)
            if per_kind[mutant.kind] < limit and per_line[place] < PER_LINE:
                pool.remove(mutant)
                per_kind[mutant.kind] += 1
                per_line[place] += 1
                chosen.append(mutant)

    take(AT_LEAST)
    take(AT_MOST * count)
    if len(chosen) < count:
        raise ValueError(f"only {len(chosen)} faults can be chosen of {len(chosen) + len(pool)}: ask for fewer")
    ordered = sorted(chosen, key=lambda mutant: (mutant.module, mutant.line, mutant.cell, mutant.port, mutant.bit))
    return [Mutant(**{**asdict(mutant), "number": number}) for number, mutant in enumerate(ordered, 1)]


def command(mutant: Mutant) -> str:
    """Return the Yosys command that puts a fault in."""
    module = mutant.module if mutant.instance == mutant.module else f"{mutant.module}${mutant.instance}"
    control = "" if mutant.control is None else f" -ctrlbit {mutant.control}"
    return (
        f"mutate -ctrl {SELECT} {SELECT_BITS} {mutant.number} -mode {mutant.mode} -module {module} "
        f"-cell {mutant.cell} -port {mutant.port} -portbit {mutant.bit}{control}"
    )


def make(rtl: Path, output: Path, count: int, seed: int) -> list[Mutant]:
    """Write the Verilog with the faults and the list of them."""
    output.mkdir(parents=True, exist_ok=True)
    yosys.run(
        [
            f"read_slang --threads 1 --keep-hierarchy --top {TOP} {rtl}",
            f"hierarchy -check -top {TOP}",
            "proc",
            "opt_expr",
            "opt_merge",
            "opt_clean",
            "write_rtlil clean.il",
            "delete t:$check t:$print",
            "opt_clean",
            f"mutate -list {20 * count} -seed {seed} -o candidates.txt",
        ],
        output / "choose.log",
        output,
    )
    verilog = rtl.read_text().splitlines()
    chosen = choose(parse((output / "candidates.txt").read_text(), verilog), count, seed)
    yosys.run(
        ["read_rtlil clean.il", *map(command, chosen), f"write_verilog -noattr {TOP}.sv"], output / "seed.log", output
    )
    values = {"seed": seed, "mutants": [asdict(mutant) for mutant in chosen]}
    (output / "mutants.json").write_text(json.dumps(values, indent=1) + "\n")
    for name in ("clean.il", "candidates.txt"):
        (output / name).unlink()
    return chosen


def load(folder: Path) -> tuple[int, list[Mutant]]:
    """Return the seed and the faults that `make` wrote into a folder."""
    values = json.loads((folder / "mutants.json").read_text())
    return values["seed"], [Mutant(**mutant) for mutant in values["mutants"]]


def main() -> int:
    """Make the engine with faults; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m hwswap.mutants", description=__doc__.splitlines()[0])
    parser.add_argument("rtl", type=Path, help="the engine's SystemVerilog, with locations")
    parser.add_argument("output", type=Path, help="folder to write to")
    parser.add_argument("--count", type=int, default=300, help="how many faults (default 300)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the choice (default 1)")
    args = parser.parse_args()
    if not 1 <= args.count < 1 << SELECT_BITS:
        print(f"--count is {args.count}: choose 1 to {(1 << SELECT_BITS) - 1}", file=sys.stderr)
        return 1
    try:
        chosen = make(args.rtl.resolve(), args.output, args.count, args.seed)
    except (yosys.YosysError, ValueError, OSError) as error:
        print(f"mutants: {error}", file=sys.stderr)
        return 1
    kinds = len({mutant.kind for mutant in chosen})
    print(f"{len(chosen)} faults in {kinds} kinds of modules, seed {args.seed}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
