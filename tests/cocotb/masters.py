# SPDX-License-Identifier: Apache-2.0
"""The DMA masters of an engine, read out of its SystemVerilog: whoever makes up an address for the bus."""

import re
from dataclasses import dataclass, field

HOPS = re.compile(
    r"(AxiGate|AxiMerge|AxiBursts|Dma|DmaReads|DmaWrites|DmaWriteArbiter|(RR)?Arbiter\d+_\w+|Queue\d+_\w+)(_\d+)?"
)
"""Modules that hand the addresses of others on."""

ADDRESS = re.compile(r"\w+_bits_addr(ess)?")
NARROWEST = 61
"""Bits of an address: in bytes, or in words of 64 bits."""

MODULE = re.compile(r"^module (\w+)\((.*?)^\);(.*?)^endmodule", re.MULTILINE | re.DOTALL)
PORT = re.compile(r"^\s*(input|output)?\s*(?:\[(\d+):0\])?\s*(\w+),?$", re.MULTILINE)
INSTANCE = re.compile(r"^  ([A-Z]\w*) (\w+) \((.*?)^  \);", re.MULTILINE | re.DOTALL)
PIN = re.compile(r"\.(\w+)\s*\(((?:[^()]|\([^()]*\))*)\)")
DRIVEN = re.compile(r"^  assign (\w+) =(.*?);", re.MULTILINE | re.DOTALL)


@dataclass
class Module:
    """A module: its ports for addresses, its parts, and the drivers of the addresses that leave it."""

    takes: set[str] = field(default_factory=set)
    gives: set[str] = field(default_factory=set)
    parts: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    driven: dict[str, str] = field(default_factory=dict)


def modules(verilog: str) -> dict[str, Module]:
    """Read all modules of a text as firtool writes it."""
    found = {}
    for name, ports, body in MODULE.findall(verilog):
        module = found[name] = Module()
        direction, width = "", 0
        for said, high, port in PORT.findall(ports):
            # A line without direction goes on with that of the line before, and its width.
            if said:
                direction, width = said, int(high or 0) + 1
            if ADDRESS.fullmatch(port) and width >= NARROWEST:
                (module.gives if direction == "output" else module.takes).add(port)
        module.parts = [(kind, part, dict(PIN.findall(pins))) for kind, part, pins in INSTANCE.findall(body)]
        module.driven = {port: value for port, value in DRIVEN.findall(body) if port in module.gives}
    return found


def masters(verilog: str, top: str = "HwSwap") -> set[str]:
    """Return each master as the path of instances to it, and its port without `_bits_address`."""
    known = modules(verilog)

    def gives(kind: str) -> bool:
        module = known[kind]
        return bool(module.gives) or any(gives(part) for part, *_ in module.parts if not HOPS.fullmatch(part))

    def inside(kind: str, path: str) -> set[str]:
        module = known[kind]
        within = [(part, name) for part, name, _ in module.parts if not HOPS.fullmatch(part) and gives(part)]
        if not within:
            made = module.gives
        else:
            # A module that hands on addresses of its parts makes one itself where none of theirs is in it.
            made = {port for port, value in module.driven.items() if not ADDRESS.search(value)}
            for part, name, pins in module.parts:
                if HOPS.fullmatch(part) and part in known:
                    for pin in known[part].takes:
                        if not ADDRESS.search(pins[pin]):
                            made.add(f"{name}.{pin}")
        here = {f"{path}{re.sub('_bits_addr(ess)?$', '', port)}" for port in made}
        return here.union(*(inside(part, f"{path}{name}.") for part, name in within))

    return inside(top, "")
