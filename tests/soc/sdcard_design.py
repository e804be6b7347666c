# SPDX-License-Identifier: Apache-2.0
"""The SD card controller with its DMA, some RAM and a simulated card, as Verilog: a 32-bit Wishbone host and no CPU."""

import contextlib
import json
from pathlib import Path

from hwswap_soc.simulation.sdcard_model import add_simulated_sdcard
from hwswap_soc.simulation.simsoc import ModelPlatform
from litex.build.generic_platform import Pins
from litex.soc.integration.export import get_csr_json
from litex.soc.integration.soc_core import SoCMini
from litex.soc.interconnect import wishbone
from migen import ClockDomain, Module

TOP = "sdcard_design"
RAM = 0x4000_0000
RAM_SIZE = 1 << 15
CLOCK_HZ = 10e6
"""What time-outs are counted by: low, so that they take few cycles."""

DATA_TIMEOUT = 2e-3


class _Clocks(Module):
    def __init__(self, platform: ModelPlatform) -> None:
        self.clock_domains.cd_sys = ClockDomain("sys")
        pins = [platform.request(name) for name in ("host_clk", "host_rst")]
        self.comb += [self.cd_sys.clk.eq(pins[0]), self.cd_sys.rst.eq(pins[1])]


class SdCardDesign(SoCMini):
    """Host, bus, RAM, controller and card."""

    def __init__(self, platform: ModelPlatform) -> None:
        """Makes the design and its pins."""
        platform.add_extension([(name, 0, Pins(1)) for name in ("host_clk", "host_rst", "irq")])
        super().__init__(platform, CLOCK_HZ)
        self.submodules.crg = _Clocks(platform)
        self.add_ram("main_ram", RAM, RAM_SIZE)
        host = wishbone.Interface(data_width=32, address_width=32, addressing="word")
        self.bus.add_master("host", host)
        platform.add_extension(host.get_ios("host"))
        self.comb += host.connect_to_pads(platform.request("host"), mode="slave")
        add_simulated_sdcard(self, DATA_TIMEOUT)
        self.comb += platform.request("irq").eq(self.sdcard_irq.irq)


def emit(folder: Path) -> list[Path]:
    """Writes the design and its registers (csr.json) into `folder` and returns all sources."""
    folder.mkdir(parents=True, exist_ok=True)
    platform = ModelPlatform()
    design = SdCardDesign(platform)
    design.finalize()
    with contextlib.chdir(folder):
        platform.build(design.get_fragment(), str(folder), TOP)
    registers = json.loads(get_csr_json(design.csr_regions, design.constants, design.mem_regions))["csr_registers"]
    (folder / "csr.json").write_text(json.dumps({name: entry["addr"] for name, entry in registers.items()}))
    return [Path(source[0]) for source in platform.sources]
