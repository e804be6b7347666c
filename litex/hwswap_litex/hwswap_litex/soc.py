# SPDX-License-Identifier: Apache-2.0
"""The engine put into a LiteX SoC: registers on its bus, interrupt, and a way into memory."""

from collections.abc import Callable
from pathlib import Path

from litedram.frontend.axi import LiteDRAMAXI2Native
from litex.soc.integration.soc import LiteXSoC, SoCRegion
from litex.soc.interconnect import axi

from hwswap_litex.address_guard import AddressGuard
from hwswap_litex.core import HwSwap
from hwswap_litex.lanes import AxiLanes


class LiteDramPorts:
    """A base of SoCs whose main RAM is LiteDRAM's (`add_sdram`): ports of it for bus masters."""

    def memory_port(self, name: str) -> axi.AXIInterface:
        """Add a port: an AXI4 slave, 64 data bits, 32-bit bus addresses, 4-bit ids, bursts.

        Narrower controllers are reached by LiteDRAM's own conversion, wider ones by AxiLanes.

        Args:
            name: the purpose of the port, unique in the SoC.
        """
        bus = slave = axi.AXIInterface(data_width=64, address_width=32, id_width=4)
        port = self.sdram.crossbar.get_port(data_width=max(64, self.sdram.crossbar.controller.data_width))
        if port.data_width > 64:
            slave = axi.AXIInterface(data_width=port.data_width, address_width=32, id_width=4)
            self.add_module(name=f"{name}_lanes", module=AxiLanes(bus, slave))
        bridge = LiteDRAMAXI2Native(slave, port, base_address=self.bus.regions["main_ram"].origin)
        self.add_module(name=f"{name}_bridge", module=bridge)
        return bus


def add_hwswap(
    soc: LiteXSoC,
    rtl: Path,
    origin: int | None = None,
    *,
    name: str = "hwswap",
    memory_port: Callable[[str], axi.AXIInterface] | None = None,
    clock_domain: str = "sys",
) -> HwSwap:
    """Add the engine to a SoC, with all of its connections.

    Args:
        soc: the SoC; has its CPU and memory (region `main_ram`) already.
        rtl: folder with HwSwap.sv and engine.json: `prebuilt()`, or of your own.
        origin: address of the registers, where the CPU does not cache; LiteX finds one when None.
        name: of the engine in the SoC.
        memory_port: makes the engine's port to memory, an AXI4 slave as LiteDramPorts has it, given a name;
            a port of the SoC's LiteDRAM when None.
        clock_domain: the engine's own; the SoC makes it unless it is sys.

    Returns:
        The engine, which is in the SoC under `name`.
    """
    engine = HwSwap(soc.platform, rtl, clock_domain)
    soc.add_module(name=name, module=engine)
    soc.bus.add_slave(name, engine.bus, SoCRegion(origin=origin, size=HwSwap.region_size, cached=False))
    if soc.irq.enabled:
        soc.irq.add(name, use_loc_if_exists=True)
    dma = memory_port(f"{name}_dma") if memory_port else LiteDramPorts.memory_port(soc, f"{name}_dma")
    # The guard answers addresses outside RAM with an error: the engine's addresses come from software.
    ram = soc.bus.regions["main_ram"]
    soc.add_module(name=f"{name}_guard", module=AddressGuard(engine.dma, dma, ram.origin, ram.size))
    return engine
