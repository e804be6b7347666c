# SPDX-License-Identifier: Apache-2.0
"""The common part of the benches on one hart and on several: a model, a program for it, several runs at a time."""

import concurrent.futures
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hwswap.project.paths import BUILD, ROOT
from hwswap_litex import InputError
from rich.console import Console
from rich.progress import Progress, TextColumn, TimeElapsedColumn

from hwswap_soc.bench.bench_result import DONE, objects
from hwswap_soc.simulation.run import run as simulate

OUTPUT = BUILD / "bench-soc"
"""The folder in which programs are built."""

MAX_CYCLES = 2_000_000_000


class Form(Protocol):
    """The sizes of a run."""

    def defines(self) -> str:
        """Return the compiler's options."""


@dataclass(frozen=True)
class Machine:
    """The machine that forms are measured on.

    Attributes:
        model: the simulated SoC.
        cpu: `vexriscv` or `rocket`, as the firmware's Makefile has it.
        program: of the firmware.
        latency: DRAM latency, cycles.
        ratio: engine clock to CPU clock.
    """

    model: Path
    cpu: str
    program: str
    latency: int
    ratio: float = 1.0


class Interrupted(Exception):
    """The run was ended before its time."""


def model_folder(cpu: str, own_clock: bool = False) -> Path:
    """Return the folder of a simulated SoC.

    Args:
        cpu: name of the CPU.
        own_clock: the engine has a clock of its own.
    """
    folder = BUILD / f"soc-model-{cpu}{'-own' if own_clock else ''}"
    if not (folder / "model.json").is_file():
        raise InputError(f"{folder} is not there: 'make bench-soc' with CPU= and ENGINE_RATIO= builds it")
    # The link's target now: it may be another one before a long run ends.
    return folder.resolve()


def build_firmware(machine: Machine, defines: str, output: Path) -> Path:
    """Build the program; return the image.

    Args:
        machine: the machine it is for.
        defines: options for the compiler.
        output: folder.
    """
    image = output / f"{machine.program}.bin"
    command = ["make", "-s", "-C", str(ROOT / "litex" / "firmware"), f"OUT={output}", f"SOC={machine.model}"]
    command += [f"CPU={machine.cpu}", f"DEFINES={defines}", str(image)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise InputError(f"the firmware could not be built: {(done.stderr or done.stdout).strip()}")
    return image


def measure(form: Form, machine: Machine, output: Path, show: Callable[[int, float], None]) -> list[str]:
    """Make one run; return its output.

    Args:
        form: the sizes of the run.
        machine: the machine to run on.
        output: folder for the program.
        show: called with cycles and seconds so far; the run ends when it raises.
    """
    image = build_firmware(machine, form.defines(), output)
    result = simulate(
        machine.model,
        image,
        stop=f"^{DONE}",
        max_cycles=MAX_CYCLES,
        dram_latency=machine.latency,
        engine_ratio=machine.ratio,
        on_progress=show,
    )
    # One that did not end well ends here.
    list(objects(result.lines))
    return result.lines


def together(forms: Sequence[Form], machine: Machine, jobs: int) -> Iterator[list[str]]:
    """Make all runs, some at a time; show how far they are. Yield the output of each, in the order of the forms.

    Args:
        forms: the runs; str() names each.
        machine: the machine to run on.
        jobs: at a time.
    """
    stop = threading.Event()
    console = Console(stderr=True, highlight=False)
    columns = (TextColumn("{task.description}"), TextColumn("{task.fields[state]}"), TimeElapsedColumn())
    with (
        Progress(*columns, console=console) as display,
        concurrent.futures.ThreadPoolExecutor(max_workers=jobs) as pool,
    ):

        def one(number: int) -> list[str]:
            task = display.add_task(str(forms[number]), state="")

            def show(cycles: int, seconds: float) -> None:
                if stop.is_set():
                    raise Interrupted
                rate = cycles / max(seconds, 0.001) / 1e3
                display.update(task, state=f"{cycles / 1e6:.1f} Mcycles, {rate:.0f} kcycles/s")

            lines = measure(forms[number], machine, OUTPUT / f"{machine.program}-{machine.cpu}-{number}", show)
            display.stop_task(task)
            if not console.is_terminal:
                console.print(f"bench-soc: {forms[number]} is done")
            return lines

        futures = [pool.submit(one, number) for number in range(len(forms))]
        try:
            for future in futures:
                yield future.result()
        except BaseException:
            stop.set()
            for future in futures:
                future.cancel()
            raise
