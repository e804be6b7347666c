# SPDX-License-Identifier: Apache-2.0
"""Formal proofs of parts of the engine: what hw/formal says of them, by Yosys and ABC.

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

BREAKING_LIMIT = 300.0
"""Seconds for the counterexample of one assertion in the mutants."""

BEFORE = 8
"""How many steps from cell to wire or wire to cell faults are away from an assertion that others do not break."""

ASSERTED = re.compile(r"was asserted in frame (\d+)")
"""What ABC says of a counterexample."""

FAILED = re.compile(r"^Failed assertion (\S+) at", re.MULTILINE)
"""What Yosys says of an assertion that fails while it plays a counterexample."""

SAYS = re.compile(r'\$error\("Assertion failed: (.*?)(?:\\n)?"\)')
"""What an assertion of the part says in its Verilog."""

LEMMAS = frozenset({"order", "legal"})
"""Properties of the specification alone, which no fault in the part can break."""

LEMMA = "of the specification alone"


@dataclass
class Verdict:
    """What came out for one property: "unbounded", "bounded", "failed" or "unknown", and how.

    `breakable` tells how long the counterexamples in mutants are that its assertions have, `idle` names the assertions
    that have none.
    """

    proof: str
    name: str
    assertions: int
    result: str
    how: str
    seconds: float
    trace: str = ""
    breakable: str = ""
    idle: list[str] = field(default_factory=list)


def property_of(cell: str) -> str:
    """Return the property that an assertion belongs to, by its name in the flat design."""
    if cell.startswith("dut."):
        return OWN
    return cell.rsplit(".", 1)[-1].split("_", 1)[0]


class Session:
    """One proof being worked on, in a folder of its own."""

    def __init__(self, proof: Proof, parts: Path, folder: Path) -> None:
        """Prepare it; `parts` holds what EmitProofs wrote."""
        self.proof = proof
        self.parts = parts.resolve()  # as Yosys names it, too
        self.folder = folder / proof.name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.top = f"{proof.source}_proof"

    def read(self) -> list[str]:
        """Return the commands that read the design."""
        parameters = "".join(f" -G {name}={value}" for name, value in self.proof.parameters.items())
        files = f"{self.parts}/operations.sv {self.parts / self.proof.part}.sv {SOURCES / self.proof.source}.sv"
        return [
            f"read_slang --threads 1 --top {self.top}{parameters} {files}",
            f"hierarchy -check -top {self.top}",
            "proc",
        ]

    def flatten(self) -> list[str]:
        """Return the commands that make it flat, and list its assertions."""
        return ["flatten", "opt_expr", "opt_clean", "select -list t:$check"]

    @staticmethod
    def solve_form(name: str) -> list[str]:
        """Return the commands that make a flat design an and-inverter graph, as a solver wants it.

        What is undefined may be anything in each cycle, and memories and registers without a reset anything at first.
        """
        return [
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
            f"write_rtlil {name}.il",
            f"write_aiger -I -B -zinit -no-startoffset -map {name}.aim {name}.aig",
        ]

    def run(self, commands: list[str], log: str) -> str:
        """Run Yosys in the proof's folder."""
        return yosys.run(commands, self.folder / f"{log}.log", self.folder, timeout=1800)

    def prepare(self) -> dict[str, list[str]]:
        """Make the design; return its assertions by property."""
        said = self.run(
            [*self.read(), "write_rtlil hierarchy.il", *self.flatten(), "write_rtlil flat.il", *self.solve_form("all")],
            "prepare",
        )
        return self.grouped(said)

    def grouped(self, said: str) -> dict[str, list[str]]:
        """Return the assertions that a log of `flatten` names, by property."""
        found: dict[str, list[str]] = {}
        for match in re.finditer(rf"^{re.escape(self.top)}/(\S+)$", said, re.MULTILINE):
            name = match.group(1)
            if not name.startswith("$"):
                found.setdefault(property_of(name), []).append(name)
        if not found:
            raise yosys.YosysError(f"{self.top} has no named assertion: the names of Yosys' cells have changed")
        return found

    def prove(self) -> tuple[str, str]:
        """Work on all assertions together; return the result and how it came about."""
        proof = self.proof
        start = "read_aiger all.aig; fold; strash; scorr; dc2; orpos; strash"
        if proof.method == "reachability":
            said = yosys.abc("read_aiger all.aig; fold; strash; orpos; strash; pdr", self.folder, proof.limit)
            if said is not None and "Property proved" in said:
                return "unbounded", "property-directed reachability"
            if said is not None and (frame := ASSERTED.search(said)):
                return self.counterexample(int(frame.group(1)))
            return "unknown", f"no answer within {proof.limit:.0f} s"
        depth = proof.depth
        if proof.method == "induction":
            said = yosys.abc(f"{start}; ind -u -v -F {proof.depth}", self.folder, proof.limit)
            frames = re.findall(r"^Frame +(\d+)", said or "", re.MULTILINE)
            if said is None or "Networks are equivalent" not in said:
                # No induction; perhaps because it is not so.
                depth = proof.breaking
            else:
                depth = int(frames[-1]) + 1
        base = yosys.abc(f"{start}; bmc3 -F {depth}", self.folder, proof.limit)
        if base is None:
            return "unknown", f"no answer within {proof.limit:.0f} s"
        if frame := ASSERTED.search(base):
            return self.counterexample(int(frame.group(1)))
        if "combinational" in base:
            # Nothing is left that changes from cycle to cycle, as where an assumption rules everything out.
            said = yosys.abc(f"{start}; sat", self.folder, proof.limit)
            return ("unbounded", "no state is left") if said and "UNSATISFIABLE" in said else ("unknown", "by sat")
        if "No output asserted" not in base:
            raise yosys.YosysError(f"ABC's answer is not understood: {base[-200:]}")
        if proof.method == "bounded":
            return "bounded", f"{depth} cycles after reset"
        if "Networks are equivalent" in (said or ""):
            return "unbounded", f"induction over {depth} cycles"
        return "unknown", f"no induction over {proof.depth} cycles within {proof.limit:.0f} s"

    def counterexample(self, frame: int) -> tuple[str, str]:
        """Look for it once more in the design as it was, so that its inputs are those of the trace: all.aiw."""
        found = yosys.abc(
            f"read_aiger all.aig; fold; strash; orpos; strash; bmc3 -F {frame + 1}; write_cex -a all.aiw",
            self.folder,
            self.proof.limit,
        )
        if found is None or not ASSERTED.search(found):
            raise yosys.YosysError(f"a counterexample of {frame} cycles was not found again: {(found or '')[-200:]}")
        return "failed", f"after {frame} cycles"

    def seed_faults(self, seed: int, before: str = "") -> None:
        """Put faults into the part, of which an input that never changes chooses one: faulty.il, or near.il.

        They are chosen in a copy without the part's own assertions, so that none of them lies in the logic of these
        alone. With `before`, an assertion, they are in what stands shortly before it alone: a sample of a large part
        may miss that.
        """
        top, count = self.top, FAULTS
        width = count.bit_length()
        inside = f"a:src=*{self.parts.name}/{self.proof.part}.sv* t:* %i{' @near %i' if before else ''}"
        near = [f"select -set near {top}/{before} %ci{BEFORE}"] if before else []
        self.run(
            [
                "read_rtlil flat.il",
                *near,
                "delete t:$check c:dut.* %i",
                "opt_clean",
                f"mutate -list {2 * count} -seed {seed} -ctrl mutsel {width} 1 -o faults.txt {inside}",
            ],
            "choose-faults",
        )
        # Not in clocks, enables and resets: Yosys takes it for granted that a memory without a clock is always read and
        # has no reset.
        lines = (self.folder / "faults.txt").read_text().splitlines()
        lines = [line for line in lines if not re.search(r"-port (CLK|EN|[AS]RST)\b", line)]
        chosen = [
            re.sub(rf"-ctrl mutsel {width} \d+", f"-ctrl mutsel {width} {number}", line)
            for number, line in enumerate(lines[:count], 1)
        ]
        (self.folder / "faults.txt").write_text("\n".join(chosen) + "\n")
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
                *self.solve_form(f"break-{name}"),
            ],
            f"break-{name}",
        )
        found: list[int | None] = []
        for output in range(len(cells)):
            one = f"read_aiger break-{name}.aig; fold; strash; cone -O {output}; strash; bmc3 -F {self.proof.breaking}"
            match = ASSERTED.search(yosys.abc(one, self.folder, BREAKING_LIMIT) or "")
            found.append(int(match.group(1)) if match else None)
        return found

    def unbroken(self, name: str, cells: list[str]) -> list[str]:
        """Return which of these assertions none of the mutants breaks, by halving; at least one of them is so."""
        if len(cells) == 1:
            return cells
        middle = len(cells) // 2
        halves = [half for half in (cells[:middle], cells[middle:]) if None in self.breaks(f"{name}-half", half)]
        return [cell for half in halves for cell in self.unbroken(name, half)]

    def says(self, cell: str) -> str:
        """Return what one of the part's own assertions says in the Verilog; of others, the name."""
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
                raise yosys.YosysError(f"no assertion of {self.proof.part} says '{one}': see `neighbours` in proofs.py")
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

    def trace(self, name: str) -> tuple[Path, set[str]]:
        """Turn the counterexample NAME.aiw into waves; return the file and the properties that fail there."""
        said = self.run(
            [f"read_rtlil {name}.il", f"sim -clock clock -map {name}.aim -r {name}.aiw -vcd {name}.vcd"],
            f"trace-{name}",
        )
        return self.folder / f"{name}.vcd", {property_of(cell) for cell in FAILED.findall(said)}


def prove(proof: Proof, parts: Path, folder: Path, seed: int, say: Callable[[str], None]) -> list[Verdict]:
    """Prove everything of one part, and see that each property can fail; `say` hears what is being done."""
    begin = time.monotonic()
    session = Session(proof, parts, folder)
    say("preparing")
    properties = session.prepare()
    say(proof.method)
    result, how = session.prove()
    seconds = round(time.monotonic() - begin, 1)
    if result == "failed":
        say("writing the counterexample")
        trace, broken = session.trace("all")
        return [
            Verdict(proof.name, name, len(cells), "failed", how, seconds, str(trace))
            if name in broken
            else Verdict(proof.name, name, len(cells), "unknown", "another property fails", seconds)
            for name, cells in sorted(properties.items())
        ]
    verdicts = []
    if result != "unknown":
        say("seeding faults")
        session.seed_faults(seed)
    for name, cells in sorted(properties.items()):
        verdict = Verdict(proof.name, name, len(cells), result, how, seconds)
        if name in LEMMAS:
            verdict.breakable = LEMMA
        elif result != "unknown":
            say(f"breaking {name}")
            session.weigh(verdict, cells, seed)
        verdicts.append(verdict)
    return verdicts


def good(verdict: Verdict) -> bool:
    """Tell whether a property was proved and each of its assertions can fail."""
    return verdict.result in ("unbounded", "bounded") and bool(verdict.breakable) and not verdict.idle
