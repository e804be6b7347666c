# SPDX-License-Identifier: Apache-2.0
"""Commands that measure: the engine alone, the driver in the virtual machine, the demo; and what follows from it."""

from hwswap.cli.options import jobs, output_folder, seed, short
from hwswap.cli.parser import Commands, command, group, of_module

DEMO = "Boot the patched kernel with the simulated engine and run the same workload with and without it."
ENGINE = (
    "Replay traces on the Verilated core, its input kept full, and tell how many cycles operations take, by\n"
    "operation, order and path, what holds them up, and what falls back under which policy."
)


def add_commands(commands: Commands) -> None:
    """Add the commands of this group."""
    command(
        commands,
        "demo",
        "boot Linux with the engine, swap in every mode, print the comparison",
        of_module("hwswap.bench.demo", seed, about=DEMO, arguments=None),
    )
    command(
        commands,
        "experiments",
        "published tables on swap allocation, made again in kind",
        of_module("hwswap.experiments.command", short, seed),
    )
    actions = group(commands, "bench", "measure the engine and the driver")
    command(
        actions,
        "engine",
        "the engine's cycles on traces, beside the targets",
        of_module("hwswap.bench.engine_cycles", jobs, about=ENGINE),
    )
    command(
        actions,
        "tables",
        "the engine's commands on swap tables",
        of_module("hwswap.bench.swap_tables", short, seed, arguments=None),
    )
    command(
        actions,
        "offload",
        "marks and grants: cost of calls, and fall-backs of large folios, in Linux",
        of_module("hwswap.bench.offload", short, seed),
    )
    command(
        actions,
        "loads",
        "swap benchmarks by the names of maintainers: usemem, memhog, Redis, ...",
        of_module("hwswap.loads.command", short, seed, output_folder),
    )
