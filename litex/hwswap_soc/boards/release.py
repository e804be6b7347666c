# SPDX-License-Identifier: Apache-2.0
"""Puts what a board needs into one archive, for somebody who has a board and no FPGA tools; and looks at such archives.

hwswap soc release make --board ecpix5 --cpu rocket
hwswap soc release check build/release/*.tar.xz

An archive has one folder of its own name. The same files make the same archive, byte for byte.
"""

import argparse
import hashlib
import io
import json
import lzma
import shlex
import tarfile
from collections.abc import Mapping
from pathlib import Path

from hwswap.project import provenance
from hwswap.project.paths import BUILD, ROOT
from hwswap_litex import EngineInfo, InputError

from hwswap_soc.boards import boards, capacity, flash, release_check
from hwswap_soc.linux import card_image
from hwswap_soc.linux.linux_image import read

OUTPUT = BUILD / "release"
"""Where archives go."""

CARD = "card.img"
"""The image of a card in a folder that linux_image and card_image have filled."""

BITSTREAM = ("hwswap.bit", "hwswap.svf")
"""What the FPGA is loaded with; hwswap.dfu too where the board's boot loader takes that."""

FACTS = ("timing.json", "soc.json", "csr.json")
"""What was exported with the bitstream."""


def _bitstream(board: str, cpu: str, folder: Path, build: Path) -> dict[str, bytes]:
    """The bitstream, what it was made with, and the engine's Verilog: that of its profile in the folder of builds."""
    cure = f"make it with 'make bitstream BOARD={board} CPU={cpu}'"
    files = {"engine/engine.json": read(folder / "engine.json", cure)}
    engine = build / f"part-board-{EngineInfo.load(folder).profile}"
    # Not build/rtl-board: that is of the sources as they are now.
    if read(engine / "engine.json", cure) != files["engine/engine.json"]:
        raise InputError(f"{engine} is not the engine in {folder}: {cure}")
    files["engine/HwSwap.sv"] = read(engine / "HwSwap.sv", cure)
    names = [*BITSTREAM, *(["hwswap.dfu"] if boards.BOARDS[board].dfu else []), *FACTS]
    return files | {f"bitstream/{name}": read(folder / name, cure) for name in names}


def _linux(board: str, folder: Path, kernel: Path) -> dict[str, bytes]:
    """Linux: what the board's loader reads, the card's image, and what the kernel was built from."""
    cure = f"make it with 'make linux-card BOARD={board}'"
    files = {f"linux/{name}": content for name, content in card_image.boot_files(folder).items()}
    files["linux/hwswap.dts"] = read(folder / "hwswap.dts", cure)
    image = folder / CARD
    if not image.is_file():
        raise InputError(f"{image} is missing: {cure}")
    packed = io.BytesIO()
    with lzma.open(packed, "wb", preset=6) as target, image.open("rb") as source:
        while block := source.read(1 << 20):
            target.write(block)
    files["card.img.xz"] = packed.getvalue()
    files["linux/source/kernel.config"] = read(kernel / "config", "make it with 'sim/setup/build kernel-riscv'")
    for patch in sorted((ROOT / "sw/driver/patches").glob("*.patch")):
        files[f"linux/source/patches/{patch.name}"] = patch.read_bytes()
    for folder_name, pattern in (("sw/driver/module", "*"), ("litex/linux/init", "*.[ch]"), ("hw/generated", "*.h")):
        for path in sorted((ROOT / folder_name).glob(pattern)):
            if path.is_file():
                files[f"linux/source/{Path(folder_name).name}/{path.name}"] = path.read_bytes()
    return files


_README = """# {name}

The hwswap SoC with a {cpu} CPU for the {title}, as a bitstream.

Check what you have: `sha256sum --check SHA256SUMS`.

Load the bitstream: `{flash}`.

{more}

MANIFEST.json says what this was made from, LICENSES.md under which terms.
"""
_NO_LINUX = "Linux wants a Rocket CPU and 64 MiB of RAM, so there is none here; LiteX's BIOS is on the serial port."
_CARD = """Write the card (what it holds is lost; /dev/sdX is the card's, see `lsblk`):
`xz -dc card.img.xz | sudo dd of=/dev/sdX bs=4M conv=fsync status=progress`.

Put the card in, connect the serial port (115,200 baud) and reset the board. Linux boots, swaps and
measures in each mode that its engine can do, and stops the machine."""

_LICENCES = """# Licences

| what | licence | of |
|---|---|---|
| engine/, bitstream/: the engine and the SoC's own parts | Apache-2.0 | hwswap |
| bitstream/: LiteX, LiteDRAM, LiteSDCard, LiteX's BIOS | BSD-2-Clause | Enjoy-Digital and others |
| bitstream/: Rocket or VexRiscv | Apache-2.0 and BSD-3-Clause; MIT | SiFive, UC Regents; SpinalHDL |
"""
_LINUX_LICENCES = """| linux/Image, hwswap.ko in linux/initramfs.cpio | GPL-2.0-only | Linux, hwswap |
| linux/initramfs.cpio: init | Apache-2.0; nolibc: MIT or LGPL-2.1 | hwswap, Linux |
| linux/fw_jump.bin: OpenSBI | BSD-2-Clause | Western Digital and others |

The kernel is Linux 7.3.4 (kernel.org; Debian's package linux-source-7.3) with the patches in
linux/source/patches and the configuration linux/source/kernel.config; the modules' source is in
linux/source/module.
"""


def _readme(board: str, cpu: str, name: str, linux: bool) -> bytes:
    """What to do with the archive."""
    path = Path("bitstream/hwswap.dfu" if boards.BOARDS[board].dfu else "bitstream/hwswap.bit")
    command = shlex.join(flash.command(board, path, volatile=False))
    more = _CARD if linux else _NO_LINUX
    return _README.format(name=name, cpu=cpu, title=boards.BOARDS[board].title, flash=command, more=more).encode()


def collect(board: str, cpu: str, build: Path, version: str) -> dict[str, bytes]:
    """All files of an archive by name, MANIFEST.json and SHA256SUMS included.

    Args:
        board: name of the board.
        cpu: name of the CPU.
        build: folder of what was built.
        version: of the release.
    """
    boards.choose(board, cpu)
    linux = cpu == "rocket"
    folder = build / f"bitstream-{board}-{cpu}"
    files = _bitstream(board, cpu, folder, build)
    if linux:
        files |= _linux(board, build / f"linux-{board}", build / "kernel-riscv")
    name = archive_name(board, cpu, version)
    files["README.md"] = _readme(board, cpu, name, linux)
    licences = f"{_LICENCES}{_LINUX_LICENCES if linux else ''}\nThe texts are in LICENSES/.\n"
    files["LICENSES.md"] = licences.encode()
    files |= {f"LICENSES/{path.name}": path.read_bytes() for path in sorted((ROOT / "LICENSES").iterdir())}
    timing = release_check.timing(files["bitstream/timing.json"], f"{folder}/timing.json")
    manifest = {
        "name": name,
        "version": version,
        "board": board,
        "cpu": cpu,
        "commit": provenance.commit(),
        "patches": provenance.patches() if linux else None,
        "engine": json.loads(files["engine/engine.json"]),
        "tools": timing["tools"],
        "clocks_mhz": timing["seeds"][str(timing["seed"])]["clocks"],
        "utilisation": timing["utilisation"]["total"],
        "files": {path: {"bytes": len(content), "sha256": _sum(content)} for path, content in sorted(files.items())},
    }
    files["MANIFEST.json"] = (json.dumps(manifest, indent=2) + "\n").encode()
    files["SHA256SUMS"] = "".join(f"{_sum(content)}  {path}\n" for path, content in sorted(files.items())).encode()
    return files


def _sum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def archive_name(board: str, cpu: str, version: str) -> str:
    """An archive's name, without its suffix, and that of the folder in it."""
    return f"hwswap-{version}-{board}-{cpu}"


def pack(files: Mapping[str, bytes], name: str, output: Path) -> Path:
    """Writes an archive that depends on nothing but the files; returns its path.

    Args:
        files: content by name.
        name: of the archive and of its folder.
        output: folder to write to.
    """
    output.mkdir(parents=True, exist_ok=True)
    path = output / f"{name}{release_check.SUFFIX}"
    part = path.with_name(path.name + ".part")
    try:
        with tarfile.open(part, "w:xz", format=tarfile.USTAR_FORMAT, preset=6) as archive:
            for inside, content in sorted(files.items()):
                entry = tarfile.TarInfo(f"{name}/{inside}")
                entry.size, entry.mode = len(content), 0o644
                archive.addfile(entry, io.BytesIO(content))
        part.rename(path)
    finally:
        part.unlink(missing_ok=True)
    return path


def make(board: str, cpu: str, build: Path, version: str, output: Path) -> Path:
    """Makes and checks the archive of one board; returns its path.

    Args:
        board: name of the board.
        cpu: name of the CPU.
        build: folder of what was built.
        version: of the release.
        output: folder to write to.
    """
    if not version or not set(version) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_+"):
        raise InputError(
            f"the version '{version}' cannot be part of a file's name: use letters, digits, '.', '-' and '_'"
        )
    path = pack(collect(board, cpu, build, version), archive_name(board, cpu, version), output)
    try:
        release_check.check(path)
    except InputError:
        path.unlink()
        raise
    return path


def made(build: Path) -> list[tuple[str, str]]:
    """Boards and CPUs that have a bitstream in a folder."""
    return [(board, cpu) for board, cpu in capacity.pairs() if (build / f"bitstream-{board}-{cpu}").is_dir()]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's own arguments."""
    parser.add_argument("--board", help="one board; all that have a bitstream when left out")
    parser.add_argument("--cpu", help="one CPU")
    parser.add_argument("--version", default=provenance.commit(), help="of the release; the commit when left out")
    parser.add_argument("--build", type=Path, default=BUILD, metavar="DIR", help="what was built")


def run(options: argparse.Namespace) -> int:
    """Makes archives; returns the exit status."""
    if bool(options.board) != bool(options.cpu):
        raise InputError("--board and --cpu go together")
    pairs = [(options.board, options.cpu)] if options.board else made(options.build)
    if not pairs:
        raise InputError(f"there is no bitstream in {options.build}: make some with 'make bitstream'")
    for board, cpu in pairs:
        path = make(board, cpu, options.build, options.version, options.output)
        print(f"release: {path}, {path.stat().st_size / 1e6:.1f} MB")
    return 0
