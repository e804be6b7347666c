# SPDX-License-Identifier: Apache-2.0
"""Commands that check: against kernels, and by public reports."""

from hwswap.cli.options import drawn_seed, jobs, output_folder, short
from hwswap.cli.parser import Commands, command, group, of_module

WITNESS = of_module("hwswap.kernel.witness", drawn_seed, output_folder)
FUZZ = of_module("hwswap.kernel.fuzz", drawn_seed, jobs, output_folder)
REPORTS = of_module("hwswap.kernel.fault_reports", short)


def add_commands(commands: Commands) -> None:
    """Add the commands of this group."""
    command(commands, "witness", "compare slots of an unpatched kernel, the patched one and the golden model", WITNESS)
    command(commands, "fuzz", "compare kernels, golden model and RTL on random operations", FUZZ)
    checks = group(commands, "check", "check kernels against what is known from elsewhere")
    command(checks, "reports", "public reports of faults of the swap allocator, made again on four kernels", REPORTS)
