# SPDX-License-Identifier: Apache-2.0
"""Formal proofs of parts of the engine: the properties in hw/formal, by Yosys and ABC.

A proof is a SystemVerilog module in hw/formal around a part of the engine
(hw/src/main/scala/hwswap/formal/EmitProofs.scala).
Its assertions are named; what is before the first underscore is the property they belong to. The assertions of the
part itself are the property `own`.

All assertions of a proof are taken together: each may rely on the others having held so far, which is what makes an
induction short. "unbounded" means that they hold for ever, after induction over k cycles whose base case was checked,
or after ABC's property-directed reachability; "bounded" that no input of n cycles after reset breaks one.
"""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from hwswap.project import paths
from hwswap.verify import yosys
from hwswap.verify.proof_list import Proof

SOURCES = paths.ROOT / "hw" / "formal"
FAULTS = 1023
"""Faults put into a part at once to see that each of its assertions can fail; a power of two minus 1."""

OWN = "own"

LIMIT, BREAKING_LIMIT = 3600.0, 300.0
"""Seconds for a proof, and for the counterexample of one assertion in the mutants."""

BEFORE = 8
"""The distance of faults from an assertion that others do not break, in steps from cell to wire or wire to cell."""

ASSERTED = re.compile(r"was asserted in frame (\d+)")
"""ABC's message of a counterexample."""

FAILED = re.compile(r"^Failed assertion (\S+) at", re.MULTILINE)
"""Yosys's message of an assertion that fails while it plays a counterexample."""

SAYS = re.compile(r'\$error\("Assertion failed: (.*?)(?:\\n)?"\)')
"""The message of one of the part's own assertions in its Verilog."""

LEMMAS = frozenset({"order", "legal"})
"""Properties of the specification alone, which no fault in the part can break."""

PROVED = ("unbounded", "bounded")


@dataclass
class Verdict:
    """The result for one property: "unbounded", "bounded", "failed" or "unknown", and how.

    `breakable` tells how long the counterexamples in mutants are that its assertions have, `idle` names the assertions
    that have none.
    """

    proof: str
    name: str
    assertions: int
    result: str
    how: str
    seconds: int
    trace: str = ""
    breakable: str = ""
    idle: list[str] = field(default_factory=list)


def property_of(cell: str) -> str:
    """Return the property that an assertion belongs to, by its name in the flat design."""
    if cell.startswith("dut."):
        return OWN
    return cell.rsplit(".", 1)[-1].split("_", 1)[0]


SOLVE_FORM = (
    "memory_nordff",
    "async2sync",
    "chformal -assume -early",
    "opt_clean",
    "formalff -setundef -clk2ff -ff2anyinit -hierarchy",
    "chformal -live -fair -cover -remove",
    "delete t:$print",
    "opt_clean",
    "setundef -undriven -anyseq",
    "opt -fast",
    "memory_map -formal",
    "formalff -clk2ff -ff2anyinit",
    "simplemap",
    "techmap",
    "opt -fast",
    "dffunmap",
    "aigmap",
    "opt_clean",
)
"""Passes that make a flat design an and-inverter graph, as a solver wants it.

What is undefined may be anything in each cycle, and memories and registers without a reset anything at first.
"""


def written(name: str) -> list[str]:
    """Return the commands that write a flat design for the solver, and for its counterexamples."""
    aiger = f"write_aiger -I -B -zinit -no-startoffset -map {name}.aim {name}.aig"
    return [*SOLVE_FORM, f"write_rtlil {name}.il", aiger]


class Session:
    """One proof being worked on, in a folder of its own."""

    def __init__(self, proof: Proof, parts: Path, folder: Path) -> None:
        """Prepare it; `parts` holds the files of EmitProofs."""
        self.proof = proof
        self.part = parts.resolve() / f"{proof.part or proof.name}.sv"  # as Yosys names it, too
        self.folder = folder / proof.name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.top = f"{proof.specification}_proof"

    def run(self, commands: list[str], log: str) -> str:
        """Run Yosys in the proof's folder."""
        return yosys.run(commands, self.folder / f"{log}.log", self.folder, timeout=1800)

    def abc(self, commands: str, limit: float | None = None) -> str:
        """Run ABC in the proof's folder; return its output, "" if the limit, LIMIT by default, was too short."""
        return yosys.abc(commands, self.folder, limit or LIMIT) or ""

    def prepare(self) -> dict[str, list[str]]:
        """Make the design; return its assertions by property."""
        parameters = "".join(f" -G {name}={value}" for name, value in self.proof.parameters.items())
        files = f"{self.part.parent}/operations.sv {self.part} {SOURCES / self.proof.specification}.sv"
        said = self.run(
            [
                f"read_slang --threads 1 --top {self.top}{parameters} {files}",
                f"hierarchy -check -top {self.top}",
                *("proc", "flatten", "opt_expr", "opt_clean", "select -list t:$check", "write_rtlil flat.il"),
                *written("all"),
            ],
            "prepare",
        )
        found: dict[str, list[str]] = {}
        for name in re.findall(rf"^{re.escape(self.top)}/([^$\s]\S*)$", said, re.MULTILINE):
            found.setdefault(property_of(name), []).append(name)
        if not found:
            raise yosys.YosysError(f"{self.top} has no named assertion: the names of Yosys' cells have changed")
        return found

    def prove(self) -> tuple[str, str]:
        """Work on all assertions together; return the result and how it came about."""
        proof = self.proof
        out_of_time = "unknown", f"no answer within {LIMIT:.0f} s"
        if proof.method == "reachability":
            said = self.abc("read_aiger all.aig; fold; strash; orpos; strash; pdr")
            if "Property proved" in said:
                return "unbounded", "property-directed reachability"
            return self.counterexample(said) or out_of_time
        start = "read_aiger all.aig; fold; strash; scorr; dc2; orpos; strash"
        depth, holds = proof.depth, False
        if proof.method == "induction":
            said = self.abc(f"{start}; ind -u -v -F {proof.depth}")
            holds = "Networks are equivalent" in said
            # Without an induction, perhaps because it is not so.
            depth = int(re.findall(r"^Frame +(\d+)", said, re.MULTILINE)[-1]) + 1 if holds else proof.breaking
        base = self.abc(f"{start}; bmc3 -F {depth}")
        if not base:
            return out_of_time
        if failed := self.counterexample(base):
            return failed
        if "combinational" in base:
            # Nothing is left that changes from cycle to cycle, as where an assumption rules everything out.
            said = self.abc(f"{start}; sat")
            return ("unbounded", "no state is left") if "UNSATISFIABLE" in said else ("unknown", "by sat")
        if "No output asserted" not in base:
            raise yosys.YosysError(f"ABC's answer is not understood: {base[-200:]}")
        if proof.method == "bounded":
            return "bounded", f"{depth} cycles after reset"
        if holds:
            return "unbounded", f"induction over {depth} cycles"
        return "unknown", f"no induction over {proof.depth} cycles within {LIMIT:.0f} s"

    def counterexample(self, said: str) -> tuple[str, str] | None:
        """Find a counterexample that ABC reported again in the original design, for inputs of that: all.aiw."""
        frame = ASSERTED.search(said)
        if frame is None:
            return None
        cycles = int(frame[1])
        found = self.abc(f"read_aiger all.aig; fold; strash; orpos; strash; bmc3 -F {cycles + 1}; write_cex -a all.aiw")
        if not ASSERTED.search(found):
            raise yosys.YosysError(f"a counterexample of {cycles} cycles was not found again: {found[-200:]}")
        return "failed", f"after {cycles} cycles"

    def seed_faults(self, seed: int, before: str = "") -> None:
        """Put faults into the part, of which an input that never changes chooses one: faulty.il, or near.il.

        They are chosen in a copy without the part's own assertions, so that none lies in the logic of these
        alone. With `before`, an assertion, they are in what stands shortly before it alone: a sample of a large part
        may miss that.
        """
        top, width = self.top, FAULTS.bit_length()
        inside = f"a:src=*{self.part.parent.name}/{self.part.name}* t:* %i{' @near %i' if before else ''}"
        near = [f"select -set near {top}/{before} %ci{BEFORE}"] if before else []
        self.run(
            [
                "read_rtlil flat.il",
                *near,
                "delete t:$check c:dut.* %i",
                "opt_clean",
                f"mutate -list {2 * FAULTS} -seed {seed} -ctrl mutsel {width} 1 -o faults.txt {inside}",
            ],
            "choose-faults",
        )
        # Not in clocks, enables and resets: Yosys takes it for granted that a memory without a clock is always read and
        # has no reset.
        lines = (self.folder / "faults.txt").read_text().splitlines()
        lines = [line for line in lines if not re.search(r"-port (CLK|EN|[AS]RST)\b", line)]
        chosen = [
            re.sub(rf"-ctrl mutsel {width} \d+", f"-ctrl mutsel {width} {number}", line)
            for number, line in enumerate(lines[:FAULTS], 1)
        ]
        self.run(
            [
                "read_rtlil flat.il",
                *chosen,
                f"delete -input {top}/w:mutsel",
                f"setundef -undriven -anyconst {top}/w:mutsel",
                f"write_rtlil {'near' if before else 'faulty'}.il",
            ],
            "seed-faults",
        )

    def breaks(self, name: str, cells: list[str], mutants: str = "faulty") -> list[int | None]:
        """Tell after how many cycles one of the mutants breaks each of the assertions; None where none does in time.

        The numbers are in the order of the graph's outputs, which is not that of `cells`.
        """
        # The assumptions stay: a fault has to break an assertion while the part is used as it may be.
        mine = f"select -set mine {' '.join(f'{self.top}/{cell}' for cell in cells)}"
        self.run(
            [
                f"read_rtlil {mutants}.il",
                mine,
                "delete t:$check r:FLAVOR=assert %i @mine %d",
                *written(f"break-{name}"),
            ],
            f"break-{name}",
        )
        found: list[int | None] = []
        for output in range(len(cells)):
            one = f"read_aiger break-{name}.aig; fold; strash; cone -O {output}; strash; bmc3 -F {self.proof.breaking}"
            match = ASSERTED.search(self.abc(one, BREAKING_LIMIT))
            found.append(int(match.group(1)) if match else None)
        return found

    def unbroken(self, name: str, cells: list[str]) -> list[str]:
        """Return which of these assertions no mutant breaks, by bisection; at least one is such."""
        if len(cells) == 1:
            return cells
        middle = len(cells) // 2
        halves = [half for half in (cells[:middle], cells[middle:]) if None in self.breaks(f"{name}-half", half)]
        return [cell for half in halves for cell in self.unbroken(name, half)]

    def says(self, cell: str) -> str:
        """Return the message of one of the part's own assertions in the Verilog; of others, the name."""
        if property_of(cell) != OWN:
            return cell
        flat = (self.folder / "flat.il").read_text()
        place = re.search(
            rf'attribute \\src "([^"]*):(\d+)\.[^"]*"\n(?:  attribute .*\n)*  cell \$check \\{re.escape(cell)}\n', flat
        )
        if place is None:
            raise yosys.YosysError(f"{cell} has no place in the Verilog: the form of Yosys' netlists has changed")
        # Yosys names a file from its own folder where that is shorter.
        text = "\n".join((self.folder / place[1]).read_text().splitlines()[int(place[2]) - 1 :])
        message = SAYS.search(text)
        return message[1] if message else cell

    def weigh(self, verdict: Verdict, cells: list[str], seed: int) -> None:
        """Find out which of a property's assertions can fail, and put it down; `seed` is that of the faults."""
        asked = self.proof.neighbours if verdict.name == OWN else ()
        says = {cell: self.says(cell) for cell in cells} if asked else {}
        for one in asked:
            if one not in says.values():
                raise yosys.YosysError(
                    f"no assertion of {self.part.name} says '{one}': see `neighbours` in proof_list.py"
                )
        cells = [cell for cell in cells if says.get(cell) not in asked]
        cycles = self.breaks(verdict.name, cells)
        for cell in self.unbroken(verdict.name, cells) if None in cycles else ():
            self.seed_faults(seed, before=cell)
            near = self.breaks(f"{verdict.name}-near", [cell], "near")
            cycles += near
            if near == [None]:
                verdict.idle.append(self.says(cell))
        found = [number for number in cycles if number is not None]
        if found:
            span = str(found[0]) if len(set(found)) == 1 else f"{min(found)} to {max(found)}"
            verdict.breakable = f"broken by mutants after {span} cycles"
        if asked:
            verdict.breakable += f"; {len(asked)} asked of neighbours"

    def trace(self) -> tuple[Path, set[str]]:
        """Turn the counterexample all.aiw into waves; return the file and the properties that fail there."""
        said = self.run(
            ["read_rtlil all.il", "sim -clock clock -map all.aim -r all.aiw -vcd all.vcd"],
            "trace",
        )
        return self.folder / "all.vcd", {property_of(cell) for cell in FAILED.findall(said)}


def prove(proof: Proof, parts: Path, folder: Path, seed: int, say: Callable[[str], None]) -> list[Verdict]:
    """Prove everything of one part, and see that each property can fail; `say` gets the progress."""
    begin = time.monotonic()
    session = Session(proof, parts, folder)
    say(f"{proof.name}: preparing")
    properties = session.prepare()
    say(f"{proof.name}: {proof.method}")
    result, how = session.prove()
    seconds = round(time.monotonic() - begin)
    verdicts = [
        Verdict(proof.name, name, len(cells), result, how, seconds) for name, cells in sorted(properties.items())
    ]
    if result == "failed":
        trace, broken = session.trace()
        for verdict in verdicts:
            if verdict.name in broken:
                verdict.trace = str(trace)
            else:
                verdict.result, verdict.how = "unknown", "another property fails"
    elif result in PROVED:
        session.seed_faults(seed)
        for verdict in verdicts:
            say(f"{proof.name}: breaking {verdict.name}")
            if verdict.name in LEMMAS:
                verdict.breakable = "of the specification alone"
            else:
                session.weigh(verdict, properties[verdict.name], seed)
    return verdicts


def good(verdict: Verdict) -> bool:
    """Tell whether a property was proved and each of its assertions can fail."""
    return verdict.result in PROVED and bool(verdict.breakable) and not verdict.idle
