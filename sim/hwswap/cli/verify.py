# SPDX-License-Identifier: Apache-2.0
"""Commands that check: against kernels, by proofs, by mutants, by coverage, and patch by patch."""

from hwswap.cli.options import drawn_seed, jobs, output_folder, seed, short
from hwswap.cli.parser import Commands, command, group, of_module

WITNESS = (
    "Page folios of every order out, one by one, by the same script on an unpatched kernel, on the patched one in\n"
    "mode off, and on the golden model, and compare all slots. Exit status 1 at a difference."
)
FUZZ = (
    "Have running kernels, the golden model and the RTL carry out random operations, and compare every answer.\n"
    "Exit status 1 at a difference, whose stream is kept, or where there was too little of something."
)
MUTATE = (
    "Switch the faults of build/mutants on, one after the other, and see which of them the checks find.\n"
    "The exit status is 1 when less than nine in ten are found."
)

COMMANDS = (
    (
        "witness",
        "compare slots of an unpatched kernel, the patched one and the golden model",
        of_module("hwswap.kernel.witness", drawn_seed, output_folder, about=WITNESS),
    ),
    (
        "fuzz",
        "compare kernels, golden model and RTL on random operations",
        of_module("hwswap.kernel.fuzz", drawn_seed, jobs, output_folder, about=FUZZ),
    ),
    ("formal", "prove parts of the engine", of_module("hwswap.verify.formal", short, seed, output_folder)),
    (
        "equivalent",
        "prove that a change of the sources changes nothing",
        of_module("hwswap.verify.equivalent", output_folder),
    ),
    (
        "marks-race",
        "search all orders of marks and of the engine's reads",
        of_module("hwswap.verify.mark_race", output_folder),
    ),
    (
        "mutate",
        "try mutants on the engine's checks",
        of_module("hwswap.verify.mutate", short, jobs, about=MUTATE, arguments=None),
    ),
    (
        "coverage",
        "tell what the simulations reach of the engine, and what they do not",
        of_module("hwswap.verify.rtl_coverage", short, arguments=None),
    ),
    (
        "patches",
        "build and boot the kernel with each patch of the series",
        of_module("hwswap.kernel.patch_steps", arguments=None),
    ),
    (
        "matrix",
        "compile the patches in many configurations of the kernel",
        of_module("hwswap.kernel.build_matrix", arguments=None),
    ),
)
"""Name, line of the help, and filler of each command."""


def add_commands(commands: Commands) -> None:
    """Add the commands of this group."""
    for name, text, fill in COMMANDS:
        command(commands, name, text, fill)
    checks = group(commands, "check", "check kernels against what is known from elsewhere")
    command(
        checks,
        "reports",
        "public reports of faults of the swap allocator, made again on four kernels",
        of_module("hwswap.kernel.fault_reports", short),
    )
