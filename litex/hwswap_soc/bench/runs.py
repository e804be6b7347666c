# SPDX-License-Identifier: Apache-2.0
"""What the benches on one hart and on several share: a model, a program built for it, and several runs at a time."""

import concurrent.futures
import json
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from hwswap.project.paths import BUILD, ROOT
from hwswap_litex import InputError
from rich.console import Console
from rich.progress import Progress, TaskID, TextColumn, TimeElapsedColumn

Thing = TypeVar("Thing")
Show = Callable[[int, float], None]
"""Called with a run's cycles and seconds so far."""


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


def watch(stop: threading.Event | None, show: Show | None) -> Show:
    """What a simulation calls now and then: ends it when `stop` is set, and shows how far it is."""

    def called(cycles: int, seconds: float) -> None:
        if stop is not None and stop.is_set():
            raise Interrupted
        if show is not None:
            show(cycles, seconds)

    return called


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
