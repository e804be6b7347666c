# SPDX-License-Identifier: Apache-2.0
"""Writes the device tree of a SoC with a Rocket CPU, from LiteX's exports and the engine's parameters."""

import json
import re
import subprocess
from pathlib import Path
from string import Template
from typing import Any, Literal

from hwswap.project.paths import ROOT
from hwswap_litex import EngineInfo, InputError

Kind = Literal["board", "sim"]

TEMPLATE = ROOT / "litex/linux/dts/soc.dts.in"
"""The tree, with $names for parts that depend on the SoC, and the node of one CPU."""

CPU_NODE = re.compile(r"\t\tcpu@.*?\n\t\t};\n", re.DOTALL)

SIM_CLOCK_HZ = 100_000_000
"""The clock in a simulated SoC's tree: of a slow world, so that timer ticks take little of a simulation."""

CYCLES_PER_TICK = 100
"""CPU clock cycles from one count of Rocket's timer to the next."""

FIRMWARE = 0x8000_0000
"""The address at which OpenSBI (fw_jump.bin) is loaded and entered."""

KERNEL = 0x8020_0000
"""The address of the kernel's Image: fw_jump goes on there."""

INITRAMFS = 0x8300_0000
"""The address of the initramfs. OpenSBI moves the device tree to 0x82200000, between kernel and initramfs."""

DEVICE_TREE = 0x83F0_0000
"""The address of the device tree; it has at most 1 MiB."""

HARTS = {"rocket": 1, "rocket4": 4}
"""The number of harts of the CPUs that Linux runs on, by LiteX's names."""

BOOTARGS = "earlycon console=liteuart brd.rd_size=524288"
"""The console, and a RAM disk of 512 MiB: it takes memory only for data written, and grants of each order
may hold four of its 256 clusters."""


class Soc:
    """LiteX's description of a SoC: its csr.json."""

    def __init__(self, path: Path) -> None:
        """Read the file.

        Args:
            path: csr_json, written by LiteX's Builder.
        """
        self.path = path
        try:
            self.content = json.loads(path.read_text())
        except (OSError, ValueError) as error:
            raise InputError(f"{path} cannot be read: build the SoC it belongs to ({error})") from error

    def get(self, table: str, name: str) -> Any:
        """An entry of csr_bases, memories or constants."""
        try:
            return self.content[table][name]
        except (KeyError, TypeError) as error:
            raise InputError(
                f"{self.path} has no '{name}' in {table}: the device tree is for Rocket SoCs with the engine"
            ) from error

    def memory(self, name: str) -> tuple[str, str]:
        """Return address and size, in bytes, of a region, both in hexadecimal."""
        region = self.get("memories", name)
        return f"{region['base']:x}", f"{region['size']:x}"

    def interrupt(self, name: str) -> int:
        """Number of a core's interrupt at Rocket's interrupt controller, which counts from 1."""
        return int(self.get("constants", f"{name}_interrupt")) + 1


def _build_hash(soc: Soc, engine_json: Path) -> str:
    """The engine's build hash, 16 hexadecimal digits; stops when the SoC has another engine in it."""
    build_hash = EngineInfo.load(engine_json.parent).build_hash
    built = "".join(f"{int(soc.get('constants', f'hwswap_build_hash_{half}')):08x}" for half in ("hi", "lo"))
    if built != build_hash:
        raise InputError(
            f"{soc.path} is of engine {built}, not {build_hash}: build the SoC again with the present engine"
        )
    return build_hash


def _initrd(size: int | None) -> str:
    if not size:
        return ""
    lines = (f"start = <0x{INITRAMFS:x}>", f"end = <0x{INITRAMFS + size:x}>")
    return "".join(f"\t\tlinux,initrd-{line};\n" for line in lines)


def _template(harts: int) -> Template:
    """Return the tree with a node for each hart, and with the targets of timer and other interrupts."""

    def node(found: re.Match) -> str:
        return "\n".join(found[0].replace("$hart", str(hart)) for hart in range(harts))

    def to_each(*numbers: int) -> str:
        return ", ".join(f"<&hart{hart} {number}>" for hart in range(harts) for number in numbers)

    text = CPU_NODE.sub(node, TEMPLATE.read_text())
    return Template(text.replace("$timers", to_each(3, 7)).replace("$contexts", to_each(11, 9)))


def _text(soc: Soc, engine_json: Path, kind: Kind, bootargs: str, initramfs_size: int | None) -> str:
    """Return the tree, for the arguments of `write`."""
    cpu = soc.get("constants", "config_cpu_name")
    if cpu not in HARTS:
        raise InputError(f"{soc.path} is of a SoC with a {cpu}: Linux runs on Rocket here")
    clock = SIM_CLOCK_HZ if kind == "sim" else int(soc.get("constants", "config_clock_frequency"))
    ram_base, ram_size = soc.memory("main_ram")
    if int(ram_base, 16) != FIRMWARE or int(ram_size, 16) < DEVICE_TREE + (1 << 20) - FIRMWARE:
        raise InputError(f"{soc.path} has RAM at 0x{ram_base}, 0x{ram_size} bytes: Linux wants 64 MiB at 0x80000000")
    hwswap_base, hwswap_size = soc.memory("hwswap")
    platform = str(soc.get("constants", "config_platform_name")).replace("_", "-")
    return _template(HARTS[cpu]).substitute(
        platform=platform,
        model=f"hwswap on {platform}",
        bootargs=f"{BOOTARGS} {bootargs}".strip(),
        initrd=_initrd(initramfs_size),
        timebase_hz=clock // CYCLES_PER_TICK,
        cpu_hz=clock,
        ram_base=ram_base,
        ram_size=ram_size,
        clint_base=soc.memory("clint")[0],
        plic_base=soc.memory("plic")[0],
        ctrl_base=f"{soc.get('csr_bases', 'ctrl'):x}",
        uart_base=f"{soc.get('csr_bases', 'uart'):x}",
        uart_interrupt=soc.interrupt("uart"),
        hwswap_base=hwswap_base,
        hwswap_size=hwswap_size,
        hwswap_interrupt=soc.interrupt("hwswap"),
        build_hash=_build_hash(soc, engine_json),
    )


def write(
    soc_json: Path,
    engine_json: Path,
    kind: Kind,
    output: Path,
    *,
    bootargs: str = "",
    initramfs_size: int | None = None,
) -> None:
    """Write the tree as source and as the blob that OpenSBI and the kernel read.

    Args:
        soc_json: LiteX's export of the SoC (csr_json).
        engine_json: the engine's parameters.
        kind: `sim` has the clocks of a slow world, see SIM_CLOCK_HZ; `board` the SoC's own.
        output: blob to write; the source beside it ends in .dts.
        bootargs: appended to the kernel's command line.
        initramfs_size: bytes of the initramfs that is loaded at INITRAMFS; None when there is none.
    """
    dts = output.with_suffix(".dts")
    dts.write_text(_text(Soc(soc_json), engine_json, kind, bootargs, initramfs_size))
    command = ["dtc", "-q", "-I", "dts", "-O", "dtb", "-o", str(output), str(dts)]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise InputError("dtc is missing: install device-tree-compiler (make setup does)") from error
    except subprocess.CalledProcessError as error:
        raise InputError(f"dtc does not take {dts}: {error.stderr.strip()}") from error
