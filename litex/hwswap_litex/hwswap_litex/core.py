# SPDX-License-Identifier: Apache-2.0
"""The engine's Verilog wrapped as a LiteX core.

A SoC makes three connections: registers (`bus`, 64-bit AXI4-Lite), memory (`dma`, 64-bit AXI4), the interrupt (`ev`).
"""

import json
from dataclasses import dataclass, field
from pathlib import Path

import hwswap_map
from litex.gen import LiteXModule
from litex.soc.interconnect import axi, stream
from migen import ClockSignal, Instance, Module, ResetSignal, Signal
from migen.genlib.cdc import MultiReg


class InputError(RuntimeError):
    """A file or parameter that cannot be used; the message names it and the remedy."""


@dataclass(frozen=True)
class EngineInfo:
    """The parameters of one engine's Verilog: engine.json, written beside HwSwap.sv by `sim/setup/build rtl-soc`.

    Attributes:
        devices: swap devices.
        cpus: CPUs with a register page and grants of their own.
        clusters: clusters, 2 MiB of swap each.
        build_hash: the value of register BUILD, 16 hexadecimal digits.
        profile: the name of all this in constraints/profiles.toml.
        without: the parts that the engine lacks, by the --no- options of hwswap.Emit.
        added: the parts that it has beyond the default, by the options of hwswap.Emit.
    """

    devices: int
    cpus: int
    clusters: int
    build_hash: str
    profile: str
    without: list[str]
    added: list[str] = field(default_factory=list)

    @classmethod
    def load(cls, rtl: Path) -> "EngineInfo":
        """Read `rtl`/engine.json.

        Args:
            rtl: folder that holds HwSwap.sv and engine.json.
        """
        path = Path(rtl) / "engine.json"
        try:
            return cls(**json.loads(path.read_text()))
        except OSError as error:
            raise InputError(f"{path} cannot be read: build the engine with 'sim/setup/build rtl-soc'") from error
        except (TypeError, ValueError) as error:
            raise InputError(f"{path} is not an engine description: build it with 'sim/setup/build rtl-soc'") from error


class LevelInterrupt(Module):
    """An interrupt line with the one thing LiteX's `irq.add` needs, and no registers.

    The engine has interrupt status and enable registers of its own (IRQ_STATUS, IRQ_ENABLE). LiteX's EventManager would
    put a second mask after them, which every driver would have to know.

    Attributes:
        irq: 1 while the engine asks for attention, in clock domain sys.
    """

    def __init__(self) -> None:
        """Make the line, low."""
        self.irq = Signal()


class AxiCrossing(LiteXModule):
    """Carries the five channels of an AXI4 bus from one clock domain to another, through LiteX's asynchronous FIFOs."""

    def __init__(self, master: axi.AXIInterface, slave: axi.AXIInterface, cd_from: str, cd_to: str, depth: int = 16):
        """Connect `master` (in `cd_from`) to `slave` (in `cd_to`).

        Args:
            master: the side requests come from.
            slave: the side requests go to.
            cd_from: clock domain of `master`.
            cd_to: clock domain of `slave`.
            depth: beats a FIFO holds; 16 take one whole burst of the engine.
        """
        for name, source, sink, source_cd, sink_cd in (
            ("aw", master.aw, slave.aw, cd_from, cd_to),
            ("w", master.w, slave.w, cd_from, cd_to),
            ("b", slave.b, master.b, cd_to, cd_from),
            ("ar", master.ar, slave.ar, cd_from, cd_to),
            ("r", slave.r, master.r, cd_to, cd_from),
        ):
            crossing = stream.ClockDomainCrossing(source.description, source_cd, sink_cd, depth=depth)
            self.add_module(name=f"{name}_crossing", module=crossing)
            self.comb += [source.connect(crossing.sink), crossing.source.connect(sink)]


class HwSwap(LiteXModule):
    """The swap allocator engine.

    Attributes:
        bus: registers, 64-bit AXI4-Lite slave, `region_size` bytes, never to be cached. Honours byte strobes.
        dma: memory, 64-bit AXI4 master with 64-bit addresses, 4-bit ids, INCR bursts of at most 16 beats that stay
            inside of 4 KiB. Addresses come from software: the slave has to refuse those that are not its own.
        ev: the interrupt, a level; `irq.add("<name of the core in the SoC>")` connects it.
        idle: nothing is under way (in the engine's clock domain).
        info: the engine's parameters.
        region_size: bytes of the registers.
    """

    region_size = hwswap_map.BAR_SIZE

    def __init__(self, platform, rtl: Path, clock_domain: str = "sys") -> None:
        """Add the engine's source to `platform` and make the core.

        Args:
            platform: the LiteX platform.
            rtl: folder that holds HwSwap.sv and engine.json, which has its sizes.
            clock_domain: the engine's own; all ports of this core stay in sys.
        """
        source = Path(rtl) / "HwSwap.sv"
        if not source.is_file():
            raise InputError(f"{source} does not exist: build the engine with 'sim/setup/build rtl-soc'")
        self.info = EngineInfo.load(rtl)
        self.bus = axi.AXILiteInterface(data_width=64, address_width=32)
        self.dma = axi.AXIInterface(data_width=64, address_width=64, id_width=4)
        self.ev = LevelInterrupt()
        self.idle = Signal()

        bus, dma = self.bus, self.dma
        irq = self.ev.irq
        if clock_domain != "sys":
            bus = axi.AXILiteInterface(data_width=64, address_width=32, clock_domain=clock_domain)
            dma = axi.AXIInterface(data_width=64, address_width=64, id_width=4, clock_domain=clock_domain)
            irq = Signal()
            self.bus_crossing = axi.AXILiteClockDomainCrossing(self.bus, bus, cd_from="sys", cd_to=clock_domain)
            self.dma_crossing = AxiCrossing(dma, self.dma, cd_from=clock_domain, cd_to="sys")
            self.specials += MultiReg(irq, self.ev.irq)

        platform.add_source(str(source))
        self.specials += Instance("HwSwap", name="hwswap_engine", **self._ports(bus, dma, irq, clock_domain))

    def _ports(self, bus: axi.AXILiteInterface, dma: axi.AXIInterface, irq: Signal, clock_domain: str) -> dict:
        """The connections of the Verilog module, by LiteX's naming (i_ and o_)."""
        ports = {
            "i_clock": ClockSignal(clock_domain),
            "i_reset": ResetSignal(clock_domain),
            "o_irq": irq,
            "o_idle": self.idle,
            # Protection bits: the engine takes accesses of every kind.
            "i_s_axil_awprot": 0,
            "i_s_axil_arprot": 0,
        }
        registers = {"aw": "addr", "w": "data strb", "b": "resp", "ar": "addr", "r": "data resp"}
        for name, fields in registers.items():
            ports |= _channel(f"s_axil_{name}", getattr(bus, name), "o" if name in "br" else "i", fields)
        for name in ("aw", "ar"):
            ports[f"i_s_axil_{name}addr"] = getattr(bus, name).addr[:17]
        address = "addr id len size burst lock cache prot"
        memory = {"aw": address, "w": "data strb last", "b": "id resp", "ar": address, "r": "id data resp last"}
        for name, fields in memory.items():
            ports |= _channel(f"m_axi_{name}", getattr(dma, name), "i" if name in "br" else "o", fields)
        return ports


def _channel(prefix: str, channel, valid: str, fields: str) -> dict:
    """The ports of one AXI channel; `valid` is "i" or "o", the direction of valid and of the fields."""
    ready = {"i": "o", "o": "i"}[valid]
    ports = {f"{valid}_{prefix}{name}": getattr(channel, name) for name in fields.split()}
    return ports | {f"{valid}_{prefix}valid": channel.valid, f"{ready}_{prefix}ready": channel.ready}
