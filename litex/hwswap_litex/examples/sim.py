# SPDX-License-Identifier: Apache-2.0
"""A SoC with the engine in litex_sim: VexRiscv, LiteDRAM on a model of its chips, and LiteX's BIOS.

python sim.py --output DIR      # builds it, and runs it: `mem_read 0xb0000000` shows the engine's first registers
"""

import argparse
import os
from pathlib import Path

from hwswap_litex import add_hwswap, prebuilt
from litex.build.sim.config import SimConfig
from litex.soc.integration.builder import Builder
from litex.tools.litex_sim import SimSoC

REGISTERS = 0xB000_0000
"""From 0x80000000 on VexRiscv's data cache is passed by."""


def main() -> None:
    """Build the SoC and run it, with the terminal as its serial line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--profile", default="full", help="the engine: full or grants-only")
    parser.add_argument("--output", type=Path, default=Path("hwswap-sim"), help="folder for the SoC")
    parser.add_argument("--no-run", action="store_true", help="DIR/gateware/build_sim.sh then compiles it")
    options = parser.parse_args()

    soc = SimSoC(with_sdram=True, cpu_type="vexriscv", uart_name="sim", integrated_rom_size=0x10000)
    add_hwswap(soc, prebuilt(options.profile), REGISTERS)

    config = SimConfig()
    config.add_clocker("sys_clk", freq_hz=1_000_000)
    config.add_module("serial2console", "serial")
    builder = Builder(soc, output_dir=str(options.output), csr_json=str(options.output / "csr.json"))
    # Without jobs, make starts a compiler a file.
    builder.build(sim_config=config, opt_level="O1", jobs=os.cpu_count(), run=not options.no_run)


if __name__ == "__main__":
    main()
