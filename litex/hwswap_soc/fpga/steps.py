# SPDX-License-Identifier: Apache-2.0
"""Shows the steps of a bitstream, and ends them when a run is interrupted."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from hwswap_soc.fpga import fpga_tools


@contextmanager
def shown() -> Iterator[Progress]:
    """A display of steps under way, on standard error."""
    columns = (SpinnerColumn(finished_text="[green]✓"), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        yield progress


@contextmanager
def step(text: str) -> Iterator[None]:
    """Show one step as under way, until it is left."""
    with shown() as progress:
        task = progress.add_task(text, total=1)
        yield
        progress.update(task, completed=1)


def end(processes: list[subprocess.Popen]) -> None:
    """End processes that are left when a run is interrupted or fails."""
    for process in processes:
        if process.poll() is None:
            process.terminate()
    for process in processes:
        process.wait()


def run(command: list[str], log: Path, folder: Path) -> None:
    """Run one FPGA tool to its end.

    Args:
        command: name of the tool and its arguments.
        log: file for its output.
        folder: working directory.
    """
    process = fpga_tools.start(command, log, folder)
    try:
        process.wait()
    finally:
        end([process])
    fpga_tools.check(process, log)


def build(environment: dict[str, str], *what: str) -> bool:
    """Make artefacts with sim/setup/build, its output shown.

    Args:
        environment: variables that choose them: BOARD, CPU, SEEDS and so on.
        what: their names.

    Returns:
        Whether all were made.
    """
    command = [str(fpga_tools.ROOT / "sim" / "setup" / "build"), *what]
    process = subprocess.Popen(command, env=os.environ | environment, cwd=fpga_tools.ROOT)
    try:
        return process.wait() == 0
    finally:
        end([process])
