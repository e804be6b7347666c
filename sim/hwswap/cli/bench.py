# SPDX-License-Identifier: Apache-2.0
"""Commands that measure: the engine alone, the driver in the virtual machine, the demo; and what follows from it."""

from hwswap.cli import options
from hwswap.cli.parser import Commands, Parser, Run, command, group


def fill_engine(parser: Parser) -> Run:
    """Add the arguments of `bench engine`."""
    from hwswap.bench import engine_cycles

    parser.describe(
        "Replay traces on the Verilated core, its input kept full, and tell how many cycles operations take, by\n"
        "operation, order and path, what holds them up, and what falls back under which policy."
    )
    engine_cycles.add_arguments(parser)
    options.jobs(parser)
    return engine_cycles.run


def fill_tables(parser: Parser) -> Run:
    """Add the arguments of `bench tables`."""
    from hwswap.bench import swap_tables

    parser.describe(swap_tables)
    options.short(parser)
    options.seed(parser)
    return swap_tables.run


def fill_offload(parser: Parser) -> Run:
    """Add the arguments of `bench offload`."""
    from hwswap.bench import offload

    parser.describe(offload)
    options.short(parser)
    offload.add_arguments(parser)
    options.seed(parser)
    return offload.run


def fill_loads(parser: Parser) -> Run:
    """Add the arguments of `bench loads`."""
    from hwswap.loads import command as loads

    parser.describe(loads)
    options.short(parser)
    loads.add_arguments(parser)
    options.seed(parser)
    options.output_folder(parser, loads.OUTPUT)
    return loads.run


def fill_experiments(parser: Parser) -> Run:
    """Add the arguments of `experiments`."""
    from hwswap.experiments import command as experiments

    parser.describe(experiments)
    options.short(parser)
    experiments.add_arguments(parser)
    options.seed(parser)
    return experiments.run


def fill_demo(parser: Parser) -> Run:
    """Add the arguments of `demo`."""
    from hwswap.bench import demo

    parser.describe("Boot the patched kernel with the simulated engine and run the same workload with and without it.")
    options.seed(parser)
    return demo.run


def add_commands(commands: Commands) -> None:
    """Add the commands of this group."""
    command(commands, "demo", "boot Linux with the engine, swap in every mode, print the comparison", fill_demo)
    command(commands, "experiments", "published tables on swap allocation, made again in kind", fill_experiments)
    actions = group(commands, "bench", "measure the engine and the driver")
    command(actions, "engine", "the engine's cycles on traces, beside the targets", fill_engine)
    command(actions, "tables", "the engine's commands on swap tables", fill_tables)
    command(
        actions, "offload", "marks and grants: cost of calls, and fall-backs of large folios, in Linux", fill_offload
    )
    command(actions, "loads", "swap benchmarks by the names of maintainers: usemem, memhog, Redis, ...", fill_loads)
