# SPDX-License-Identifier: Apache-2.0
"""Proofs that a mutant is none, against all assignments of small netlists."""

import gzip
import itertools
import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hwswap.verify.equivalence import GATES, Prover
from run_seed import SEED

INPUTS = range(10, 14)
SELECT = [2]
FAULTY = 99
KINDS = list(GATES)
MEANING: dict[str, Callable[..., int]] = {
    "$_NOT_": lambda a: 1 - a,
    "$_AND_": lambda a, b: a & b,
    "$_OR_": lambda a, b: a | b,
    "$_XOR_": lambda a, b: a ^ b,
    "$_XNOR_": lambda a, b: 1 - (a ^ b),
    "$_MUX_": lambda a, b, s: b if s else a,
}


def random_gates(rng: random.Random, count: int) -> dict[int, tuple[str, list[int]]]:
    """Make gates on a few inputs; one net of them is held at 0 or 1 or inverted while the fault is chosen."""
    gates: dict[int, tuple[str, list[int]]] = {}
    nets: list[int] = list(INPUTS)
    victim, what = rng.randrange(count // 2), rng.choice(KINDS[:4])
    for number in range(count):
        kind = rng.choice(KINDS)
        pins = rng.sample(nets, {"$_NOT_": 1, "$_MUX_": 3}.get(kind, 2))
        net = 20 + number
        gates[net] = kind, pins
        if number == victim:
            # The net's users see the gate after it: the faulty one while the fault is chosen.
            gates[98] = (what, [net] if what == "$_NOT_" else [net, rng.choice(nets)])
            gates[FAULTY] = "$_MUX_", [net, 98, *SELECT]
            net = FAULTY
        nets.append(net)
    return gates


def values_of(gates: dict[int, tuple[str, list[int]]], inputs: tuple[int, ...], fault: int) -> dict[int, int]:
    values = dict(zip(INPUTS, inputs, strict=True)) | {SELECT[0]: fault}
    left = dict(gates)
    while left:
        for net, (kind, pins) in list(left.items()):
            if all(pin in values for pin in pins):
                values[net] = MEANING[kind](*(values[pin] for pin in pins))
                del left[net]
    return values


def netlist(gates: dict[int, tuple[str, list[int]]], output: int, register: int) -> dict[str, object]:
    """Return a netlist as Yosys would write it: the gates, an output, and a register."""
    cells: dict[str, object] = {
        f"g{net}": {"type": kind, "connections": dict(zip("ABS", ([pin] for pin in pins), strict=False)) | {"Y": [net]}}
        for net, (kind, pins) in gates.items()
    }
    cells["r"] = {"type": "$_DFF_P_", "connections": {"C": [3], "D": [register], "Q": [INPUTS[0]]}}
    ports = {"mutsel": {"direction": "input", "bits": SELECT}, "out": {"direction": "output", "bits": [output]}}
    return {"modules": {"top": {"ports": ports, "cells": cells}}}


def prover(folder: Path, values: dict[str, object]) -> Prover:
    path = folder / "gates.json.gz"
    path.write_bytes(gzip.compress(json.dumps(values).encode()))
    return Prover(path, "top", "mutsel", folder)


def test_proofs_are_what_all_assignments_say(tmp_path):
    """Random netlists: a fault is none exactly if output and register are the same for every input and state."""
    verdicts = []
    for seed in range(60):
        rng = random.Random(SEED + seed)
        gates = random_gates(rng, 10)
        output, register = 29, 28
        same = all(
            [values_of(gates, inputs, 0)[net] for net in (output, register)]
            == [values_of(gates, inputs, 1)[net] for net in (output, register)]
            for inputs in itertools.product((0, 1), repeat=len(INPUTS))
        )
        assert prover(tmp_path, netlist(gates, output, register)).no_fault(1) == same, f"seed {SEED + seed}"
        verdicts.append(same)
    assert 10 < sum(verdicts) < 50


def test_solver_decides_what_structure_does_not(tmp_path):
    """Distributivity: (a AND b) OR (a AND c) is a AND (b OR c), which no rule of the graph knows."""
    a, b, c, _ = INPUTS
    gates = {
        20: ("$_AND_", [a, b]),
        21: ("$_AND_", [a, c]),
        22: ("$_OR_", [20, 21]),
        23: ("$_OR_", [b, c]),
        24: ("$_AND_", [a, 23]),
        25: ("$_MUX_", [22, 24, *SELECT]),
        26: ("$_MUX_", [22, 23, *SELECT]),
    }
    assert prover(tmp_path, netlist(gates, 25, a)).no_fault(1)
    assert not prover(tmp_path, netlist(gates, 26, a)).no_fault(1)
    assert not list(tmp_path.glob("fault-*"))


def test_what_a_memory_takes_in_counts(tmp_path):
    """Its address, data and enable are seen; its output is anything."""
    values = netlist({20: ("$_AND_", [10, 11]), 21: ("$_MUX_", [20, 11, *SELECT])}, 12, 12)
    cells = values["modules"]["top"]["cells"]  # type: ignore[index]
    assert prover(tmp_path, values).no_fault(1)
    cells["m"] = {"type": "$memwr_v2", "connections": {"ADDR": [21], "DATA": [12], "EN": ["1"], "CLK": [3]}}
    assert not prover(tmp_path, values).no_fault(1)


def test_what_is_undefined_is_anything_and_what_is_constant_is_that(tmp_path):
    same = {20: ("$_AND_", ["x", "1"]), 21: ("$_MUX_", [20, "x", *SELECT])}
    assert prover(tmp_path, netlist(same, 21, 10)).no_fault(1)
    assert not prover(tmp_path, netlist(same | {21: ("$_MUX_", [20, "0", *SELECT])}, 21, 10)).no_fault(1)


def test_what_is_no_gate_is_refused(tmp_path):
    values = netlist({20: ("$add", [10, 11])}, 20, 12)
    with pytest.raises(ValueError, match=r"g20 is a \$add, which is no gate"):
        prover(tmp_path, values)
