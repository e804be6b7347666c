# SPDX-License-Identifier: Apache-2.0
"""Commands that measure: the engine alone, the driver in the virtual machine, the demo; and uses of the results."""

from hwswap.cli.options import jobs, output_folder, seed, short
from hwswap.cli.parser import Commands, command, group, of_module

DEMO = of_module("hwswap.bench.demo", seed, arguments=None)
EXPERIMENTS = of_module("hwswap.experiments.command", short, seed)
ENGINE = of_module("hwswap.bench.engine_cycles", jobs)
OFFLOAD = of_module("hwswap.bench.offload", short)
LOADS = of_module("hwswap.loads.command", short, seed, output_folder)


def add_commands(commands: Commands) -> None:
    """Add the commands of this group."""
    command(commands, "demo", "boot Linux with the engine, swap in every mode, print the comparison", DEMO)
    command(commands, "experiments", "published tables on swap allocation, made again in kind", EXPERIMENTS)
    actions = group(commands, "bench", "measure the engine and the driver")
    command(actions, "engine", "the engine's cycles on traces, beside the targets", ENGINE)
    command(actions, "offload", "grants: cost of calls, and fall-backs of large folios, in Linux", OFFLOAD)
    command(actions, "loads", "swap benchmarks by the names of maintainers: usemem, memhog, Redis, ...", LOADS)
