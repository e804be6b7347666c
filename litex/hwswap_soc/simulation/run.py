# SPDX-License-Identifier: Apache-2.0
"""Runs a simulated SoC that hwswap_soc.simulation.model has built.

python -m hwswap.cli.steps sim DIR IMAGE --stop REGEXP
"""

import argparse
import json
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hwswap.project.arguments import within
from hwswap_litex import InputError

from hwswap_soc.simulation import shown

STORAGE = "sim_main_ram_storage.init"
"""The file the DRAM model's memory is read from."""

PAGE = 4096
"""Image bytes looked at together: pages of zeros are left out."""

LATENCY = 16
"""Cycles from an address to the first beat of data: a row that is open, on a board's DDR3 at a SoC's clock."""

LATENCIES, RATIOS = (2, 60000), (0.05, 20)
"""The least and the most that there can be."""

latency, ratio = within(int, *LATENCIES), within(float, *RATIOS)
"""Readers of both on the command line."""


@dataclass
class Result:
    """A run.

    Attributes:
        cycles: sys clock cycles; up to the end of the line that stopped the run, if one did.
        lines: the console, without line ends.
        reason: `stop` (the line looked for came), `max-cycles`, or `ended` (by itself).
        seconds: wall-clock time.
    """

    cycles: int = 0
    lines: list[str] = field(default_factory=list)
    reason: str = "ended"
    seconds: float = 0.0


def run(
    model: Path,
    image: Path,
    *,
    stop: str | None = None,
    max_cycles: int | None = None,
    dram_latency: int = LATENCY,
    engine_ratio: float = 1.0,
    wave: Path | None = None,
    on_line: Callable[[str], None] | None = None,
    on_progress: Callable[[int, float], None] | None = None,
) -> Result:
    """Run `image` on the model in folder `model`.

    Args:
        model: made by `hwswap_soc.simulation.model`.
        image: content of main RAM at the start, from its first byte on.
        stop: regular expression; the run ends with the first console line in which it is found.
        max_cycles: the run ends then.
        dram_latency: cycles from an address to the first beat of data.
        engine_ratio: engine clock to sys clock, for a model with `own_clock`.
        wave: FST file to write, for a model with `waves`.
        on_line: called with every line of the console.
        on_progress: called about twice a second with cycles and seconds so far.
    """
    model = Path(model).resolve()
    facts = load_facts(model)
    pattern = _compile(stop)
    command = [str(model / "soc-sim"), "--dram-latency", str(dram_latency), "--engine-ratio", str(engine_ratio)]
    if not LATENCIES[0] <= dram_latency <= LATENCIES[1]:
        raise InputError(f"the DRAM latency is {dram_latency}: choose 2 to 60000 cycles")
    if engine_ratio != 1.0 and not facts["own_clock"]:
        raise InputError(f"the engine in {model} shares the CPU's clock: build the model with --own-clock")
    if not RATIOS[0] <= engine_ratio <= RATIOS[1]:
        raise InputError(f"the ratio of the clocks is {engine_ratio}: choose 0.05 to 20")
    if max_cycles is not None:
        command += ["--max-cycles", str(max_cycles)]
    if wave is not None:
        if not facts["waves"]:
            raise InputError(f"the model in {model} cannot write waves: build it with --wave")
        command += ["--wave", str(Path(wave).resolve())]
    with tempfile.TemporaryDirectory(prefix="soc-sim-") as folder:
        for initial in (model / "gateware").glob("*.init"):
            if initial.name != STORAGE:
                (Path(folder) / initial.name).symlink_to(initial)
        write_storage(image, Path(folder) / STORAGE, facts["ram_size"])
        return _watch(command, folder, pattern, on_line, on_progress)


def load_facts(model: Path) -> dict:
    """Return the parameters that the model in folder `model` was built with."""
    try:
        facts = json.loads((model / "model.json").read_text())
    except (OSError, ValueError) as error:
        raise InputError(
            f"{model} holds no simulated SoC: build one with 'sim/setup/build soc-model-vexriscv'"
        ) from error
    if not (model / "soc-sim").is_file():
        raise InputError(f"{model} is not complete: remove it and build the model again")
    return facts


def write_storage(image: Path, target: Path, size: int) -> None:
    """Write `image` as a file for $readmemh, 64-bit words; pages of zeros are left out.

    Args:
        image: a flat binary.
        target: the file to write.
        size: bytes of RAM it must fit into.
    """
    try:
        length = Path(image).stat().st_size
        if not 0 < length <= size:
            raise InputError(f"the image {image} has {length} bytes: it must have 1 to {size}, the size of main RAM")
        with Path(image).open("rb") as source, target.open("w") as stream:
            for number, page in enumerate(iter(lambda: source.read(PAGE), b"")):
                if any(page) or number == 0:
                    words = struct.unpack(f"<{PAGE // 8}Q", page.ljust(PAGE, b"\0"))
                    stream.write(f"@{number * PAGE // 8:x}\n" + "\n".join(f"{word:x}" for word in words) + "\n")
    except OSError as error:
        raise InputError(f"the image {image} cannot be read ({error.strerror}): name a flat binary") from error


def _compile(stop: str | None) -> re.Pattern | None:
    """The regular expression of a line to stop at."""
    try:
        return re.compile(stop) if stop is not None else None
    except re.error as error:
        raise InputError(f"'{stop}' is not a regular expression ({error}): mend --stop") from error


def _messages(stream) -> Iterator[tuple[str, int, str]]:
    """Yield the harness's messages: kind, cycle and text."""
    for raw in stream:
        kind, _, rest = raw.decode(errors="replace").rstrip("\n").partition(" ")
        cycle, _, text = rest.partition(" ")
        if kind in ("L", "C") and cycle.isdigit():
            yield kind, int(cycle), text


def _watch(command, folder, pattern, on_line, on_progress) -> Result:
    """Run the harness in `folder` and read its output."""
    result = Result(reason="max-cycles" if "--max-cycles" in command else "ended")
    started = time.monotonic()
    # A session of its own: Ctrl-C comes to this program, which then stops it properly.
    process = subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        for kind, cycle, text in _messages(process.stdout):
            if result.reason == "stop":
                continue
            result.seconds = time.monotonic() - started
            result.cycles = cycle
            if kind == "L":
                result.lines.append(text)
                if on_line:
                    on_line(text)
                if pattern and pattern.search(text):
                    result.reason = "stop"
                    process.send_signal(signal.SIGTERM)
            elif on_progress:
                on_progress(cycle, result.seconds)
    finally:
        process.send_signal(signal.SIGTERM)
        errors = process.stderr.read().decode(errors="replace")
        status = process.wait()
    if status != 0:
        raise InputError(f"the simulation ended with status {status}: {errors.strip() or 'it said nothing'}")
    return result


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("model", type=Path, metavar="DIR")
    parser.add_argument("image", type=Path, help="flat binary, loaded at the start of main RAM")
    parser.add_argument("--stop", metavar="REGEXP", default=r"HWSWAP-DONE", help="end with the first line that matches")
    parser.add_argument("--max-cycles", type=int, default=2_000_000_000)
    parser.add_argument("--dram-latency", type=latency, default=LATENCY, help="cycles to the first beat of data")
    parser.add_argument("--engine-ratio", type=ratio, default=1.0, help="engine clock to CPU clock")
    parser.add_argument("--wave", type=Path, metavar="FST", help="write waves")


def run_command(options: argparse.Namespace) -> int:
    """Run an image; the exit status is 0 when the line looked for came and reports no failure."""
    with shown.Live("soc-sim") as live:
        result = run(
            options.model,
            options.image,
            stop=options.stop,
            max_cycles=options.max_cycles,
            dram_latency=options.dram_latency,
            engine_ratio=options.engine_ratio,
            wave=options.wave,
            on_line=lambda line: print(line, flush=True),
            on_progress=live.progress,
        )
    rate = result.cycles / 1e3 / max(result.seconds, 1e-3)
    speed = f"{result.seconds:.1f} s, {rate:.0f} kcycles/s"
    print(f"soc-sim: {result.reason} after {result.cycles} cycles, {speed}", file=sys.stderr)
    if result.reason != "stop":
        return 1
    done = [line.split()[1:2] for line in result.lines if line.startswith("HWSWAP-DONE")]
    return 0 if not done or done[-1] in ([], ["0"]) else 1
