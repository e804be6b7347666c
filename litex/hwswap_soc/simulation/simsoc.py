# SPDX-License-Identifier: Apache-2.0
"""The simulated SoC: HwSwapSoC on a model of a DRAM, without BIOS.

A ROM of a few words jumps to the start of main RAM, which holds whatever the simulation was given as image.
"""

import contextlib
from pathlib import Path

from litex.build.generic_platform import Pins, Subsignal
from litex.build.sim import SimPlatform
from litex.gen import LiteXModule
from litex.soc.integration.soc import SoCRegion
from litex.soc.interconnect import axi
from migen import ClockDomain, Signal
from migen.genlib.resetsync import AsyncResetSynchronizer

from hwswap_soc.simulation import rocket4
from hwswap_soc.simulation.dram import DramModel
from hwswap_soc.system.soc import HwSwapSoC, wishbone_cache

RAM_SIZE = 64 << 20
"""Bytes of main RAM."""

DEVICE_TREE = 0x83F0_0000
"""The address at which Rocket's software finds its device tree, if the image has one there."""

SYS_CLK_FREQ = 100_000_000
"""The clock that the SoC reports, in Hz. Nothing in the simulation depends on it; software's delays do."""

ROM_SIZE = 256
"""Bytes of the ROM: more than its few words, because CPUs fetch whole cache lines."""

TOP = "sim"
"""Name of the Verilog module."""

_IO = [
    ("clocks", 0, Subsignal("sys", Pins(1)), Subsignal("engine", Pins(1)), Subsignal("reset", Pins(1))),
    ("dram", 0, Subsignal("latency", Pins(16))),
    (
        "serial",
        0,
        *(
            Subsignal(f"{way}_{name}", Pins(width))
            for way in ("source", "sink")
            for name, width in (("valid", 1), ("ready", 1), ("data", 8))
        ),
    ),
]

# The code after the number of the hart in a0, as a boot loader calls OpenSBI: a1 is the device tree.
_ROCKET = (
    0x83F0_05B7,  # lui  a1, 0x83f00
    0x0205_9593,  # slli a1, a1, 32
    0x0205_D593,  # srli a1, a1, 32
    0x0010_0293,  # li   t0, 1
    0x01F2_9293,  # slli t0, t0, 31
    0x0002_8067,  # jr   t0
    0x0000_0013,  # nop
)

TRAMPOLINES = {
    "vexriscv": (
        0x4000_02B7,  # lui  t0, 0x40000
        0x0002_8067,  # jr   t0
    ),
    "rocket": (0x0000_0513, *_ROCKET),  # li   a0, 0
    rocket4.NAME: (0xF140_2573, *_ROCKET),  # csrr a0, mhartid
}
"""The ROM of each CPU: jumps to the start of main RAM."""


class ModelPlatform(SimPlatform):
    """LiteX's platform for Verilator, which here writes the Verilog and leaves running Verilator to `model`."""

    def __init__(self) -> None:
        """Make the platform."""
        super().__init__("SIM", list(_IO), name=TOP)

    def build(self, fragment, build_dir: str, build_name: str = TOP, **_) -> object:
        """Write `build_dir`/sim.v and the files its memories are read from."""
        self.finalize(fragment)
        verilog = self.get_verilog(fragment, name=build_name, regular_comb=False)
        # The memories' files are written to the present directory.
        with contextlib.chdir(build_dir):
            verilog.write(f"{build_name}.v")
        self.add_source(str(Path(build_dir) / f"{build_name}.v"))
        return verilog.ns


class _Clocks(LiteXModule):
    """Clock and reset from the harness; the engine's own clock too, when it has one."""

    def __init__(self, pads, engine: str) -> None:
        # LiteX drives this one from the SoC controller's reset bit.
        self.rst = Signal()
        reset = Signal()
        self.comb += reset.eq(pads.reset | self.rst)
        for name, clk in {"sys": pads.sys, engine: pads.engine if engine != "sys" else pads.sys}.items():
            domain = ClockDomain(name)
            self.clock_domains += domain
            self.comb += domain.clk.eq(clk)
            self.specials += AsyncResetSynchronizer(domain, reset)


class SimSoC(HwSwapSoC):
    """CPU, engine and DRAM model."""

    def __init__(
        self, platform: ModelPlatform, cpu: str, rtl: Path, variant: str | None = None, own_clock: bool = False
    ):
        """Make the SoC.

        Args:
            platform: the simulation's.
            cpu: `vexriscv`, `rocket` or `rocket4`.
            rtl: folder with HwSwap.sv and engine.json.
            variant: of the CPU.
            own_clock: the engine has a clock of its own, whose ratio to sys is chosen when the simulation starts.
        """
        engine = "engine" if own_clock else "sys"
        trampoline = list(TRAMPOLINES.get(cpu, ()))
        with rocket4.known():
            super().__init__(
                platform,
                SYS_CLK_FREQ,
                cpu=cpu,
                variant=variant,
                rtl=rtl,
                engine_clock_domain=engine,
                integrated_rom_size=ROM_SIZE,
                integrated_rom_init=trampoline,
                uart_name="sim",
            )
        self.crg = _Clocks(platform.request("clocks"), engine)
        self.add_constant("HWSWAP_ENGINE_OWN_CLOCK", int(own_clock))
        self.add_system()

    def add_memory(self) -> None:
        """Main RAM is the DRAM model; a CPU without a memory port reaches it through LiteX's L2 cache, as boards do."""
        self.dram = DramModel(self.mem_map["main_ram"], RAM_SIZE)
        self.comb += self.dram.latency.eq(self.platform.request("dram").latency)
        self.bus.add_region("main_ram", SoCRegion(origin=self.mem_map["main_ram"], size=RAM_SIZE, mode="rwx"))
        if self.cpu.memory_buses:
            for number, bus in enumerate(self.cpu.memory_buses):
                self.comb += bus.connect(self.memory_port(f"cpu_memory{number}"))
            return
        cache = wishbone_cache(self)
        wide = axi.AXIInterface(data_width=128, address_width=32, id_width=4)
        self.cache_axi = axi.Wishbone2AXI(cache, wide)
        self.cache_width = axi.AXIDownConverter(wide, self.memory_port("cpu_cache"))

    def memory_port(self, name: str) -> axi.AXIInterface:
        """A port of the DRAM model."""
        return self.dram.new_port()
