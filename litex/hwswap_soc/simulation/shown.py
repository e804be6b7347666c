# SPDX-License-Identifier: Apache-2.0
"""The progress of a run, as commands show it."""

import time
from typing import Self

from rich.console import Console


class Live:
    """Progress of a simulation, on standard error: a live line on a terminal, else a line every half minute."""

    def __init__(self, name: str, alone: bool = True) -> None:
        """Make the display of a command.

        Args:
            name: begins its lines.
            alone: no other is shown at the same time; else there are lines on a terminal, too.
        """
        self.name = name
        self.console = Console(stderr=True, highlight=False)
        live = alone and self.console.is_terminal
        self._status = self.console.status("starting the simulated SoC") if live else None
        self._told = time.monotonic()

    def __enter__(self) -> Self:
        """Start the display."""
        if self._status:
            self._status.start()
        return self

    def __exit__(self, *_) -> None:
        """End it."""
        if self._status:
            self._status.stop()

    def progress(self, cycles: int, seconds: float, phase: str = "") -> None:
        """Show `cycles` simulated in `seconds`, and in which part of the run."""
        text = f"{phase}{cycles / 1e6:.1f} Mcycles, {cycles / 1e3 / max(seconds, 1e-3):.0f} kcycles/s, {seconds:.0f} s"
        if self._status:
            self._status.update(text)
        elif time.monotonic() - self._told > 30:
            self._told = time.monotonic()
            self.console.print(f"{self.name}: {text}")
