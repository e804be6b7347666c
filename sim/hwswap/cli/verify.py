# SPDX-License-Identifier: Apache-2.0
"""Commands that check: in lock-step with kernels, by proofs, by mutants, by coverage, and patch by patch."""

from hwswap.cli import options
from hwswap.cli.parser import Commands, Parser, Run, command, group


def fill_lockstep(parser: Parser) -> Run:
    """Add the arguments of `lockstep`."""
    from hwswap.kernel import lockstep

    parser.describe(
        "Record fresh traces until there is enough of everything, and replay each on the golden model and on the RTL.\n"
        "Exit status 1 at a difference, or where there is too little of something. Ctrl-C ends it; recordings are\n"
        "kept, so that the next run goes on."
    )
    lockstep.add_arguments(parser)
    options.seed(parser, None, "1; of a fresh run a new one, which is printed")
    options.jobs(parser)
    return lockstep.run


def fill_witness(parser: Parser) -> Run:
    """Add the arguments of `witness`."""
    from hwswap.kernel import witness

    parser.describe(
        "Page folios of every order out, one by one, by the same script on an unpatched kernel, on the patched one in\n"
        "mode off, and on the golden model, and compare all slots. Exit status 1 at a difference."
    )
    options.seed(parser, None)
    witness.add_arguments(parser)
    options.output_file(parser, witness.OUTPUT)
    return witness.run


def fill_fuzz(parser: Parser) -> Run:
    """Add the arguments of `fuzz`."""
    from hwswap.kernel import fuzz

    parser.describe(
        "Have running kernels, the golden model and the RTL carry out random operations, and compare every answer.\n"
        "Exit status 1 at a difference, which is cut down and kept, or where there was too little of something."
    )
    options.seed(parser, None)
    fuzz.add_arguments(parser)
    options.jobs(parser)
    options.output_folder(parser, fuzz.OUTPUT)
    return fuzz.run


def fill_formal(parser: Parser) -> Run:
    """Add the arguments of `formal`."""
    from hwswap.verify import formal

    parser.describe(formal)
    formal.add_arguments(parser)
    options.short(parser)
    options.seed(parser)
    options.output_folder(parser, formal.OUTPUT)
    return formal.run


def fill_equivalent(parser: Parser) -> Run:
    """Add the arguments of `equivalent`."""
    from hwswap.verify import equivalent

    parser.describe(equivalent)
    equivalent.add_arguments(parser)
    options.output_folder(parser, equivalent.OUTPUT)
    return equivalent.run


def fill_marks_race(parser: Parser) -> Run:
    """Add the arguments of `marks-race`."""
    from hwswap.verify import mark_race

    parser.describe(mark_race)
    mark_race.add_arguments(parser)
    options.output_folder(parser, mark_race.OUTPUT)
    return mark_race.run


def fill_mutate(parser: Parser) -> Run:
    """Add the arguments of `mutate`."""
    from hwswap.verify import mutate

    parser.describe(
        "Switch the faults of build/mutants on, one after the other, and see which of them the checks find.\n"
        "The exit status is 1 when less than nine in ten are found."
    )
    options.short(parser)
    mutate.add_arguments(parser)
    options.jobs(parser)
    return mutate.run


def fill_coverage(parser: Parser) -> Run:
    """Add the arguments of `coverage`."""
    from hwswap.verify import rtl_coverage

    parser.describe(rtl_coverage)
    options.short(parser)
    return rtl_coverage.run


def fill_patches(parser: Parser) -> Run:
    """Add the arguments of `patches`, which has none."""
    from hwswap.kernel import patch_steps

    parser.describe(patch_steps)
    return patch_steps.run


def fill_matrix(parser: Parser) -> Run:
    """Add the arguments of `matrix`, which has none."""
    from hwswap.kernel import build_matrix

    parser.describe(build_matrix)
    return build_matrix.run


def fill_reports(parser: Parser) -> Run:
    """Add the arguments of `check reports`."""
    from hwswap.kernel import fault_reports

    parser.describe(fault_reports)
    options.short(parser)
    fault_reports.add_arguments(parser)
    return fault_reports.run


def add_commands(commands: Commands) -> None:
    """Add the commands of this group."""
    command(commands, "lockstep", "compare kernel, golden model and RTL on fresh recordings", fill_lockstep)
    command(
        commands, "witness", "compare slots of an unpatched kernel, the patched one and the golden model", fill_witness
    )
    command(commands, "fuzz", "compare kernels, golden model and RTL on random operations", fill_fuzz)
    command(commands, "formal", "prove parts of the engine", fill_formal)
    command(commands, "equivalent", "prove that a change of the sources changes nothing", fill_equivalent)
    command(commands, "marks-race", "search all orders of marks and of the engine's reads", fill_marks_race)
    command(commands, "mutate", "try mutants on the engine's checks", fill_mutate)
    command(commands, "coverage", "tell what the simulations reach of the engine, and what they do not", fill_coverage)
    command(commands, "patches", "build and boot the kernel with each patch of the series", fill_patches)
    command(commands, "matrix", "compile the patches in many configurations of the kernel", fill_matrix)
    actions = group(commands, "check", "check kernels against what is known from elsewhere")
    command(
        actions, "reports", "public reports of faults of the swap allocator, made again on four kernels", fill_reports
    )
