# SPDX-License-Identifier: Apache-2.0
"""The CPUs a SoC with the engine can have, and their differences."""

from dataclasses import dataclass

from litex.soc.cores import cpu as litex_cpu
from litex.soc.cores.cpu.rocket import Rocket
from litex.soc.interconnect import axi
from migen import ClockSignal, ResetSignal

from hwswap_soc.system import cpu_verilog


@dataclass(frozen=True)
class CpuProfile:
    """The properties of a CPU that a SoC has to know.

    Attributes:
        variant: the variant built unless another is asked for.
        registers: address of the engine's registers.
        window: address of the uncached window onto all of main RAM; None where the engine's DMA is coherent.
    """

    variant: str
    registers: int
    window: int | None


PROFILES = {
    # From 0x80000000 on VexRiscv's data cache is passed by.
    "vexriscv": CpuProfile("standard", 0xB000_0000, 0xA000_0000),
    # Rocket's one port to the outside world ends at 0x80000000.
    "rocket": CpuProfile("linux", 0x6000_0000, None),
}


class EngineRocket(Rocket):
    """Rocket as PyPI's pythondata-cpu-rocket has it, its DMA port open to an AXI master.

    LiteX's class asks for newer file names than that package has, and leads its DMA port, which is AXI, through
    Wishbone: one beat at a time. Here bursts arrive whole.

    Attributes:
        frontend: the coherent DMA port (64-bit AXI4 slave, 32-bit addresses).
    """

    variants = ("linux", "full")

    @staticmethod
    def get_arch(variant: str) -> str:
        """The instruction set, as the compiler's -march names it: only `full` has floating point."""
        return {"linux": "rv64i2p0_mac", "full": "rv64i2p0_mafdc"}[variant]

    def __init__(self, platform, variant: str = "linux") -> None:
        """Make the CPU.

        Args:
            platform: the LiteX platform.
            variant: `linux` (RV64IMAC) or `full` (RV64GC).
        """
        super().__init__(platform, variant)
        self.frontend = axi.AXIInterface(data_width=64, address_width=32, id_width=4)
        prefix = "l2_frontend_bus_axi4_0"
        for channel in ("aw", "w", "b", "ar", "r"):
            signals = getattr(self.frontend, channel)
            for name in self.cpu_params:
                direction, port = name[:2], name[2:]
                if not port.startswith(f"{prefix}_{channel}_"):
                    continue
                field = port.removeprefix(f"{prefix}_{channel}_").removeprefix("bits_")
                self.cpu_params[direction + port] = getattr(signals, field)
        # LiteX passes an Open() to this input.
        self.cpu_params["i_resetctrl_hartIsInReset_0"] = ResetSignal("sys") | self.reset
        # The debug port stays in reset, on a clock that runs.
        self.cpu_params["i_debug_clock"] = ClockSignal("sys")
        self.cpu_params["i_debug_clockeddmi_dmiClock"] = ClockSignal("sys")

    def connect_frontend(self, masters: list[axi.AXIInterface]) -> None:
        """Lead `masters` to the coherent DMA port; several take turns, a burst each."""
        if len(masters) == 1:
            self.comb += masters[0].connect(self.frontend)
        else:
            self.submodules.frontend_arbiter = axi.AXIArbiter(masters, self.frontend)

    @classmethod
    def add_sources(cls, platform, variant: str) -> None:
        """Add the Verilog of `variant` under the names the package has."""
        for path in cpu_verilog.files("rocket", variant):
            platform.add_source(str(path))


def install() -> None:
    """Make LiteX's SoC builder use the CPU classes of this module."""
    litex_cpu.CPUS["rocket"] = EngineRocket
