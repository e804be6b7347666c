# SPDX-License-Identifier: Apache-2.0
"""The memory of a Rocket SoC when Linux starts: OpenSBI, kernel, initramfs and device tree.

hwswap soc card --soc soc.json --engine engine.json --output DIR
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from hwswap.guest.initramfs import CONSOLE, archive
from hwswap.project.paths import BUILD
from hwswap_litex import EngineInfo, InputError

from hwswap_soc.linux import devicetree, linux_plan
from hwswap_soc.system.program import program

OPENSBI = BUILD / "fpga/opensbi/fw_jump.bin"
"""OpenSBI's fw_jump, as Debian builds it for every RISC-V machine (`sim/setup/build fpga`)."""

KERNEL = BUILD / "kernel-riscv/Image"
"""The patched kernel (`sim/setup/build kernel-riscv`)."""

INITRAMFS = BUILD / "initramfs-riscv/initramfs.cpio"
"""The initramfs with our init program and the driver (`sim/setup/build initramfs-riscv`)."""

START = 0x83FF_0000
"""The address a board's loader jumps to: it cannot pass the device tree's address, so a few instructions do."""

LIMITS = {
    devicetree.FIRMWARE: devicetree.KERNEL,
    # The address to which OpenSBI moves the device tree.
    devicetree.KERNEL: 0x8220_0000,
    devicetree.INITRAMFS: devicetree.DEVICE_TREE,
    devicetree.DEVICE_TREE: START,
}
"""Load address of each part, and where it has to end."""


def read(path: Path, cure: str) -> bytes:
    """The content of a file that has to be there.

    Args:
        path: the file.
        cure: the command that makes it.
    """
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): {cure}") from error


def fits(address: int, content: bytes) -> None:
    """Stop if the content for an address of LIMITS would overlap the part loaded after it."""
    room = LIMITS[address] - address
    if len(content) > room:
        raise InputError(
            f"what is loaded at 0x{address:x} has {len(content)} bytes, and there is room for {room}: make it smaller"
        )


def ram(parts: Mapping[int, bytes], output: Path) -> None:
    """Write the content of RAM, from FIRMWARE on; gaps are holes in the file.

    Args:
        parts: load address -> content; the addresses are those of LIMITS.
        output: the file.
    """
    with Path(output).open("wb") as stream:
        for address, content in sorted(parts.items()):
            fits(address, content)
            stream.seek(address - devicetree.FIRMWARE)
            stream.write(content)


def initramfs(init: Path, modules: Sequence[Path]) -> bytes:
    """The archive: our program as /init, and modules of the kernel beside it.

    Args:
        init: a static program.
        modules: the driver, and others; none for a kernel that is to swap in software only.
    """
    files: dict[str, tuple[int, bytes | str | tuple[int, int]]] = {
        "init": (0o755, init.read_bytes()),
        "dev/console": (0o600, CONSOLE),
    }
    files |= {module.name: (0o644, module.read_bytes()) for module in modules}
    # Unpacking costs a simulated CPU more than reading.
    return archive(files, compress=False)


def start() -> bytes:
    """The instructions at START: OpenSBI's arguments, and a jump to it, as in the ROM of the simulated SoC."""
    # Imported here: LiteX takes its time.
    from hwswap_soc.simulation.simsoc import TRAMPOLINES

    return b"".join(word.to_bytes(4, "little") for word in TRAMPOLINES["rocket"])


def card(soc_json: Path, engine_json: Path, output: Path, bootargs: str = "") -> None:
    """Write the files that a board's loader, LiteX's BIOS, reads from an SD card or is sent over the serial line.

    Args:
        soc_json: of the bitstream.
        engine_json: of the engine in the bitstream.
        output: folder.
        bootargs: appended to the kernel's command line, which has a plan for that engine already.
    """
    output.mkdir(parents=True, exist_ok=True)
    cure = "build it with 'sim/setup/build fpga kernel-riscv modules-riscv initramfs-riscv'"
    files = {
        "fw_jump.bin": (devicetree.FIRMWARE, read(OPENSBI, cure)),
        "Image": (devicetree.KERNEL, read(KERNEL, cure)),
        "initramfs.cpio": (devicetree.INITRAMFS, read(INITRAMFS, cure)),
    }
    size = len(files["initramfs.cpio"][1])
    tree = output / "hwswap.dtb"
    plan = linux_plan.bootargs(linux_plan.modes(EngineInfo.load(engine_json.parent)))
    bootargs = f"{plan} {bootargs}".strip()
    devicetree.write(soc_json, engine_json, "board", tree, bootargs=bootargs, initramfs_size=size)
    for name, (address, content) in files.items():
        fits(address, content)
        (output / name).write_bytes(content)
    (output / "start.bin").write_bytes(start())
    addresses = {name: address for name, (address, _) in files.items()}
    addresses |= {tree.name: devicetree.DEVICE_TREE, "start.bin": START}
    # The loader jumps to the last one.
    text = json.dumps({name: f"0x{address:08x}" for name, address in addresses.items()}, indent=4)
    (output / "boot.json").write_text(text + "\n")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the own arguments of the command that writes a board's boot images."""
    parser.add_argument("--soc", type=Path, required=True, help="soc.json, beside the bitstream")
    parser.add_argument("--engine", type=Path, required=True, help="engine.json, beside it")
    parser.add_argument("--bootargs", default="", help="appended to the kernel's command line (hwswap_NAME=VALUE)")


def run(options: argparse.Namespace) -> int:
    """Write the files; return the exit status."""
    card(options.soc, options.engine, options.output, options.bootargs)
    print(f"linux_image: what a board boots Linux from is in {options.output}; boot.json says what goes where")
    return 0


@program
def main() -> None:
    """Write the initramfs, for sim/setup/build."""
    parser = argparse.ArgumentParser(description="Write the initramfs.")
    parser.add_argument("--init", type=Path, required=True)
    parser.add_argument("--module", type=Path, action="append", default=[], help="hwswap.ko; may be given again")
    parser.add_argument("--output", type=Path, required=True, metavar="FILE")
    options = parser.parse_args()
    options.output.write_bytes(initramfs(options.init, options.module))


if __name__ == "__main__":
    raise SystemExit(main())
