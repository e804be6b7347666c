# SPDX-License-Identifier: Apache-2.0
"""Records the decisions of a real kernel's swap allocator as a trace."""

import re
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from hwswap.guest.initramfs import kernel_modules
from hwswap.guest.qemu import Guest, Machine
from hwswap.kernel import ftrace
from hwswap.project import artifacts, paths, provenance
from hwswap.traces import trace

WORKLOADS = paths.ROOT / "sim/guest/workloads"
"""A shell script for the guest each: it makes swap areas on the RAM disks /dev/ram0 and up, or on null_blk, uses
them, and removes them all. It takes its randomness from $SEED. A line `# machine: cpus=2 disk_mb=32` in it describes
its machine (by default one CPU and four disks of 64 MB), a line `# needs: redis` names a folder of build/ that shall be
there as well, under its name. The tracepoints are on before it starts: those of the allocator, or, with a line
`# records: readahead`, those of the readahead."""

RING_KB = 65536
"""Size of the kernel's trace buffer for each CPU: 30 to 60 bytes an event, so a million events and more."""

OUTBOX_MB = 384
"""The most that the text of a recording may take."""


def trace_on(events: Sequence[str]) -> str:
    """Guest commands that start the recording of some events."""
    return f"""
cd /sys/kernel/tracing || exit 1
echo 0 >tracing_on
echo {RING_KB} >buffer_size_kb
# Events of all CPUs in one sequence: the locks' order, which no time stamp promises.
echo counter >trace_clock || exit 1
echo >trace
for event in {" ".join(events)}; do
    echo 1 >events/swap/$event/enable || exit 1
done
echo 1 >tracing_on
cd /
"""


TRACE_OFF = """
cd /sys/kernel/tracing
echo 0 >tracing_on
# With tracing_on alone each event would still be made up, and then not be written: what is measured next would pay.
echo 0 >events/swap/enable || exit 1
for file in per_cpu/cpu*/stats; do
    awk '/overrun|dropped/ && $NF { print "lost events: " $0; bad = 1 } END { exit bad }' $file || exit 1
done
cd /
"""
"""Guest commands that end the recording; they fail when the kernel lost an event."""

RECORDINGS = {"allocator": ftrace.EVENTS, "readahead": ftrace.READAHEAD}
"""The kinds of recordings, and their events."""


def workloads() -> list[str]:
    """Return the names of the workloads."""
    return sorted(path.stem for path in WORKLOADS.glob("*.sh"))


def words_of(text: str, name: str) -> list[str]:
    """Return the words of a workload's line of that name, which it need not have."""
    found = re.search(rf"^# {name}:(.*)$", text, re.MULTILINE)
    return found[1].split() if found else []


def to_trace(text: str, output: Path, kernel: str, workload: str, seed: int) -> trace.Header:
    """Convert the kernel's tracepoint text to a trace file; return its header."""
    records, cpus = ftrace.parse(text.splitlines())
    commits = {"hwswap": provenance.commit(), "patches": provenance.patches()}
    header = trace.Header("recorded", kernel, "tracepoints", workload, seed, cpus, commits)
    trace.write(output, header, records)
    return header


def machine(workload: str, text: str, cpus: int | None) -> Machine:
    """The machine that a workload asks for; `cpus` overrides its number of CPUs.

    With one CPU its clock counts instructions, which makes the recording the same every time.
    """
    values = {"cpus": 1, "disks": 4, "disk_mb": 64, "memory_mb": 1536}
    for word in words_of(text, "machine"):
        name, _, value = word.partition("=")
        if name not in values or not value.isdigit():
            raise RuntimeError(f"workload {workload}: the machine cannot have {word}")
        values[name] = int(value)
    if cpus is not None:
        values["cpus"] = cpus
    if not 1 <= values["cpus"] <= 8:
        raise RuntimeError(f"a guest with {values['cpus']} CPUs: choose 1 to 8")
    return Machine(icount=values["cpus"] == 1, outbox_mb=OUTBOX_MB, **values)


def needed(text: str) -> dict[str, bytes]:
    """Return the files for a guest from the folders of build/ that a script's line `# needs:` names."""
    folders = [paths.need(paths.BUILD / name) for name in words_of(text, "needs")]
    return {f"{folder.name}/{path.name}": path.read_bytes() for folder in folders for path in sorted(folder.iterdir())}


def files(text: str) -> dict[str, bytes]:
    """Return a guest's files for a workload: its script, what it needs, and the kernel's modules."""
    return {"workload": text.encode(), **needed(text), **kernel_modules(artifacts.KERNEL.path())}


def events(workload: str, text: str) -> Sequence[str]:
    """Return the events that a workload is recorded with."""
    what = " ".join(words_of(text, "records")) or "allocator"
    if what not in RECORDINGS:
        raise RuntimeError(
            f"workload {workload}: there is no recording of {what}; choose one of {', '.join(RECORDINGS)}"
        )
    return RECORDINGS[what]


def record(
    workload: str, output: Path, seed: int = 1, cpus: int | None = None, timeout: float = 900, quiet: bool = False
) -> None:
    """Run a workload in the guest with the swap tracepoints on, and write the trace to `output`.

    Each step of it, booting included, may take `timeout` seconds; `quiet` shows no progress.
    """
    if workload not in workloads():
        raise RuntimeError(f"there is no workload {workload}; choose one of {', '.join(workloads())}")
    text = (WORKLOADS / f"{workload}.sh").read_text()
    job = f"SEED={seed}\n{trace_on(events(workload, text))}\n( set -e\n. /workload ) || exit 1\n{TRACE_OFF}"
    console = Console(stderr=True, quiet=quiet)
    with (
        console.status("booting the guest") as status,
        Guest(machine(workload, text, cpus), files=files(text), job=job, boot_timeout=timeout) as guest,
    ):
        status.update(f"recording {workload} on Linux {guest.release}")
        guest.wait_job(timeout).check()
        status.update("fetching the trace")
        guest.run("cat /sys/kernel/tracing/trace >/tmp/trace", timeout).check()
        recorded = guest.fetch("/tmp/trace", timeout).decode()
        release = guest.release
    header = to_trace(recorded, output, release, workload, seed)
    console.print(f"{output}: {header.counts['records']:,} records, {output.stat().st_size:,} bytes")
