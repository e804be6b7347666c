# SPDX-License-Identifier: Apache-2.0
"""Commands that are a module each: they measure, check against kernels and public reports, or are about a SoC."""

from hwswap.cli.options import drawn_seed, jobs, output_folder, seed, short
from hwswap.cli.parser import Commands, of_module

DEMO = of_module("hwswap.bench.demo", seed, arguments=None)
EXPERIMENTS = of_module("hwswap.experiments.command", short, seed)
ENGINE = of_module("hwswap.bench.engine_cycles", jobs)
OFFLOAD = of_module("hwswap.bench.offload", short)
LOADS = of_module("hwswap.loads.command", short, seed, output_folder)
WITNESS = of_module("hwswap.kernel.witness", drawn_seed, output_folder)
TOP = of_module("hwswap.kernel.top", seed)
FUZZ = of_module("hwswap.kernel.fuzz", drawn_seed, jobs, output_folder)
REPORTS = of_module("hwswap.kernel.fault_reports", short)
SOC_BENCH = of_module("hwswap_soc.bench.bench", jobs)
CARD = of_module("hwswap_soc.linux.linux_image", output_folder)

BENCH: Commands = {
    "engine": ("the engine's cycles on traces, beside the targets", ENGINE),
    "offload": ("grants: cost of calls, and fall-backs of large folios, in Linux", OFFLOAD),
    "loads": ("swap benchmarks by the names of maintainers: usemem, memhog, Redis, ...", LOADS),
}
CHECK: Commands = {"reports": ("public reports of faults of the swap allocator, made again on three kernels", REPORTS)}
SOC: Commands = {
    "bench": ("compare allocation by software and by the engine in CPU cycles", SOC_BENCH),
    "linux": ("boot Linux on the simulated SoC, and swap in every mode", of_module("hwswap_soc.linux.linux")),
    "flash": ("load a bitstream into a board", of_module("hwswap_soc.boards.flash")),
    "card": ("write what a board boots Linux from", CARD),
}
COMMANDS: Commands = {
    "demo": ("boot Linux with the engine, swap in every mode, print the comparison", DEMO),
    "experiments": ("published tables on swap allocation, made again in kind", EXPERIMENTS),
    "bench": ("measure the engine and the driver", BENCH),
    "witness": ("compare slots of an unpatched kernel, the patched one and the golden model", WITNESS),
    "fuzz": ("compare kernels, golden model and RTL on random operations", FUZZ),
    "top": ("show the driver's state and counters, live, here or in a guest", TOP),
    "check": ("check kernels against what is known from elsewhere", CHECK),
    "soc": ("the engine in a SoC: simulated, and in an FPGA", SOC),
}
