# SPDX-License-Identifier: Apache-2.0
"""Commands on traces: show, check, record, make and replay them."""

import argparse
import json
from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from hwswap.cli import options as shared
from hwswap.cli.parser import Commands, Parser, argument, of_function
from hwswap.compare import check
from hwswap.kernel import convert
from hwswap.project import arguments, paths
from hwswap.rtl import replay
from hwswap.traces import stream, trace

OUT = Console()
ERR = Console(stderr=True, highlight=False)


def info(options: argparse.Namespace) -> int:
    """Show a trace's header and a summary of its records."""
    loaded = trace.read(options.file)
    header = loaded.header
    table = Table(title=str(options.file), show_header=False)
    rows = {
        "kind": header.kind,
        "kernel": header.kernel,
        "source": header.source,
        "workload": header.workload,
        "seed": "none" if header.seed is None else str(header.seed),
        "cpus": str(header.cpus),
        "devices": str(header.devices),
        "clusters": str(header.clusters),
        **{f"made by: {name}": value for name, value in sorted(header.commits.items())},
        **{name.replace("_", " "): f"{number:,}" for name, number in header.counts.items() if number},
    }
    allocations = [record for record in loaded.records if record.op == trace.Op.ALLOC]
    tally = Counter((record.order, record.type == trace.FAILED) for record in allocations)
    for order in sorted({record.order for record in allocations}):
        rows[f"order {order}"] = f"{tally[order, False]:,} allocated, {tally[order, True]:,} failed"
    for name, value in rows.items():
        table.add_row(name, value)
    OUT.print(table)
    return 0


def check_command(options: argparse.Namespace) -> int:
    """Have the golden model make the decisions of a trace's kernel, and compare every one.

    Freely, or, if the trace has details of each operation, step by step. The exit status is 1 at a difference.
    """
    loaded = trace.read(options.file)
    with ERR.status("checking"):
        outcome = check.replay(loaded)
    if outcome.difference is not None:
        ERR.print(f"hwswap: {options.file}: {outcome.difference}", soft_wrap=True, highlight=False)
        return 1
    OUT.print(f"{options.file}: all {outcome.decisions:,} decisions are equal", soft_wrap=True, highlight=False)
    steps = sum(outcome.forced.values())
    if steps:
        OUT.print(f"forced steps: {steps:,}, {100 * steps / max(outcome.decisions, 1):.2f} for 100 decisions")
    for cause, number in outcome.forced.most_common():
        OUT.print(f"  {cause}: {number:,}", highlight=False)
    return 0


def record_command(options: argparse.Namespace) -> int:
    """Boot the patched kernel, run a workload, and write the decisions of its swap allocator."""
    from hwswap.kernel.record import record  # needs the built kernel and guest, which the other commands do not

    record(options.workload, options.output, options.seed, options.cpus)
    return 0


def convert_command(options: argparse.Namespace) -> int:
    """Write a trace in the lowest format version that holds it."""
    loaded = convert.load(options.file, options.kernel)
    if options.plain:
        for reason in convert.lost(loaded):
            ERR.print(f"hwswap: {options.file}: a free replay may decide otherwise, as {reason}", soft_wrap=True)
        loaded = convert.plain(loaded)
    trace.write(options.output, loaded.header, loaded.records)
    version = trace.version_of(loaded.records)
    OUT.print(f"{options.output}: {len(loaded.records):,} records, format version {version}", soft_wrap=True)
    return 0


def replay_command(options: argparse.Namespace) -> int:
    """Feed the operations of a trace to the RTL, one after the other, and compare every decision.

    The exit status is 1 at a difference.
    """
    loaded = trace.read(options.file)
    try:
        operations = convert.for_engine(loaded)
    except trace.TraceError as error:
        raise trace.TraceError(f"{options.file}: {error}") from error
    arguments = ["--latency", str(options.latency)] if options.latency is not None else []
    if options.registers:
        arguments.append("--registers")
    with ERR.status("replaying on the RTL"):
        outcome = replay.replay(operations, arguments)
    if outcome.output:
        OUT.print(outcome.output, highlight=False, soft_wrap=True)
    if options.json is not None:
        paths.write(options.json, f"{json.dumps(outcome.report, indent=2, sort_keys=True)}\n".encode())
    return 0 if outcome.equal else 1


def stream_command(options: argparse.Namespace) -> int:
    """Write random operations on random devices with the golden model's decisions.

    The same arguments give the same file.
    """
    features = frozenset(stream.FEATURES if options.features == "all" else filter(None, options.features.split(",")))
    shape = stream.Shape(
        options.seed, options.ops, options.devices, options.cpus, options.clusters, options.span, features
    )
    records = list(track(stream.Stream(shape), "generating", options.ops, console=ERR, transient=True))
    trace.write(options.output, stream.header(shape), records)
    OUT.print(f"{options.output}: {shape}", soft_wrap=True)
    return 0


def add_shape(parser: Parser, _: object) -> None:
    """Add the sizes of a stream."""
    for name, text in (
        ("devices", "swap devices at most"),
        ("cpus", "CPUs that allocate"),
        ("clusters", "clusters of the engine"),
        ("span", "clusters of one device at most"),
    ):
        default = getattr(stream.Shape, name)
        parser.add_argument(f"--{name}", type=int, default=default, metavar="N", help=f"{text} (default: {default})")


TRACE = argument("file", type=Path, help="a trace, .hwst or .hwst.gz")
INFO = of_function(info, TRACE)
CHECK = of_function(check_command, TRACE)
RECORD = of_function(
    record_command,
    argument("workload", help="name of the workload"),
    shared.output_file,
    shared.seed,
    argument("--cpus", type=int, help="CPUs of the guest (default: what the workload says)"),
)
CONVERT = of_function(
    convert_command,
    argument("file", type=Path, help="a trace, or text from /sys/kernel/tracing/trace"),
    shared.output_file,
    argument("--plain", action="store_true", help="leave out how the decisions came about"),
    argument("--kernel", help="the kernel's release, which tracepoint text does not tell"),
)
LATENCY = arguments.within(int, 1, 100_000)  # as the program takes it
REPLAY = of_function(
    replay_command,
    TRACE,
    argument("--latency", type=LATENCY, metavar="CYCLES", help="latency of the modelled memory, engine cycles"),
    argument("--registers", action="store_true", help="allocate and free by the CPU pages, not the ring"),
    argument("--json", type=arguments.new_file, metavar="FILE", help="write what is reported there as JSON, too"),
)
FEATURES = f"what engines of version 1.0 cannot do: all, or of {', '.join(stream.FEATURES)} (default: none)"
STREAM = of_function(
    stream_command,
    argument("--seed", type=arguments.seed, required=True, metavar="N", help="seed of everything random"),
    argument("--ops", type=int, required=True, metavar="N", help="number of records"),
    shared.output_file,
    add_shape,
    argument("--with", dest="features", default="", metavar="LIST", help=FEATURES),
)
ACTIONS: Commands = {
    "info": ("show what a trace holds", INFO),
    "check": ("compare a trace with the golden model", CHECK),
    "record": ("record a trace from Linux in the virtual machine", RECORD),
    "convert": ("make one trace of another, or of tracepoint text", CONVERT),
    "replay": ("replay a trace on the Verilated RTL", REPLAY),
}
COMMANDS: Commands = {
    "trace": ("show, check, record and replay traces", ACTIONS),
    "stream": ("write a random stream as a trace", STREAM),
}
