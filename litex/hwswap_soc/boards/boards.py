# SPDX-License-Identifier: Apache-2.0
"""The SoCs for boards: the shared system of soc.py with a board's own clocks, memory, serial port and SD card.

Platforms, clock generators and memory set-up are those of LiteX-Boards.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from hwswap_litex import InputError
from litedram import modules
from litedram.phy import ECP5DDRPHY, GENSDRPHY
from litex.build.generic_platform import IOStandard, Misc, Pins, Subsignal
from litex_boards.platforms import gsd_orangecrab, lambdaconcept_ecpix5, radiona_ulx3s
from litex_boards.targets import gsd_orangecrab as orangecrab_target
from litex_boards.targets import lambdaconcept_ecpix5 as ecpix5_target
from litex_boards.targets import radiona_ulx3s as ulx3s_target
from migen import Record

from hwswap_soc.boards import constraints
from hwswap_soc.system import cpu
from hwswap_soc.system.soc import HwSwapSoC, LiteDramMemory

# The window onto main RAM ends where the engine's registers begin, so a CPU with a window sees no more RAM than that.
_WINDOW_LIMIT = cpu.PROFILES["vexriscv"].registers - cpu.PROFILES["vexriscv"].window


class BoardSoC(LiteDramMemory, HwSwapSoC):
    """A board's SoC: BIOS in ROM, memory controller, serial port, SD card, and the engine.

    Attributes:
        board: the board it is for.
    """

    def __init__(self, board: "Board", cpu_name: str, rtl: Path, sys_mhz: float) -> None:
        """Make the whole SoC.

        Args:
            board: the board.
            cpu_name: `vexriscv` or `rocket`.
            rtl: folder with HwSwap.sv and engine.json.
            sys_mhz: frequency of clock domain sys, MHz.
        """
        self.board = board
        platform = board.platform()
        platform.add_extension(board.extension)
        super().__init__(
            platform,
            sys_mhz * 1e6,
            cpu=cpu_name,
            rtl=rtl,
            ident=f"hwswap on {board.title}",
            # LiteX shrinks it to the size of the BIOS.
            integrated_rom_size=0x2_0000,
            integrated_sram_size=0x2000,
        )
        self.crg = board.crg(platform, sys_mhz * 1e6)
        self.add_system()
        # The BIOS boots Linux from the card, and never writes to it.
        self.add_sdcard(mode="read")

    def add_memory(self) -> None:
        """Make main RAM as the board's target in LiteX-Boards does."""
        self.board.memory(self)

    def add_sdram(self, *args, **kwargs) -> None:
        """LiteX's, with no more RAM than the window can show."""
        size = None if self.profile.window is None else _WINDOW_LIMIT
        super().add_sdram(*args, size=size, **kwargs)


def _ddr3(soc: BoardSoC, module: Callable, **phy_options) -> Record:
    """DDR3 memory at twice the SoC's clock; the PHY stops and resets the clock divider while it starts.

    Args:
        soc: the SoC.
        module: LiteDRAM's description of the memory chip.
        phy_options: for the PHY.

    Returns:
        The memory's pins.
    """
    pads = soc.platform.request("ddram")
    soc.ddrphy = ECP5DDRPHY(pads, sys_clk_freq=soc.sys_clk_freq, **phy_options)
    soc.comb += [soc.crg.stop.eq(soc.ddrphy.init.stop), soc.crg.reset.eq(soc.ddrphy.init.reset)]
    soc.add_litedram(soc.ddrphy, module(soc.sys_clk_freq, "1:2"))
    return pads


def _ecpix5_memory(soc: BoardSoC) -> None:
    """512 MiB of DDR3."""
    _ddr3(soc, modules.MT41K256M16)


def _orangecrab_memory(soc: BoardSoC) -> None:
    """128 MiB of DDR3, whose two byte lanes have their mask pins exchanged; spare pins of the bank are supplies."""
    delay = 0 if soc.sys_clk_freq > 64e6 else 100
    pads = _ddr3(soc, modules.MT41K64M16, dm_remapping={0: 1, 1: 0}, cmd_delay=delay)
    soc.ddrphy.settings.rtt_nom = "disabled"
    soc.comb += [pads.vccio.eq(0b111111), pads.gnd.eq(0)]


def _ulx3s_memory(soc: BoardSoC) -> None:
    """32 MiB of single data rate memory at the SoC's clock.

    The bus has a register in front of the L2 cache, without which all masters wait for the comparison with its tags
    within the cycle; and the cache is small enough for LUT RAM, because at grade 6 a block RAM takes more than 5 ns
    until it shows the word read, and of so few lines that the comparison needs no tree of multiplexers.
    """
    soc.sdrphy = GENSDRPHY(soc.platform.request("sdram"), soc.sys_clk_freq)
    soc.add_litedram(soc.sdrphy, modules.MT48LC16M16(soc.sys_clk_freq, "1:1"), l2_cache_size=512, bus_register=True)


@dataclass(frozen=True)
class Board:
    """One board.

    Attributes:
        name: the value of BOARD=.
        title: the name that people use.
        platform: makes the LiteX platform.
        crg: LiteX-Boards' clock generator, called with the platform and the frequency of sys in Hz.
        memory: adds main RAM to a SoC.
        extension: pins that the platform lacks.
        no_cpu: CPUs it cannot have, each with the reason, a sentence.
        router: of nextpnr, with a VexRiscv. Its default, router1, is the better one for timing: the OrangeCrab's 60 MHz
            need it. router2 ends in a quarter of the time, and where most wires are critical.
        lut_ram: memories of the SoC, by their names in Verilog, that go into LUT RAM against Yosys's choice.
        loader: openFPGALoader's name of the board; None where its USB boot loader is used.
        dfu: vendor and product of that boot loader.
    """

    name: str
    title: str
    platform: Callable
    crg: Callable
    memory: Callable[[BoardSoC], None]
    extension: tuple = ()
    no_cpu: dict[str, str] = field(default_factory=dict)
    router: str = "router1"
    lut_ram: tuple[str, ...] = ()
    loader: str | None = None
    dfu: tuple[str, str] | None = None


BOARDS = {
    board.name: board
    for board in (
        Board(
            "ecpix5",
            "ECPIX-5 85F",
            partial(lambdaconcept_ecpix5.Platform, device="85F"),
            ecpix5_target._CRG,
            _ecpix5_memory,
            loader="ecpix5",
        ),
        Board(
            "orangecrab",
            "OrangeCrab 85F",
            partial(gsd_orangecrab.Platform, revision="0.2", device="85F"),
            orangecrab_target._CRGSDRAM,
            _orangecrab_memory,
            # The board's USB goes straight to the FPGA. These are the pins that the Feather form factor gives to a
            # serial port (3.3 V; header pins 0/RX and 1/TX, a USB-serial adapter goes there).
            extension=(
                (
                    "serial",
                    0,
                    Subsignal("rx", Pins("N17"), IOStandard("LVCMOS33"), Misc("PULLMODE=UP")),
                    Subsignal("tx", Pins("M18"), IOStandard("LVCMOS33")),
                ),
            ),
            dfu=("1209", "5af0"),
        ),
        Board(
            "ulx3s",
            "ULX3S 85F",
            partial(radiona_ulx3s.Platform, device="LFE5U-85F", revision="2.0"),
            ulx3s_target._CRG,
            _ulx3s_memory,
            no_cpu={"rocket": "the ULX3S has 32 MB of RAM, too little for Rocket: use CPU=vexriscv or another board"},
            router="router2",
            lut_ram=("tag_mem",),
            loader="ulx3s",
        ),
    )
}


def choose(board: str, cpu_name: str) -> Board:
    """Find a board by name and make sure that it can have a CPU.

    Args:
        board: name of the board.
        cpu_name: name of the CPU.
    """
    if board not in BOARDS:
        raise InputError(f"board '{board}' is not known: choose one of {', '.join(BOARDS)}")
    if cpu_name not in cpu.PROFILES:
        raise InputError(f"CPU '{cpu_name}' is not known: choose one of {', '.join(cpu.PROFILES)}")
    found = BOARDS[board]
    if cpu_name in found.no_cpu:
        raise InputError(found.no_cpu[cpu_name])
    return found


def pairs() -> list[tuple[str, str]]:
    """The boards, each with the CPUs it can have."""
    return [(board.name, name) for board in BOARDS.values() for name in cpu.PROFILES if name not in board.no_cpu]


def make(board: str, cpu_name: str, rtl: Path) -> BoardSoC:
    """The SoC of a board with a CPU, at the clock constraints/clocks.toml gives it.

    Args:
        board: name of the board.
        cpu_name: name of the CPU.
        rtl: folder with HwSwap.sv and engine.json.
    """
    found = choose(board, cpu_name)
    sys_mhz, _ = constraints.clocks(board, cpu_name)
    return BoardSoC(found, cpu_name, rtl, sys_mhz)
