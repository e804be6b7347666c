# SPDX-License-Identifier: Apache-2.0
"""What the benches on one hart and on several share: a model, a program built for it, and several runs at a time."""

import concurrent.futures
import hashlib
import json
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from hwswap.project import provenance
from hwswap.project.paths import BUILD, ROOT
from hwswap_litex import InputError
from rich.console import Console
from rich.progress import Progress, TaskID, TextColumn, TimeElapsedColumn

from hwswap_soc.bench.bench_result import DONE, objects
from hwswap_soc.simulation.run import run as simulate

Thing = TypeVar("Thing")
Show = Callable[[int, float], None]
"""Called with a run's cycles and seconds so far."""


MAX_CYCLES = 2_000_000_000

_BUILDING = threading.Lock()
# Runs of one program differ in what the simulation is told, and build it in the same folder.


class Form(Protocol):
    """How much is measured."""

    def defines(self) -> str:
        """Options for the compiler."""


class Interrupted(Exception):
    """The run was ended before its time."""


def build_firmware(model: Path, cpu: str, defines: str, output: Path, program: str) -> Path:
    """Builds a program of the firmware for a model; returns the image.

    Args:
        model: the simulated SoC.
        cpu: `vexriscv` or `rocket`, as the firmware's Makefile has it.
        defines: options for the compiler.
        output: folder.
        program: name of the program.
    """
    command = ["make", "-s", "-C", str(ROOT / "litex" / "firmware"), f"OUT={output}", f"SOC={model}", f"CPU={cpu}"]
    command += [f"DEFINES={defines}", str(output / f"{program}.bin")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise InputError(f"the firmware could not be built: {(done.stderr or done.stdout).strip()}")
    return output / f"{program}.bin"


def model_folder(name: str, engine: str = "rtl-soc") -> Path:
    """Where a simulated SoC is.

    Args:
        name: what sim/setup/build calls it.
        engine: what it calls the engine in it.
    """
    folder = BUILD / name
    if not (folder / "model.json").is_file():
        raise InputError(f"{folder} is not there: run 'sim/setup/build {engine} {name}' first")
    # Where the link points to now: it may point elsewhere before a long run ends.
    return folder.resolve()


def engine_of(model: Path) -> dict[str, Any]:
    """What the engine in a model was built for, as the model's exports tell it; the firmware insists on that build."""
    constants = json.loads((model / "soc.json").read_text())["constants"]
    facts = {name: constants[f"hwswap_{name}"] for name in ("devices", "cpus", "clusters")}
    build = constants["hwswap_build_hash_hi"] << 32 | constants["hwswap_build_hash_lo"]
    return facts | {"build_hash": f"{build:016x}"}


def measure(
    form: Form,
    model: Path,
    cpu: str,
    program: str,
    output: Path,
    latency: int,
    ratio: float = 1.0,
    stop: threading.Event | None = None,
    show: Show | None = None,
) -> dict[str, Any]:
    """Makes one run, unless the same program was run before on the same simulated SoC.

    Args:
        form: how much is measured.
        model: the simulated SoC.
        cpu: as for `build_firmware`.
        program: of the firmware.
        output: folder for the firmware, and for runs that were made.
        latency: DRAM latency, cycles.
        ratio: engine clock to CPU clock.
        stop: ends the run when set.
        show: called with cycles and seconds so far.

    Returns:
        What it printed, `lines`, with `cycles`, `seconds`, `commit` and `latency`.
    """
    number = hashlib.sha256(f"{form.defines()} {model}".encode()).hexdigest()[:8]
    with _BUILDING:
        image = build_firmware(model, cpu, form.defines(), output / f"firmware-{program}-{cpu}-{number}", program)
    parts = [image.read_bytes(), (model / "soc-sim").read_bytes(), f"{latency} {ratio}".encode()]
    name = hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()[:16]
    kept = output / "runs" / f"{name}.json"
    if kept.is_file():
        return json.loads(kept.read_text())

    def watch(cycles: int, seconds: float) -> None:
        if stop is not None and stop.is_set():
            raise Interrupted
        if show is not None:
            show(cycles, seconds)

    result = simulate(
        model,
        image,
        stop=f"^{DONE}",
        max_cycles=MAX_CYCLES,
        dram_latency=latency,
        engine_ratio=ratio,
        on_progress=watch,
    )
    # One that did not end well ends here.
    list(objects(result.lines))
    run = {"lines": result.lines, "cycles": result.cycles, "seconds": round(result.seconds, 1)}
    run |= {"commit": provenance.commit(), "latency": latency}
    kept.parent.mkdir(exist_ok=True)
    kept.write_text(json.dumps(run, indent=1) + "\n")
    return run


def together(
    things: Sequence[Thing],
    measure: Callable[[Thing, threading.Event, Show], dict[str, Any]],
    jobs: int,
    console: Console,
) -> Iterator[dict[str, Any]]:
    """Makes all runs, some at a time; shows how far they are. Yields what each measured, in the order of `things`.

    Args:
        things: what is to be run; str() names it.
        measure: makes a run, with its `cycles` and `seconds`.
        jobs: at a time.
        console: where it is shown.
    """
    stop = threading.Event()
    columns = (TextColumn("{task.description}"), TextColumn("{task.fields[state]}"), TimeElapsedColumn())
    with (
        Progress(*columns, console=console) as display,
        concurrent.futures.ThreadPoolExecutor(max_workers=jobs) as pool,
    ):

        def one(thing: Thing, task: TaskID) -> dict[str, Any]:
            def show(cycles: int, seconds: float) -> None:
                rate = cycles / max(seconds, 0.001) / 1e3
                display.update(task, state=f"{cycles / 1e6:.1f} Mcycles, {rate:.0f} kcycles/s")

            display.start_task(task)
            entry = measure(thing, stop, show)
            text = f"{entry['cycles'] / 1e6:.1f} Mcycles, done"
            display.update(task, state=text)
            display.stop_task(task)
            if not console.is_terminal:
                console.print(f"bench-soc: {thing}: {text} in {entry['seconds']:.0f} s")
            return entry

        tasks = [display.add_task(str(thing), start=False, state="waits") for thing in things]
        futures = [pool.submit(one, thing, task) for thing, task in zip(things, tasks, strict=True)]
        try:
            for future in futures:
                yield future.result()
        except BaseException:
            stop.set()
            for future in futures:
                future.cancel()
            raise
