# SPDX-License-Identifier: Apache-2.0
"""The LiteX core on a bus of LiteX's, as Verilog for a test bench: a 32-bit Wishbone host, the DMA port led outside."""

import contextlib
from pathlib import Path

from hwswap_litex import HwSwap
from hwswap_soc.simulation.simsoc import ModelPlatform
from litex.build.generic_platform import Pins
from litex.gen import LiteXModule
from litex.soc.integration.soc import SoCBusHandler, SoCRegion
from litex.soc.interconnect import wishbone
from migen import ClockDomain

TOP = "core_design"
REGISTERS = 0xB000_0000


class CoreDesign(LiteXModule):
    """Host, bus and core; the engine in its own clock domain if asked."""

    def __init__(self, platform: ModelPlatform, rtl: Path, own_clock: bool) -> None:
        """Makes the design and its pins."""
        platform.add_extension([(name, 0, Pins(1)) for name in ("host_clk", "engine_clk", "reset", "irq")])
        reset = platform.request("reset")
        for name in ("sys", "engine"):
            domain = ClockDomain(name)
            self.clock_domains += domain
            pin = platform.request({"sys": "host_clk", "engine": "engine_clk"}[name])
            self.comb += [domain.clk.eq(pin), domain.rst.eq(reset)]
        host = wishbone.Interface(data_width=32, address_width=32, addressing="word")
        self.core = HwSwap.from_build(platform, rtl, clock_domain="engine" if own_clock else "sys")
        self.bus = SoCBusHandler(standard="wishbone", data_width=32, address_width=32)
        self.bus.io_regions_check = False
        self.bus.add_master("host", host)
        self.bus.add_slave("hwswap", self.core.bus, SoCRegion(REGISTERS, HwSwap.region_size, cached=False))
        platform.add_extension(host.get_ios("host") + self.core.dma.get_ios("dma"))
        self.comb += host.connect_to_pads(platform.request("host"), mode="slave")
        self.comb += self.core.dma.connect_to_pads(platform.request("dma"), mode="master")
        self.comb += platform.request("irq").eq(self.core.ev.irq)


def emit(folder: Path, rtl: Path, own_clock: bool) -> list[Path]:
    """Writes the design into `folder` and returns all sources."""
    folder.mkdir(parents=True, exist_ok=True)
    platform = ModelPlatform()
    design = CoreDesign(platform, rtl, own_clock)
    design.bus.finalize()
    with contextlib.chdir(folder):
        platform.build(design.get_fragment(), str(folder), TOP)
    return [Path(source[0]) for source in platform.sources]
