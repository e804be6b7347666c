# SPDX-License-Identifier: Apache-2.0
"""A flat word-level netlist as Yosys writes it (`write_json`): which bits of which ports can be seen from outside.

A bit of a port is live if some path leads from it to an output of the design, through registers and memories too. The
paths follow single bits where a cell treats its bits one by one, so that a bit of a wide register that nobody looks at
is not live, though its neighbours are. A net that is not live cannot change any output, ever: that is proved by the
netlist's structure alone, without any assumption on values.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

Bit = int | str
"""A net of one bit by its number, or the constant "0", "1", "x" or "z"."""

BITWISE = frozenset({"$and", "$or", "$xor", "$xnor", "$not", "$pos", "$buf", "$mux", "$pmux", "$bmux", "$bwmux"})
"""Bit i of the output depends on bits i of A and B, and on all of S; of $pmux and $bmux on bit i of each choice."""

REGISTERS = frozenset({"$dff", "$dffe", "$sdff", "$sdffe", "$sdffce", "$adff", "$adffe"})
"""Bit i of Q depends on bit i of D, and on all of the other ports."""

CARRIES = frozenset({"$add", "$sub", "$neg", "$mul"})
"""Bit i of the output depends on bits i and below of A and B."""

OUTPUTS = {"$memrd_v2": "DATA"} | dict.fromkeys(REGISTERS, "Q")
"""The output of cells that do not call it Y."""

WITHOUT_OUTPUT = frozenset({"$memwr_v2", "$meminit_v2", "$scopeinfo", "$check", "$print"})


@dataclass(frozen=True, order=True)
class Site:
    """A bit of a port of a cell."""

    cell: str
    port: str
    bit: int


@dataclass(frozen=True)
class Cell:
    """A cell: its type, the nets at its ports, and the line of the source it comes from (0: none)."""

    name: str
    type: str
    ports: dict[str, list[Bit]]
    signed: bool
    memory: str
    line: int

    @property
    def output(self) -> str:
        """The name of its output port."""
        return OUTPUTS.get(self.type, "Y")

    def needs(self, bit: int) -> Iterator[Site]:
        """Yield the inputs that a bit of the output may depend on."""
        width = len(self.ports[self.output])
        for port in (port for port in self.ports if port != self.output):
            count = len(self.ports[port])
            if self.type in BITWISE and port in ("A", "B"):
                wanted: Iterable[int] = range(bit, count, width) if count > bit else range(count - self.signed, count)
            elif self.type in REGISTERS and port == "D":
                wanted = (bit,)
            elif self.type in CARRIES:
                wanted = range(min(bit + 1, count))
            else:
                wanted = range(count)
            for index in wanted:
                yield Site(self.name, port, index)


class Netlist:
    """A design of one module."""

    def __init__(self, values: dict[str, Any], top: str) -> None:
        """Take the netlist of `write_json`, as `json.load` read it."""
        module = values["modules"][top]
        self.cells = {name: self.cell(name, value) for name, value in module["cells"].items()}
        self.outputs = [
            bit for port in module["ports"].values() if port["direction"] != "input" for bit in port["bits"]
        ]
        self.drivers: dict[Bit, tuple[Cell, int]] = {}
        self.writers: dict[str, list[Cell]] = defaultdict(list)
        self.names: dict[Bit, str] = {}
        for cell in self.cells.values():
            if cell.type == "$memwr_v2":
                self.writers[cell.memory].append(cell)
            if cell.type not in WITHOUT_OUTPUT:
                for index, bit in enumerate(cell.ports[cell.output]):
                    self.drivers[bit] = cell, index
        for name, net in module["netnames"].items():
            if not net["hide_name"]:
                for bit in net["bits"]:
                    # Of several names the shortest is the one nearest to the top.
                    if bit not in self.names or len(name) < len(self.names[bit]):
                        self.names[bit] = name

    @staticmethod
    def cell(name: str, value: dict[str, Any]) -> Cell:
        """Read a cell."""
        parameters = value["parameters"]
        # FILE:LINE.COLUMN-LINE.COLUMN; of several places, separated by bars, the last is the innermost.
        place = value["attributes"].get("src", "").rpartition(":")[2].partition(".")[0]
        return Cell(
            name,
            value["type"],
            value["connections"],
            signed=int(parameters.get("A_SIGNED", "0"), 2) == 1,
            memory=parameters.get("MEMID", ""),
            line=int(place) if place.isdecimal() else 0,
        )

    def bit(self, site: Site) -> Bit:
        """Return the net at a site."""
        return self.cells[site.cell].ports[site.port][site.bit]

    def live(self) -> set[Site]:
        """Return the sites that some output of the design may depend on."""
        found: set[Site] = set()
        seen: set[Bit] = set()
        columns: set[tuple[str, int]] = set()
        waiting = list(self.outputs)

        def reach(site: Site) -> None:
            found.add(site)
            waiting.append(self.bit(site))

        while waiting:
            net = waiting.pop()
            if net in seen or net not in self.drivers:
                continue
            seen.add(net)
            cell, index = self.drivers[net]
            found.add(Site(cell.name, cell.output, index))
            for site in cell.needs(index):
                reach(site)
            if cell.type == "$memrd_v2" and (cell.memory, index) not in columns:
                columns.add((cell.memory, index))
                for writer in self.writers[cell.memory]:
                    for port, bits in writer.ports.items():
                        for i in (index,) if port in ("DATA", "EN") else range(len(bits)):
                            reach(Site(writer.name, port, i))
        return found


def modules_of(lines: Iterable[str]) -> list[str]:
    """Return for each line of the Verilog, counted from 0, the module it is in; "" outside of any."""
    found, name = [], ""
    for line in lines:
        if begin := re.match(r"module (\w+)\b", line):
            name = begin.group(1)
        found.append(name)
        if line.startswith("endmodule"):
            name = ""
    return found
