# SPDX-License-Identifier: Apache-2.0
"""Clock gates as enables: what is left is a netlist of one clock that does the same."""

import copy

import pytest
from hwswap.verify import clock_gates

CLOCK, ENABLE, LATCHED, GATED, D, Q = 1, 2, 3, 4, 5, 6


def cell(kind, **pins):
    return {"type": kind, "connections": {port: net if isinstance(net, list) else [net] for port, net in pins.items()}}


def module():
    """A register and a memory's write port behind a clock gate, and a register beside it."""
    return {
        "ports": {"clock": {"direction": "input", "bits": [CLOCK]}},
        "cells": {
            "latch": cell("$_DLATCH_N_", D=ENABLE, E=CLOCK, Q=LATCHED),
            "gate": cell("$_AND_", A=CLOCK, B=LATCHED, Y=GATED),
            "behind": cell("$_DFF_P_", C=GATED, D=D, Q=Q),
            "beside": cell("$_DFF_P_", C=CLOCK, D=Q, Q=7),
            "memory": cell("$memwr_v2", CLK=GATED, EN=[8, 8, 9], ADDR=[Q], DATA=[D, D, D]),
        },
    }


def value(cells, net, inputs):
    """Work a net out."""
    if net in inputs:
        return inputs[net]
    [(kind, pins)] = [
        (cell["type"], cell["connections"]) for cell in cells.values() if cell["connections"].get("Y") == [net]
    ]
    a, b = (value(cells, pins[pin][0], inputs) for pin in "AB")
    return a & b if kind == "$_AND_" else (b if value(cells, pins["S"][0], inputs) else a)


@pytest.mark.parametrize("enable", [0, 1])
def test_a_gate_is_an_enable(enable):
    made = module()
    clock_gates.replace(made)
    cells = made["cells"]
    assert "$_DLATCH_N_" not in {cell["type"] for cell in cells.values()}
    assert cells["behind"]["connections"]["C"] == cells["memory"]["connections"]["CLK"] == [CLOCK]
    assert cells["beside"] == module()["cells"]["beside"]
    for d, q in ((0, 1), (1, 0)):
        inputs = {CLOCK: 0, ENABLE: enable, D: d, Q: q, 8: 1, 9: 0}
        assert value(cells, cells["behind"]["connections"]["D"][0], inputs) == (d if enable else q)
        enables = [value(cells, bit, inputs) for bit in cells["memory"]["connections"]["EN"]]
        assert enables == [enable, enable, 0]


def test_a_latch_that_is_open_while_the_inverse_is_high_is_one_as_well():
    made = module()
    made["cells"]["latch"] = cell("$_DLATCH_P_", D=ENABLE, E=10, Q=LATCHED)
    made["cells"]["inverter"] = cell("$_NOT_", A=CLOCK, Y=10)
    clock_gates.replace(made)
    assert made["cells"]["behind"]["connections"]["C"] == [CLOCK]


def test_without_a_latch_nothing_changes():
    made = {"ports": module()["ports"], "cells": {"beside": module()["cells"]["beside"]}}
    before = copy.deepcopy(made)
    clock_gates.replace(made)
    assert made == before


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("latch", cell("$_DLATCH_P_", D=ENABLE, E=CLOCK, Q=LATCHED)),
        ("gate", cell("$_OR_", A=CLOCK, B=LATCHED, Y=GATED)),
        ("gate", cell("$_AND_", A=ENABLE, B=LATCHED, Y=GATED)),
    ],
)
def test_what_is_no_clock_gate_is_refused(name, other):
    made = module()
    made["cells"][name] = other
    with pytest.raises(ValueError, match="clock"):
        clock_gates.replace(made)
