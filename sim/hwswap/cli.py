# SPDX-License-Identifier: Apache-2.0
"""The `hwswap` command."""

import argparse
import hashlib
import secrets
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from hwswap.bench import scale, swap_tables
from hwswap.compare import check
from hwswap.compare.linear import as_trace, linearise
from hwswap.kernel import convert
from hwswap.model.follower import Mismatch
from hwswap.project import provenance
from hwswap.rtl import replay, replay_windows
from hwswap.traces import samples, statistical, stream, trace
from hwswap.traces.initial_steps import replayable
from hwswap.verify.mutate import add_arguments as add_mutate_arguments

OUT = Console()
ERR = Console(stderr=True, highlight=False)


def info(args: argparse.Namespace) -> int:
    """Show a trace's header and what is in it."""
    loaded = trace.read(args.file)
    header = loaded.header
    table = Table(title=str(args.file), show_header=False)
    rows = {
        "kind": header.kind,
        "kernel": header.kernel,
        "source": header.source,
        "recipe": header.recipe,
        "seed": "none" if header.seed is None else str(header.seed),
        "cpus": str(header.cpus),
        "devices": str(header.devices),
        "clusters": str(header.clusters),
        **{f"made by: {name}": value for name, value in sorted(header.commits.items())},
        **{name.replace("_", " "): f"{number:,}" for name, number in header.counts.items() if number},
    }
    by_order: dict[int, list[int]] = {}
    for record in loaded.records:
        if record.op == trace.Op.ALLOC:
            tally = by_order.setdefault(record.order, [0, 0])
            tally[record.type == trace.FAILED] += 1
    for order, (good, failed) in sorted(by_order.items()):
        rows[f"order {order}"] = f"{good:,} allocated, {failed:,} failed"
    for name, value in rows.items():
        table.add_row(name, value)
    OUT.print(table)
    return 0


def check_command(args: argparse.Namespace) -> int:
    """Run the golden model over a trace and compare every decision."""
    loaded = trace.read(args.file)
    with Progress(console=ERR, transient=True) as progress:
        task = progress.add_task("checking", total=len(loaded.records))
        outcome = check.replay(loaded, lambda done: progress.update(task, completed=done))
    if outcome.difference is not None:
        ERR.print(f"hwswap: {args.file}: {outcome.difference}", soft_wrap=True, highlight=False)
        return 1
    whose = ""
    if loaded.header.kind == trace.STATISTICAL:
        whose = ", and none is a kernel's: of a statistical trace only the numbers of operations are"
    OUT.print(f"{args.file}: all {outcome.decisions:,} decisions are equal{whose}", soft_wrap=True, highlight=False)
    steps = sum(outcome.guided.values())
    if steps:
        OUT.print(f"guided steps: {steps:,}, {100 * steps / max(outcome.decisions, 1):.2f} for 100 decisions")
    for cause, number in outcome.guided.most_common():
        OUT.print(f"  {cause}: {number:,}", highlight=False)
    return 0


def record_command(args: argparse.Namespace) -> int:
    """Record a trace from a kernel in the virtual machine."""
    from hwswap.kernel.record import record  # needs the built kernel and guest, which the other commands do not

    record(args.recipe, args.output, args.seed, args.cpus)
    return 0


def beside(output: Path) -> Path:
    """Return where the samples of a trace are kept."""
    return output.with_name(output.name.removesuffix(".gz").removesuffix(".hwst") + ".samples.jsonl")


def sample_command(args: argparse.Namespace) -> int:
    """Record the counters of the kernel that runs here, and make a statistical trace of them."""
    path = beside(args.output)
    taken = 0
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: what was sampled is used
    progress = Progress(console=ERR, transient=True)
    task = progress.add_task("sampling", total=round(args.seconds / max(args.interval, 0.01)))

    def sampled(number: int, sample: samples.Sample) -> None:
        nonlocal taken
        if number == 1:
            progress.start()
            for gap in samples.gaps(sample):
                ERR.print(f"hwswap: {gap}", soft_wrap=True)
        progress.update(task, completed=number - 1)
        taken = number

    try:
        samples.take(samples.System(args.root), path, args.seconds, args.interval, sampled)
    except KeyboardInterrupt:
        if not taken:
            raise
        ERR.print("hwswap: ended early; the trace is made of what was sampled", soft_wrap=True)
    finally:
        signal.signal(signal.SIGTERM, before)
        if taken:
            progress.stop()
    OUT.print(f"{path}: {taken:,} samples", soft_wrap=True, highlight=False)
    make_statistical(path, args.output, args.seed, None, args.discard)
    return 0


def estimate_command(args: argparse.Namespace) -> int:
    """Make a statistical trace of samples that were taken before."""
    make_statistical(args.file, args.output, args.seed, args.until, args.discard)
    return 0


def make_statistical(path: Path, output: Path, seed: int | None, until: float | None, discard: bool) -> None:
    """Make a statistical trace of samples and say how far it is what was counted."""
    taken = samples.read(path)
    if until is not None:
        taken = statistical.until(taken, until)
    seed = secrets.randbits(32) if seed is None else seed
    with Progress(console=ERR, transient=True) as progress:
        task = progress.add_task("making the trace", total=len(taken.taken) - 1)
        maker = statistical.Maker(taken, seed, discard)
        made = maker.make(lambda done: progress.update(task, completed=done))
    header = made.trace.header
    header.commits = {"hwswap": provenance.commit(), "samples": hashlib.sha256(path.read_bytes()).hexdigest()[:12]}
    trace.write(output, header, made.trace.records)
    for line in statistical.summary(made):
        OUT.print(line, highlight=False, soft_wrap=True)
    OUT.print(
        f"{output}: statistical, {len(made.trace.records):,} records of {made.seconds:g} s, seed {seed}",
        soft_wrap=True,
        highlight=False,
    )


def convert_command(args: argparse.Namespace) -> int:
    """Make one trace of another, or of tracepoint text."""
    loaded = convert.load(args.file, args.kernel)
    if args.end is not None:
        with ERR.status("replaying what is kept"):
            loaded = convert.until(loaded, args.end)
    if args.start:
        with ERR.status("replaying what comes before"):
            loaded = convert.cut(loaded, args.start)
    if args.plain:
        for reason in convert.lost(loaded):
            ERR.print(f"hwswap: {args.file}: a free replay may decide otherwise, as {reason}", soft_wrap=True)
        loaded = convert.plain(loaded)
    trace.write(args.output, loaded.header, loaded.records)
    version = trace.version_of(loaded.records)
    OUT.print(f"{args.output}: {len(loaded.records):,} records, format version {version}", soft_wrap=True)
    return 0


def replay_command(args: argparse.Namespace) -> int:
    """Replay a trace on the Verilated RTL."""
    loaded = trace.read(args.file)
    options = ["--latency", str(args.latency)] if args.latency is not None else []
    if args.registers:
        options.append("--registers")
    with tempfile.TemporaryDirectory(prefix="hwswap-") as folder:
        if loaded.detailed:  # the replayer does one after the other
            with ERR.status("bringing what the CPUs did into one sequence"):
                linear = linearise(loaded)
            loaded = as_trace(linear)
            for cause, number in linear.guided.most_common():
                ERR.print(f"hwswap: {args.file}: {number:,} decisions are guided: {cause}", soft_wrap=True)
        path = Path(folder) / "sequence.hwst"
        loaded = replayable(loaded)
        trace.write(path, loaded.header, loaded.records)
        with ERR.status("replaying on the RTL"):
            outcome = replay_windows.replay(loaded) if loaded.windows else replay.replay(path, options)
    if outcome.output:
        OUT.print(outcome.output, highlight=False, soft_wrap=True)
    if args.json is not None:
        args.json.write_text(replay.as_json(outcome))
    return 0 if outcome.equal else 1


def stream_command(args: argparse.Namespace) -> int:
    """Write a random stream with the golden model's decisions."""
    features = frozenset(stream.FEATURES if args.features == "all" else filter(None, args.features.split(",")))
    shape = stream.Shape(args.seed, args.ops, args.devices, args.cpus, args.clusters, args.span, features)
    making = stream.Stream(shape)
    records = []
    with Progress(console=ERR, transient=True) as progress:
        task = progress.add_task("generating", total=args.ops)
        for item in making:
            records.append(item)
            if not len(records) % 4096:
                progress.update(task, completed=len(records))
    trace.write(args.output, stream.header(shape), records)
    OUT.print(f"{args.output}: {shape}", soft_wrap=True)
    return 0


def lockstep_command(args: argparse.Namespace) -> int:
    """Compare kernel, golden model and RTL on fresh recordings."""
    from hwswap.kernel import lockstep  # needs the built kernel, guest and engine

    if args.files:
        rows = lockstep.short(args.files, args.jobs, lambda text: ERR.print(text, soft_wrap=True))
        return lockstep.finish(rows, args.seed, {}, lockstep.OUTPUT / "short.json")
    minimum = {**lockstep.MINIMUM, lockstep.DECISIONS: args.decisions}
    rows = lockstep.run(args.seed, minimum, args.jobs)
    return lockstep.finish(rows, args.seed, minimum, lockstep.OUTPUT / "lockstep.json")


def bench_engine_command(args: argparse.Namespace) -> int:
    """Measure the engine's cycles on traces."""
    from hwswap.bench import engine_cycles  # needs the built engine

    missed = engine_cycles.run(args.files or sorted(engine_cycles.DATA.glob("*.hwst.gz")), args.output, args.jobs)
    # The targets are about all recorded traces; one alone may have nothing of what a target is about.
    return 1 if missed and not args.files else 0


def demo_command(args: argparse.Namespace) -> int:
    """Compare software and offload on the same workload, in the virtual machine."""
    from hwswap.bench.demo import main as demo  # needs the built kernel, guest and engine

    return demo(args.seed)


def mutate_command(args: argparse.Namespace) -> int:
    """Switch seeded faults on, one after the other, and see which of them the checks find."""
    from hwswap.verify.mutate import main as mutate

    return mutate(args)


def number(text: str) -> int:
    """Read a number, decimal or with 0x."""
    return int(text, 0)


def add_statistical_arguments(one: argparse.ArgumentParser) -> None:
    """Add what says how a statistical trace is made of samples."""
    one.add_argument("--seed", type=number, help="seed of all that is drawn (default: a new one, which is printed)")
    one.add_argument(
        "--discard",
        action="store_true",
        help="devices that can discard were switched on with swapon --discard, which no kernel tells",
    )


def parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    top = argparse.ArgumentParser(prog="hwswap", description="Traces of the Linux swap allocator, and a model of it.")
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    of_traces = commands.add_parser("trace", help="show, check, record and replay traces")
    actions = of_traces.add_subparsers(required=True, metavar="ACTION")

    one = actions.add_parser("info", help="show what a trace holds", description=info.__doc__)
    one.add_argument("file", type=Path, help="a trace, .hwst or .hwst.gz")
    one.set_defaults(run=info)

    one = actions.add_parser(
        "check",
        help="compare a trace with the golden model",
        description="Have the golden model decide what a trace's kernel decided, and compare every decision: freely, "
        "or, if the trace has details of each operation, step by step. "
        "The exit status is 1 at a difference.",
    )
    one.add_argument("file", type=Path, help="a trace, .hwst or .hwst.gz")
    one.set_defaults(run=check_command)

    one = actions.add_parser(
        "record",
        help="record a trace from Linux in the virtual machine",
        description="Boot the patched kernel, run a recipe, and write what its swap allocator did.",
    )
    one.add_argument("recipe", help="name of the recipe")
    one.add_argument("-o", "--output", type=Path, required=True, help="trace to write")
    one.add_argument("--seed", type=number, default=1, help="seed of the recipe's workload (default 1)")
    one.add_argument("--cpus", type=int, help="CPUs of the guest (default: what the recipe says)")
    one.set_defaults(run=record_command)

    one = actions.add_parser(
        "sample",
        help="make a statistical trace of the kernel that runs here, whichever it is",
        description="Read at intervals what a stock kernel counts of its swap, keep that as FILE.samples.jsonl, and "
        "make a trace with as many operations of it. The decisions are the golden model's, and what happens "
        "inside an interval is drawn. Ctrl-C ends it early.",
    )
    one.add_argument("-o", "--output", type=Path, required=True, help="trace to write; the samples go beside it")
    one.add_argument("--seconds", type=float, default=60.0, metavar="S", help="how long (default 60)")
    one.add_argument("--interval", type=float, default=1.0, metavar="S", help="time between samples (default 1)")
    one.add_argument("--root", type=Path, default=Path("/"), metavar="DIR", help="where proc and sys are (default /)")
    add_statistical_arguments(one)
    one.set_defaults(run=sample_command)

    one = actions.add_parser(
        "estimate",
        help="make a statistical trace of samples once more",
        description="Make a statistical trace of a file that `trace sample` left. The same samples and seed give the "
        "same trace.",
    )
    one.add_argument("file", type=Path, help="the samples")
    one.add_argument("-o", "--output", type=Path, required=True, help="trace to write")
    one.add_argument("--until", type=float, metavar="S", help="end after so many seconds of the samples")
    add_statistical_arguments(one)
    one.set_defaults(run=estimate_command)

    one = actions.add_parser(
        "convert",
        help="make one trace of another, or of tracepoint text",
        description="Write a trace in the lowest format version that holds it, whole or in part.",
    )
    one.add_argument("file", type=Path, help="a trace, or text from /sys/kernel/tracing/trace")
    one.add_argument("-o", "--output", type=Path, required=True, help="trace to write")
    one.add_argument("--plain", action="store_true", help="leave out how the decisions came about")
    one.add_argument(
        "--from",
        dest="start",
        type=int,
        default=0,
        metavar="N",
        help="begin at record N; what was before becomes state",
    )
    one.add_argument("--until", dest="end", type=int, metavar="N", help="end at record N; devices stay as they are")
    one.add_argument("--kernel", help="the kernel's release, which tracepoint text does not tell")
    one.set_defaults(run=convert_command)

    one = actions.add_parser(
        "replay",
        help="replay a trace on the Verilated RTL",
        description="Feed a trace to the RTL and compare every decision. Exit status 1 at a difference.",
    )
    one.add_argument("file", type=Path, help="a trace, .hwst or .hwst.gz")
    one.add_argument("--latency", type=int, metavar="CYCLES", help="latency of the modelled memory, in engine cycles")
    one.add_argument("--registers", action="store_true", help="allocate and free through the CPU pages, not the ring")
    one.add_argument("--json", type=Path, metavar="FILE", help="write the report (cycles per operation) there")
    one.set_defaults(run=replay_command)

    one = commands.add_parser(
        "demo",
        help="boot Linux with the engine, swap in every mode, print the comparison",
        description="Boot the patched kernel with the simulated engine and run the same workload with and without it.",
    )
    one.add_argument("--seed", type=number, default=1, help="seed of everything random (default 1)")
    one.set_defaults(run=demo_command)

    one = commands.add_parser(
        "bench-scale",
        help="measure the engine from 1 GiB to 1 TiB, its clusters in DRAM",
        description=scale.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    scale.add_arguments(one)
    one.set_defaults(run=scale.bench)

    one = commands.add_parser(
        "bench-table",
        help="measure the engine's commands on swap tables",
        description=swap_tables.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    swap_tables.add_arguments(one)
    one.set_defaults(run=swap_tables.bench)

    one = commands.add_parser(
        "mutate",
        help="try seeded faults on the engine's checks",
        description="Switch the faults of build/mutants on, one after the other, and see which of them the checks "
        "find. The exit status is 1 when less than nine in ten are found.",
    )
    add_mutate_arguments(one)
    one.set_defaults(run=mutate_command)

    one = commands.add_parser(
        "lockstep",
        help="compare kernel, golden model and RTL on fresh recordings",
        description="Record fresh traces until there is enough of everything, and replay each on the golden model and "
        "on the RTL. Exit status 1 at a difference, or where there is too little of something. Ctrl-C ends it; "
        "recordings are kept, so that the next run goes on.",
    )
    one.add_argument("files", nargs="*", type=Path, help="traces to replay instead; there is no minimum then")
    one.add_argument("--seed", type=number, default=1, help="seed of the first recording of each recipe (default 1)")
    one.add_argument("--decisions", type=number, default=1_000_000, help="decisions at least (default 1000000)")
    one.add_argument("--jobs", type=int, default=2, help="recordings at the same time (default 2)")
    one.set_defaults(run=lockstep_command)

    one = commands.add_parser(
        "bench-engine",
        help="measure the engine's cycles on traces, beside the targets",
        description="Replay traces on the Verilated core, its input kept full, and tell how many cycles operations "
        "take, by operation, order and path, what holds them up, and what falls back under which policy.",
    )
    one.add_argument("files", nargs="*", type=Path, help="traces (default: all in tests/data)")
    one.add_argument("-o", "--output", type=Path, default=Path("build/bench-engine"), help="folder for JSON and plot")
    one.add_argument("--jobs", type=int, default=2, help="traces at the same time (default 2)")
    one.set_defaults(run=bench_engine_command)

    one = commands.add_parser(
        "stream",
        help="write a random stream as a trace",
        description="Write random operations on random devices with the golden model's decisions. "
        "The same arguments give the same file.",
    )
    one.add_argument("--seed", type=number, required=True, help="seed of everything random")
    one.add_argument("--ops", type=int, required=True, help="number of records")
    one.add_argument("-o", "--output", type=Path, required=True, help="trace to write")
    defaults = {name: spec.default for name, spec in stream.Shape.__dataclass_fields__.items()}
    for name, text in (
        ("devices", "swap devices at most"),
        ("cpus", "CPUs that allocate"),
        ("clusters", "clusters of the engine"),
        ("span", "clusters of one device at most"),
    ):
        one.add_argument(f"--{name}", type=int, default=defaults[name], help=f"{text} (default {defaults[name]})")
    one.add_argument(
        "--with",
        dest="features",
        default="",
        metavar="LIST",
        help=f"what engines of version 1.0 cannot do: all, or of {', '.join(stream.FEATURES)} (default none)",
    )
    one.set_defaults(run=stream_command)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status. What the user can mend is one sentence on the error output."""
    args = parser().parse_args(arguments)
    try:
        return args.run(args)
    except (RuntimeError, ValueError, OSError) as error:
        ERR.print(f"hwswap: {error}", soft_wrap=True, markup=False)
        return 1
    except Mismatch as mismatch:
        ERR.print(f"hwswap: the trace has {mismatch.expected}, the golden model {mismatch.got}", markup=False)
        return 1
    except KeyboardInterrupt:
        ERR.print("hwswap: interrupted")
        return 130


if __name__ == "__main__":
    sys.exit(main())
