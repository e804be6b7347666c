# SPDX-License-Identifier: Apache-2.0
"""Random operations on a running kernel, the golden model and the RTL: every answer has to be the same.

Nothing is recorded, and nothing needs to be forced: a program in the guest (sw/driver/workloads/swapscript.c) has the
allocator carry out one operation after the other, on the CPU that is named, through a file in debugfs that the patch
"let the bench carry out scripts" adds. Without I/O and without memory behind the slots a device may have 8 GiB.

A stream with a difference is kept as a trace.
"""

import argparse
import itertools
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from hwswap.guest.qemu import Guest, Machine
from hwswap.kernel.fuzz_tally import COUNTED, FAILED_ALLOCATIONS, Tally, missing, table, unlike
from hwswap.model.golden import Allocator
from hwswap.project import arguments, artifacts, paths
from hwswap.results import schema
from hwswap.rtl import replay
from hwswap.stimulus import kernel_streams
from hwswap.stimulus.kernel_streams import Case
from hwswap.traces import trace
from hwswap.traces.trace import Trace

OUTPUT = paths.BUILD / "fuzz"

OPERATIONS = 10_000_000
"""Of a whole run."""


ENOUGH = 5_000_000
"""Operations from which on a run has to have those shares: a stream is a thousandth of them."""

KERNELS = {"unpatched": artifacts.KERNEL_UNPATCHED, "patched": artifacts.KERNEL}
"""Kernels that boot: batches of streams take them in turn. The first kernel of the series has the bench alone."""

# The operations are one sequence, so that CPUs have nothing to do at the same moment.
MACHINE = Machine(
    cpus=kernel_streams.CPUS,
    in_turn=True,
    memory_mb=1536,
    disks=kernel_streams.DEVICES,
    disk_mb=2 * kernel_streams.LARGEST,
    # Eight CPUs that wait for each other's delay loops to be measured do not come to an end on a host with other work.
    kernel_arguments="lpj=4000000",
)

JOB = paths.ROOT / "sim/guest/fuzz.sh"

TIMEOUT = 3600.0
"""Seconds for a batch in a guest."""

_BATCH = 250_000
"""Operations that are given to a guest at once: they lie in its memory, 16 bytes each."""

_SAID = re.compile(r"^@case \S+ (\{.*\})$", re.MULTILINE)
_TAKEN = re.compile(r"^@taken (\S+) (\d+)$", re.MULTILINE)


@dataclass(frozen=True)
class Difference:
    """An answer that is not the golden model's."""

    who: str
    case: Case
    made: Trace
    said: str


def batches(seed: int, operations: int) -> Iterator[tuple[str, list[Case]]]:
    """Yield streams in such portions as a guest is given at once, for each kernel in turn; each gets one."""
    # A batch may have almost a whole stream more than that.
    size = min(_BATCH, operations // (2 * len(KERNELS)))
    waiting: list[Case] = []
    kernels = itertools.cycle(KERNELS)
    for case in kernel_streams.cases(seed, operations):
        waiting.append(case)
        if sum(each.shape.ops for each in waiting) >= size:
            yield next(kernels), waiting
            waiting = []
    if waiting:
        yield next(kernels), waiting


@dataclass(frozen=True)
class Said:
    """The output of a kernel."""

    answers: list[dict[str, Any]]
    """Of each trace, until the first that differs."""
    taken: Counter[str]
    """Clusters taken off lists, by kind of list; empty if it has no tracepoints."""


def on_kernel(kernel: str, traces: Sequence[Trace], log: Path | None) -> Said:
    """Have a kernel carry traces out, until the first that differs; return its output."""
    names = [f"{number:04}" for number in range(len(traces))]
    files = {f"cases/{name}": trace.pack(each.header, each.records) for name, each in zip(names, traces, strict=True)}
    job = f'CASES="{" ".join(names)}"\n{JOB.read_text()}'
    with Guest(MACHINE, files=files, job=job, log=log, kernel=KERNELS[kernel], boot_timeout=600) as guest:
        out = guest.wait_job(TIMEOUT).check()
        guest.check_log()
    said = [json.loads(text) for text in _SAID.findall(out)]
    if not said or ("answer" not in said[-1] and len(said) != len(traces)):
        raise RuntimeError(f"{kernel}: of {len(traces)} streams {len(said)} came to their end: see {log}")
    taken: Counter[str] = Counter()
    for name, number in _TAKEN.findall(out):
        taken[name] += int(number)
    return Said(said, taken)


def engine(name: str) -> Path:
    """Return the replayer of a build of the engine."""
    return paths.BUILD / name / paths.REPLAY.name


def on_rtl(case: Case, made: Trace) -> str:
    """Have the engine carry a trace out; return its output if its answers differ, else nothing."""
    outcome = replay.replay(made, build=engine(case.engine.build))
    if not outcome.equal:
        return outcome.output
    if outcome.report["ops"] != len(made.records):
        return f"of {len(made.records)} operations the engine was given {outcome.report['ops']}"
    return ""


def discards(said: dict[str, Any], made: Trace) -> str:
    """Return the clusters that a kernel discarded when it was asked to, and those that it should have."""
    first = said["record"]
    while first and made.records[first - 1].op == trace.Op.DISCARD_DONE:
        first -= 2
    found = f"error {said['answer']}" if said["answer"] < 0 else f"{said['answer']} clusters"
    return f"the kernel has {found}, the golden model {(said['record'] - first) // 2}"


def answer(said: dict[str, Any], made: Trace) -> str:
    """Return a kernel's answer that is not the trace's, in one sentence."""
    record = made.records[said["record"]]
    if record.op == trace.Op.DISCARD_TAKE:
        return f"operation {said['record']}, discards of device {record.type}: {discards(said, made)}"
    if record.op == trace.Op.FREE:
        return f"operation {said['record']}, a free of {record.b} slots: error {said['answer']}"
    expected = "no slots" if record.type == trace.FAILED else f"device {record.type}, slot {record.a}"
    got = said["answer"]
    found = f"device {got[0]}, slot {got[1]}" if isinstance(got, list) else f"error {got}"
    place = f"operation {said['record']}, order {record.order} on CPU {record.cpu}"
    return f"{place}: the kernel has {found}, the golden model {expected}"


def count(tally: Tally, kernel: str, case: Case, said: dict[str, Any]) -> None:
    """Count a stream that was equal everywhere."""
    tally.operations += said["records"]
    tally.allocated.update(dict(enumerate(said["allocated"])))
    tally.failed.update(dict(enumerate(said["failed"])))
    tally.events.update({FAILED_ALLOCATIONS: sum(said["failed"]), **{name: said[name] for name in COUNTED}})
    tally.engines[case.engine.build] += said["records"]
    tally.kernels[kernel] += said["records"]


def carry_out(kernel: str, cases: Sequence[Case], log: Path, kind: type[Allocator]) -> tuple[Tally, Difference | None]:
    """Make a batch of streams, and carry it out until the first difference; if the guest dies, keep the batch."""
    tally = Tally()
    streams = [kernel_streams.generate(case.shape, kind) for case in cases]
    try:
        said = on_kernel(kernel, [made for made, _ in streams], log)
    except RuntimeError as error:
        kept = log.with_name(f"died-{kernel}-{cases[0].shape.seed}")
        kept.mkdir(parents=True, exist_ok=True)
        for number, (made, _) in enumerate(streams):
            trace.write(kept / f"{number:04}.hwst", made.header, made.records)
        raise RuntimeError(f"{kernel}: {error}; its streams: {kept}, for hwswap fuzz --replay") from error
    for case, (made, ended), answers in zip(cases, streams, said.answers, strict=False):
        if "answer" in answers:
            return tally, Difference(kernel, case, made, answer(answers, made))
        if text := on_rtl(case, made):
            return tally, Difference("rtl", case, made, text)
        tally.paths += ended
        count(tally, kernel, case, answers)
    if said.taken:
        tally.taken += said.taken
        tally.traced += tally.operations
    return tally, None


def compare(
    seed: int,
    operations: int,
    folder: Path,
    say: Callable[[str], None],
    kind: type[Allocator] = Allocator,
    jobs: int = 1,
) -> tuple[Tally, Difference | None]:
    """Carry everything out, so many batches at a time, until the first difference."""
    for each in kernel_streams.ENGINES:
        replay.program(engine(each.build))
    total, found = Tally(), None
    portions = enumerate(batches(seed, operations))
    say(f"0 of {operations:,} operations")
    with ProcessPoolExecutor(jobs) as pool:
        running: set[Future[tuple[Tally, Difference | None]]] = set()
        while True:
            for number, (kernel, cases) in itertools.islice(portions, jobs - len(running)):
                log = folder / f"{number % jobs}.{kernel}.kernel.log"
                running.add(pool.submit(carry_out, kernel, cases, log, kind))
            if not running:
                break
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for each in done:
                tally, difference = each.result()
                total.add(tally)
                found = found or difference
            if found:
                # The pool waits for batches that run; nothing new is begun.
                break
            say(f"{total.operations:,} of {operations:,} operations are equal")
    return total, found


def again_from(path: Path, console: Console) -> int:
    """Carry a trace that was kept out on all kernels, and on the engines that have room; return the exit status."""
    made = trace.read(path)
    header = made.header
    fits = [
        each.build
        for each in kernel_streams.ENGINES
        if each.devices >= header.devices and each.cpus >= header.cpus and each.clusters >= header.clusters
    ]
    if not fits:
        raise RuntimeError(f"{path} is too large for each engine: they have {kernel_streams.ROOM}")
    equal = True
    for kernel in KERNELS:
        (said,) = on_kernel(kernel, [made], None).answers
        text = answer(said, made) if "answer" in said else "equal"
        equal &= text == "equal"
        console.print(f"{kernel} kernel: {text}", markup=False)
    for name in fits:
        outcome = replay.replay(path, build=engine(name))
        equal &= outcome.equal
        console.print(f"engine, {name}: {outcome.output or 'equal'}", markup=False)
    return 0 if equal else 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own arguments."""
    parser.add_argument(
        "--operations", type=arguments.count, default=OPERATIONS, metavar="M", help=f"how many (default: {OPERATIONS})"
    )
    parser.add_argument("--replay", type=Path, metavar="TRACE", help="only carry out a trace that a run has kept")


def run(options: argparse.Namespace) -> int:
    """Compare the three; return the exit status."""
    progress, console = Console(stderr=True, highlight=False), Console(soft_wrap=True, highlight=False)
    if options.replay:
        return again_from(options.replay, console)
    seed = options.seed
    progress.print(f"seed {seed}")
    options.output.mkdir(parents=True, exist_ok=True)
    faults = []
    with progress.status("") as status:
        tally, found = compare(seed, options.operations, options.output, status.update, jobs=options.jobs)
        if found:
            kept = options.output / f"difference-{seed}.hwst"
            trace.write(kept, found.made.header, found.made.records)
            faults.append(f"{found.who}: {found.said}; its stream: hwswap fuzz --replay {kept}")
        else:
            faults += unlike(tally)
            if options.operations >= ENOUGH:
                faults += missing(tally)
    schema.save(
        "fuzz",
        [
            schema.Figure("random operations", "", tally.operations, "operations"),
            schema.exact("operations with another answer", len(faults), "operations"),
        ],
        title="Random operations: kernels, golden model and RTL",
        command=f"make fuzz OPERATIONS={options.operations} SEED={seed}",
        platform="Linux 7.3.4 unpatched and patched; golden model; Verilated engines",
        leaves_out="reclaim, CPUs at the same moment, discards in the background",
        kernel=True,
        seed=seed,
    )
    console.print(table(tally))
    for fault in faults:
        console.print(f"hwswap: {fault}", markup=False)
    equal = "kernel = model = RTL" if not found else "equal before the difference"
    console.print(f"seed {seed}: {tally.operations:,} operations, {equal}")
    return 1 if faults else 0
