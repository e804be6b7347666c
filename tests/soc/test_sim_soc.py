# SPDX-License-Identifier: Apache-2.0
"""The simulated SoC: the CPU reaches the engine in every way there is, and a run is what it says it is.

HWSWAP_SOC_CPUS="vexriscv rocket" runs the same on both; `make test` has VexRiscv alone, for time's sake.
"""

import json
import os
from pathlib import Path
from subprocess import CompletedProcess

import programs
import pytest
from hwswap.project.paths import BUILD, ROOT
from hwswap_litex import EngineInfo, InputError
from hwswap_soc.bench.runs import Machine, build_firmware
from hwswap_soc.simulation.run import LATENCY, run

CPUS = os.environ.get("HWSWAP_SOC_CPUS", "vexriscv").split()
DONE = r"^HWSWAP-DONE"


def model_of(cpu: str) -> Path:
    model = BUILD / f"soc-model-{cpu}"
    assert model.is_dir(), f"no {model}: run `sim/setup/build rtl-soc soc-model-{cpu}` first"
    return model


@pytest.fixture(scope="module", params=CPUS)
def cpu(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def model(cpu) -> Path:
    return model_of(cpu)


def image_of(cpu: str, model: Path, folder: Path) -> Path:
    """litex/firmware/probe as an image of main RAM."""
    return build_firmware(Machine(model, cpu, "probe", LATENCY), "", folder)


@pytest.fixture(scope="module")
def probe(cpu, model, tmp_path_factory) -> Path:
    return image_of(cpu, model, tmp_path_factory.mktemp(f"probe-{cpu}"))


def answer(lines: list[str]) -> dict:
    (line,) = (line for line in lines if line.startswith("HWSWAP-JSON "))
    return json.loads(line.removeprefix("HWSWAP-JSON "))


def test_every_way_between_cpu_and_engine(model, probe):
    result = run(model, probe, stop=DONE, max_cycles=2_000_000)
    assert (result.reason, result.lines[-1]) == ("stop", "HWSWAP-DONE 0"), "\n".join(result.lines)
    found = answer(result.lines)
    assert found["build"] == EngineInfo.load(BUILD / "rtl-soc").build_hash
    assert found["interrupts"] == 1
    assert 0 < found["interrupt_cycles"] < 5000


@pytest.mark.parametrize("ratio", [0.7, 1.9])
def test_every_way_when_the_engine_has_a_clock_of_its_own(ratio, tmp_path):
    model = model_of("vexriscv-own")
    image = image_of("vexriscv", model, tmp_path)
    result = run(model, image, stop=DONE, max_cycles=4_000_000, engine_ratio=ratio)
    assert (result.reason, result.lines[-1]) == ("stop", "HWSWAP-DONE 0"), "\n".join(result.lines)
    assert answer(result.lines)["interrupts"] == 1


def test_a_run_is_the_same_each_time_and_slower_on_a_slower_memory(model, probe):
    cycles = [run(model, probe, stop=DONE, max_cycles=2_000_000, dram_latency=latency) for latency in (4, 4, 40)]
    assert cycles[0].cycles == cycles[1].cycles
    assert cycles[0].lines == cycles[1].lines
    assert cycles[2].cycles > cycles[0].cycles + 1000
    assert [answer(result.lines)["dram_latency"] for result in cycles] == [4, 4, 40]


def test_a_run_ends_where_it_is_told_to(model, probe):
    assert run(model, probe, max_cycles=1000).cycles == 1000
    late = run(model, probe, stop="a line that never comes", max_cycles=400_000)
    assert (late.reason, late.cycles) == ("max-cycles", 400_000)
    assert late.lines[-1] == "HWSWAP-DONE 0"


def test_what_cannot_be_run_is_said_in_one_sentence(model, probe, tmp_path):
    empty, large = tmp_path / "empty.bin", tmp_path / "large.bin"
    empty.touch()
    with large.open("wb") as stream:
        stream.truncate((64 << 20) + 1)
    cases = (
        (model, tmp_path / "none.bin", {}, "cannot be read"),
        (model, empty, {}, "0 bytes"),
        (model, large, {}, "67108865 bytes"),
        (tmp_path, probe, {}, "holds no simulated SoC"),
        (model, probe, {"stop": "("}, "not a regular expression"),
        (model, probe, {"dram_latency": 1}, "choose 2 to 60000"),
        (model, probe, {"engine_ratio": 0.5}, "--own-clock"),
        (model, probe, {"wave": tmp_path / "x.fst"}, "--wave"),
    )
    for folder, image, options, words in cases:
        with pytest.raises(InputError, match=words):
            run(folder, image, max_cycles=1000, **options)


def test_the_command_says_what_went_wrong_and_has_a_status(model, probe, tmp_path):
    def command(*arguments) -> CompletedProcess:
        return programs.run(ROOT / "sim/setup/env", "python", "-m", "hwswap.cli.steps", "sim", *arguments)

    good = command(model, probe)
    assert good.returncode == 0
    assert good.stdout.splitlines()[-1] == "HWSWAP-DONE 0"
    bad = command(model, tmp_path / "none.bin")
    assert bad.returncode == 2
    assert len(bad.stderr.splitlines()) == 1
    assert "Traceback" not in bad.stderr
    short = command(model, probe, "--max-cycles", 1000)
    assert short.returncode == 1
    assert "max-cycles" in short.stderr
