# SPDX-License-Identifier: Apache-2.0
"""The Verilog of the CPUs: the names of their modules, and the files that PyPI's packages have them in.

`python -m hwswap_soc.system.cpu_verilog rocket linux` prints the files of a CPU: sim/setup/build looks at what is in
them.
"""

import sys
from pathlib import Path

from litex import get_data_mod

MODULES = {"vexriscv": "VexRiscv", "rocket": "ExampleRocketSystem"}
"""Verilog module by CPU."""

_VEXRISCV = {"standard": "VexRiscv", "linux": "VexRiscv_Linux"}
# The package's configurations of Rocket for a 64-bit memory port; `linux4` has four cores (simulation/rocket4.py).
_ROCKET = {"linux": "LitexLinuxConfig", "full": "LitexFullConfig", "linux4": "LitexLinux4Config"}


def files(cpu: str, variant: str) -> list[Path]:
    """The files of a CPU.

    Args:
        cpu: `vexriscv` or `rocket`.
        variant: of the CPU.
    """
    folder = Path(get_data_mod("cpu", cpu).data_location)
    if cpu == "vexriscv":
        return [folder / f"{_VEXRISCV[variant]}.v"]
    name = f"freechips.rocketchip.system.{_ROCKET[variant]}"
    generated = [folder / "generated-src" / f"{name}{suffix}.v" for suffix in ("", ".behav_srams")]
    return [
        *generated,
        *(folder / "vsrc" / f"{part}.v" for part in ("plusarg_reader", "AsyncResetReg", "EICG_wrapper")),
    ]


if __name__ == "__main__":
    print(*files(*sys.argv[1:]), sep="\n")
