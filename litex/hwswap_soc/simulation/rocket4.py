# SPDX-License-Identifier: Apache-2.0
"""A Rocket with four harts, for the simulated SoC alone: no board has room for it beside the engine.

PyPI's pythondata-cpu-rocket has it as LitexLinux4Config: each hart is that of the variant `linux`, with caches of 4 KiB
each way that are kept coherent. All four start at the ROM; the trampoline says which is which by mhartid.
"""

import contextlib
from collections.abc import Iterator

from litex.build.generic_platform import GenericPlatform
from litex.soc.cores import cpu as litex_cpu
from migen import ResetSignal

from hwswap_soc.system import cpu as cpus

NAME = "rocket4"
HARTS = 4


class Rocket4(cpus.EngineRocket):
    """Four harts with the same ports: memory, registers, and the coherent DMA port."""

    name = NAME
    human_name = "Rocket, four harts"
    variants = ("linux",)

    def __init__(self, platform: GenericPlatform, variant: str = "linux") -> None:
        """Make the CPU.

        Args:
            platform: the LiteX platform.
            variant: `linux`.
        """
        super().__init__(platform, variant)
        for hart in range(HARTS):
            self.cpu_params[f"i_resetctrl_hartIsInReset_{hart}"] = ResetSignal("sys") | self.reset

    @classmethod
    def add_sources(cls, platform: GenericPlatform, variant: str) -> None:
        """Add the Verilog, under the names that the package has."""
        super().add_sources(platform, f"{variant}{HARTS}")


@contextlib.contextmanager
def known() -> Iterator[None]:
    """Have LiteX's SoC builder and HwSwapSoC know the CPU for a while: boards are not to find it."""
    litex_cpu.CPUS[NAME] = Rocket4
    cpus.PROFILES[NAME] = cpus.PROFILES["rocket"]
    try:
        yield
    finally:
        del litex_cpu.CPUS[NAME], cpus.PROFILES[NAME]
