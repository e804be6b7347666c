# SPDX-License-Identifier: Apache-2.0
"""The common part of all SoCs with the engine, on boards and in simulation.

A concrete SoC derives from HwSwapSoC, makes its clocks, says how its memory is made (`add_memory`) and how a bus master
reaches it (`memory_port`), and calls `add_system`:

    class MySoC(LiteDramMemory, HwSwapSoC):
        def __init__(self, ...):
            super().__init__(platform, sys_clk_freq, cpu="vexriscv", rtl=Path("build/rtl-soc"))
            self.crg = ...
            self.add_system()

        def add_memory(self):
            self.ddrphy = ...
            self.add_litedram(self.ddrphy, module)
"""

from pathlib import Path

from hwswap_litex import HwSwap, InputError, LiteDramPorts, add_hwswap
from litex.soc.integration.soc import SoCRegion
from litex.soc.integration.soc_core import SoCCore
from litex.soc.interconnect import axi, wishbone

from hwswap_soc.system import cpu as cpus
from hwswap_soc.system.bus_register import WishboneRegister


class HwSwapSoC(SoCCore):
    """A CPU, the engine's registers, interrupt and DMA, and where the DMA is not coherent an uncached window onto RAM.

    Attributes:
        hwswap: the engine.
        profile: the differences between CPUs.
    """

    def __init__(
        self,
        platform,
        sys_clk_freq: float,
        *,
        cpu: str,
        rtl: Path,
        variant: str | None = None,
        engine_clock_domain: str = "sys",
        **kwargs,
    ) -> None:
        """Make CPU, bus, timer and UART.

        Args:
            platform: the LiteX platform.
            sys_clk_freq: frequency of clock domain sys, Hz.
            cpu: `vexriscv` or `rocket`.
            rtl: folder with HwSwap.sv and engine.json (`sim/setup/build rtl-soc`).
            variant: of the CPU; the profile's when None.
            engine_clock_domain: clock domain of the engine; the SoC makes it unless it is sys.
            kwargs: for LiteX's SoCCore.
        """
        if cpu not in cpus.PROFILES:
            raise InputError(f"CPU '{cpu}' is not known: choose one of {', '.join(cpus.PROFILES)}")
        cpus.install()
        self.profile = cpus.PROFILES[cpu]
        self._engine_source = (Path(rtl), engine_clock_domain)
        super().__init__(
            platform,
            sys_clk_freq,
            cpu_type=cpu,
            cpu_variant=variant or self.profile.variant,
            timer_uptime=True,
            **kwargs,
        )

    def add_memory(self) -> None:
        """Make main RAM: region `main_ram`, and the CPU's way to it."""
        raise NotImplementedError

    def memory_port(self, name: str) -> axi.AXIInterface:
        """A new port of main RAM: an AXI4 slave, 64 data bits, 32-bit bus addresses, 4-bit ids, bursts.

        Args:
            name: the purpose of the port, unique in the SoC.
        """
        raise NotImplementedError

    def add_system(self) -> None:
        """Add memory and engine, and connect them. To be called once, when the clock domains are there."""
        rtl, clock_domain = self._engine_source
        self.add_memory()
        add_hwswap(self, rtl, self.profile.registers, memory_port=self._engine_port, clock_domain=clock_domain)
        if self.profile.window is not None:
            self._add_window()
        self._add_constants(self.hwswap)

    def _engine_port(self, name: str) -> axi.AXIInterface:
        """Return the engine's port to memory: one of the memory's own, or the CPU's coherent one.

        Args:
            name: the purpose of the port, unique in the SoC.
        """
        if self.profile.window is not None:
            return self.memory_port(name)
        self._dma = axi.AXIInterface(data_width=64, address_width=32, id_width=4)
        return self._dma

    def finalize(self) -> None:
        """Connect the coherent DMA port, now that all of its users are known, and let LiteX finalize the rest."""
        if not self.finalized and hasattr(self, "hwswap") and hasattr(self.cpu, "connect_frontend"):
            masters = [self._dma]
            if self.dma_bus.masters:
                # LiteX's own DMA masters (an SD card's): on the Wishbone bus that LiteX made for them.
                masters.append(self.cpu.l2fb_axi)
            self.cpu.connect_frontend(masters)
        super().finalize()

    def _add_window(self) -> None:
        """Add a second view of main RAM that passes by all caches, for memory shared with the engine."""
        ram = self.bus.regions["main_ram"]
        narrow = axi.AXILiteInterface(data_width=32, address_width=32)
        wide = axi.AXILiteInterface(data_width=64, address_width=32)
        port = axi.AXIInterface(data_width=64, address_width=32, id_width=4)
        self.window_width = axi.AXILiteConverter(narrow, wide)
        self.window_axi = axi.AXILite2AXI(wide, port)
        # The window's addresses differ from those of the RAM in the upper bits only.
        self.window_remap = axi.AXIRemapper(port, self.memory_port("hwswap_window"), origin=ram.origin, size=ram.size)
        region = SoCRegion(origin=self.profile.window, size=ram.size, cached=False)
        self.bus.add_slave("hwswap_window", narrow, region)

    def _add_constants(self, engine: HwSwap) -> None:
        """Tell software, through LiteX's exports, the parameters of the engine."""
        info = engine.info
        self.add_constant("HWSWAP_DEVICES", info.devices)
        self.add_constant("HWSWAP_CPUS", info.cpus)
        self.add_constant("HWSWAP_CLUSTERS", info.clusters)
        # In two halves: LiteX writes constants as C numbers without suffix.
        self.add_constant("HWSWAP_BUILD_HASH_HI", int(info.build_hash, 16) >> 32)
        self.add_constant("HWSWAP_BUILD_HASH_LO", int(info.build_hash, 16) & 0xFFFF_FFFF)
        self.add_constant("HWSWAP_DMA_COHERENT", int(self.profile.window is None))


class LiteDramMemory(LiteDramPorts):
    """Main RAM by LiteDRAM: the memory half of a board's SoC, before HwSwapSoC in its list of bases."""

    def add_litedram(self, phy, module, l2_cache_size: int = 8192, bus_register: bool = False) -> None:
        """Add the controller and the CPU's way to it.

        Args:
            phy: LiteDRAM PHY.
            module: LiteDRAM module description.
            l2_cache_size: bytes of the cache between Wishbone and memory, for a CPU without a memory port of its own.
            bus_register: a register in front of that cache.
        """
        buses = list(self.cpu.memory_buses)
        # A memory port of the CPU's own is connected below: LiteX's width converter wants bursts of whole, aligned
        # controller words, and a coherent DMA write of eight bytes is none.
        self.add_sdram("sdram", phy=phy, module=module, l2_cache_size=l2_cache_size, with_soc_interconnect=not buses)
        if bus_register and not buses:
            cache = self.bus.slaves["main_ram"]
            self.bus.slaves["main_ram"] = side = wishbone.Interface(data_width=cache.data_width, addressing="word")
            self.main_ram_register = WishboneRegister(side, cache)
        if buses:
            size = 2 ** (module.geom_settings.bankbits + module.geom_settings.rowbits + module.geom_settings.colbits)
            size = size * phy.settings.nranks * phy.settings.databits // 8
            self.bus.add_region("main_ram", SoCRegion(origin=self.mem_map["main_ram"], size=size, mode="rwx"))
            for number, bus in enumerate(buses):
                self.comb += bus.connect(self.memory_port(f"cpu_memory{number}"))


def wishbone_cache(soc: SoCCore, size: int = 8192) -> wishbone.Interface:
    """Put LiteX's L2 cache on the bus as `main_ram`, as `add_sdram` does, and return its memory side, 128 bits wide.

    Args:
        soc: has region `main_ram` already.
        size: bytes.
    """
    cpu_side = wishbone.Interface(data_width=soc.bus.data_width, address_width=32, addressing="word")
    soc.bus.add_slave("main_ram", cpu_side)
    memory_side = wishbone.Interface(data_width=128, address_width=32, addressing="word")
    soc.l2_cache = wishbone.Cache(cachesize=size // 4, master=cpu_side, slave=memory_side, reverse=False)
    soc.add_config("L2_SIZE", size)
    return memory_side
