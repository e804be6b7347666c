# SPDX-License-Identifier: Apache-2.0
"""Every DMA master of the engine x {ends of a window, bus error, stop, RESET}: the table of cases/masters.py.

Which masters there are is read out of the engine's SystemVerilog, so that one without a row is found.
"""

import pytest
import simulator
from cases.rows import ROWS
from masters import masters
from run_seed import SEED

ENGINES = {"whole": simulator.WHOLE, "driver": simulator.DRIVER, "grants-only": simulator.GRANTS_ONLY}
RUNS = [("whole", "both"), ("driver", "none"), ("grants-only", "none")]
"""Each takes a minute or two; `both` has the pauses of the other paces."""


def text(engine: str) -> str:
    return (simulator.rtl(ENGINES[engine]) / "HwSwap.sv").read_text()


@pytest.mark.parametrize("engine", ENGINES)
def test_every_master_has_a_row(engine):
    found = masters(text(engine))
    assert found
    assert found <= {row.master for row in ROWS}


def test_every_row_has_a_master():
    assert {row.master for row in ROWS} == set().union(*(masters(text(engine)) for engine in ENGINES))


def test_a_new_master_is_found():
    """In a module of its own, and in one that hands on the addresses of others."""
    verilog = text("whole")
    module = "module New(\n  input         clock,\n  output [60:0] io_read_bits_address\n);\nendmodule\n"
    added = module + verilog.replace(
        "  CommandRing ring (", "  New new (\n    .clock (clock)\n  );\n  CommandRing ring ("
    )
    assert masters(added) - masters(verilog) == {"shell.new.io_read"}
    own = verilog.replace("(_dump_io_dma_req_bits_address)", "(somewhere)")
    assert masters(own) - masters(verilog) == {"shell.writes.io_clients_1_req"}


@pytest.mark.parametrize(("engine", "pace"), RUNS)
def test_masters(engine, pace):
    seed = SEED + 500 + RUNS.index((engine, pace))
    simulator.simulate("masters", ENGINES[engine], pace, seed, f"masters-{engine}-{pace}")
