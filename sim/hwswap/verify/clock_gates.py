# SPDX-License-Identifier: Apache-2.0
"""Clock gates in a netlist of gates, put as what they come to: an enable of the registers behind them.

A clock gate is a latch, open while the clock is low, and an AND gate of clock and latch. Its enable comes from
registers that change when the clock rises, so what the latch has in the end is what its input is in that cycle: the
latch is a wire, and a register behind the gate keeps what it has in a cycle in which the enable is low; so does a
memory. Proofs know one clock alone (equivalence.py).
"""

from typing import Any

LATCHES = ("$_DLATCH_N_", "$_DLATCH_P_")
REGISTER = "$_DFF_P_"
WRITE = "$memwr_v2"
CLOCK = "clock"
"""The input that all clocks come from."""


def replace(module: dict[str, Any], clock: str = CLOCK) -> None:
    """Change a netlist, as `write_json` writes it, so that all registers have the same clock."""
    cells: dict[str, dict[str, Any]] = module["cells"]
    latches = {name: cell for name, cell in cells.items() if cell["type"] in LATCHES}
    if not latches:
        return
    [source] = module["ports"][clock]["bits"]
    drivers = {cell["connections"]["Y"][0]: cell for cell in cells.values() if "Y" in cell["connections"]}
    unused = 1 + max(
        bit for cell in cells.values() for bits in cell["connections"].values() for bit in bits if isinstance(bit, int)
    )

    def gate(kind: str, **pins: Any) -> int:
        nonlocal unused
        output, unused = unused, unused + 1
        cells[f"$clock_gate${output}"] = {
            "type": kind,
            "parameters": {},
            "attributes": {},
            "connections": {port: [bit] for port, bit in pins.items()} | {"Y": [output]},
        }
        return output

    for name, latch in latches.items():
        ports = latch["connections"]
        if not low_clock(latch, drivers, source):
            raise ValueError(f"{name} is no latch of a clock gate")
        cells[name] = {
            "type": "$_AND_",
            "parameters": {},
            "attributes": {},
            "connections": {"A": ports["D"], "B": ports["D"], "Y": ports["Q"]},
        }
    enables: dict[int, Any] = {}

    def enable_of(net: int, name: str) -> Any:
        if net not in enables:
            pins = {} if net not in drivers else drivers[net]["connections"]
            if net not in drivers or drivers[net]["type"] != "$_AND_" or [source] not in (pins["A"], pins["B"]):
                raise ValueError(f"the clock of {name} is neither {clock} nor a gated one")
            [enables[net]] = pins["B"] if pins["A"] == [source] else pins["A"]
        return enables[net]

    for name, cell in list(cells.items()):
        ports = cell["connections"]
        port = {REGISTER: "C", WRITE: "CLK"}.get(cell["type"])
        if port is None or ports[port] == [source]:
            continue
        enable = enable_of(ports[port][0], name)
        if cell["type"] == REGISTER:
            ports["D"] = [gate("$_MUX_", A=ports["Q"][0], B=ports["D"][0], S=enable)]
        else:
            both = {bit: gate("$_AND_", A=bit, B=enable) for bit in set(ports["EN"])}
            ports["EN"] = [both[bit] for bit in ports["EN"]]
        ports[port] = [source]


def low_clock(latch: dict[str, Any], drivers: dict[int, dict[str, Any]], source: int) -> bool:
    """Tell whether a latch is open while the clock is low."""
    [open_] = latch["connections"]["E"]
    if latch["type"] == "$_DLATCH_N_":
        return open_ == source
    return open_ in drivers and drivers[open_]["type"] == "$_NOT_" and drivers[open_]["connections"]["A"] == [source]
