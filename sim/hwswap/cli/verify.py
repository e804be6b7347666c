# SPDX-License-Identifier: Apache-2.0
"""Commands that check: against kernels, by proofs, by mutants, by coverage, and patch by patch."""

from hwswap.cli.options import drawn_seed, jobs, output_folder, seed, short
from hwswap.cli.parser import Commands, command, group, of_module

WITNESS = of_module("hwswap.kernel.witness", drawn_seed, output_folder)
FUZZ = of_module("hwswap.kernel.fuzz", drawn_seed, jobs, output_folder)
FORMAL = of_module("hwswap.verify.formal", short, seed, output_folder)
MARKS_RACE = of_module("hwswap.verify.mark_race")
MUTATE = of_module("hwswap.verify.mutate", short, jobs, arguments=None)
COVERAGE = of_module("hwswap.verify.rtl_coverage", short, arguments=None)
PATCHES = of_module("hwswap.kernel.patch_steps", arguments=None)
MATRIX = of_module("hwswap.kernel.build_matrix", arguments=None)
REPORTS = of_module("hwswap.kernel.fault_reports", short)


def add_commands(commands: Commands) -> None:
    """Add the commands of this group."""
    command(commands, "witness", "compare slots of an unpatched kernel, the patched one and the golden model", WITNESS)
    command(commands, "fuzz", "compare kernels, golden model and RTL on random operations", FUZZ)
    command(commands, "formal", "prove parts of the engine", FORMAL)
    command(commands, "marks-race", "search all orders of marks and of the engine's reads", MARKS_RACE)
    command(commands, "mutate", "try mutants on the engine's checks", MUTATE)
    command(commands, "coverage", "tell what the simulations reach of the engine, and what they do not", COVERAGE)
    command(commands, "patches", "build and boot the kernel with each patch of the series", PATCHES)
    command(commands, "matrix", "compile the patches in many configurations of the kernel", MATRIX)
    checks = group(commands, "check", "check kernels against what is known from elsewhere")
    command(checks, "reports", "public reports of faults of the swap allocator, made again on four kernels", REPORTS)
