# SPDX-License-Identifier: Apache-2.0
"""Records what the swap allocator of a real kernel decides, as a trace."""

from pathlib import Path

from rich.console import Console

from hwswap import ftrace, paths, provenance, trace
from hwswap.guest import Guest, GuestError, Machine

RECIPES = paths.ROOT / "sim/guest/recipes"
"""A recipe is a shell script for the guest: it makes the swap areas on /dev/ram0 to 3 (64 MB each), uses them, and
leaves none behind. It keeps below half of all swap, so that the kernel reclaims nothing inside the allocator, and
takes its randomness from $SEED. The tracepoints are on before it starts."""

RING_KB = 65536
"""Size of the kernel's trace buffer: 64 bytes an event, so a million events."""

TRACE_ON = f"""
cd /sys/kernel/tracing || exit 1
echo 0 >tracing_on
echo {RING_KB} >buffer_size_kb
echo >trace
for event in slots_alloc slots_free device_on bad_slot device_off; do
    echo 1 >events/swap/swap_$event/enable || exit 1
done
echo 1 >tracing_on
cd /
"""
"""Guest commands that start the recording."""

TRACE_OFF = """
cd /sys/kernel/tracing
echo 0 >tracing_on
for file in per_cpu/cpu*/stats; do
    awk '/overrun|dropped/ && $NF { print "lost events: " $0; bad = 1 } END { exit bad }' $file || exit 1
done
cd /
"""
"""Guest commands that end the recording; they fail when the kernel lost an event."""


class RecordError(RuntimeError):
    """Nothing could be recorded; the text says what to do."""


def recipes() -> list[str]:
    """The names of the recipes."""
    return sorted(path.stem for path in RECIPES.glob("*.sh"))


def to_trace(text: str, output: Path, kernel: str, recipe: str, seed: int) -> trace.Header:
    """Converts the kernel's tracepoint text to a trace file; returns its header."""
    records, cpus = ftrace.parse(text.splitlines())
    commits = {"hwswap": provenance.commit(), "patches": provenance.patches()}
    header = trace.Header("recorded", kernel, "tracepoints", recipe, seed, cpus, commits)
    trace.write(output, header, records)
    return header


def record(recipe: str, output: Path, seed: int = 1) -> None:
    """Boots one CPU, runs a recipe with the swap tracepoints on, and writes the trace to `output`."""
    if recipe not in recipes():
        raise RecordError(f"there is no recipe {recipe}; choose one of {', '.join(recipes())}")
    job = f"SEED={seed}\n{TRACE_ON}\n( set -e\n. /recipe ) || exit 1\n{TRACE_OFF}"
    console = Console(stderr=True)
    files = {"recipe": (RECIPES / f"{recipe}.sh").read_bytes()}
    # A clock that counts instructions makes the recording the same every time.
    machine = Machine(cpus=1, icount=True, disk_mb=64)
    try:
        with console.status("booting the guest") as status, Guest(machine, files=files, job=job) as guest:
            status.update(f"recording {recipe} on Linux {guest.release}")
            guest.wait_job(600).check()
            status.update("fetching the trace")
            text = guest.fetch("/sys/kernel/tracing/trace", 300).decode()
            release = guest.release
    except GuestError as error:
        raise RecordError(str(error)) from error
    header = to_trace(text, output, release, recipe, seed)
    console.print(f"{output}: {header.counts['records']:,} records, {output.stat().st_size:,} bytes")
