# SPDX-License-Identifier: Apache-2.0
"""Makes the image of an SD card that a board boots Linux from.

hwswap soc card make --files DIR --output card.img

An image has one partition behind a master boot record: FAT32, with the files of a folder that linux_image has made.
Debian's own tools make it (sfdisk, mkfs.vfat, mcopy), without loop devices and without being root, and others look at
it (fsck.vfat, parted). The same files give the same image, byte for byte.
"""

import argparse
import hashlib
import json
import os
import struct
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hwswap_litex import InputError

SECTOR = 512
MIB = 1 << 20

BOOT_MIB = 64
"""Size of the boot partition: FAT32 has 65,525 clusters at least, of a sector each here."""

SMALLEST_BOOT_MIB = 34

LABEL = "HWSWAP"
"""Name of the FAT file system."""

_ENVIRONMENT = {
    # For users other than root, whose search path ends before these.
    "PATH": os.environ.get("PATH", "") + ":/usr/sbin:/sbin",
    "LC_ALL": "C",
    "TZ": "UTC",
    "SOURCE_DATE_EPOCH": "315532800",
    "MTOOLSRC": "/dev/null",
}


@dataclass(frozen=True)
class Partition:
    """A partition of an image.

    Attributes:
        start: byte it begins at.
        size: bytes.
    """

    start: int
    size: int


def _tool(*command: str | Path, given: str | None = None) -> str:
    """Runs a program; returns what it printed.

    Args:
        command: program and arguments.
        given: its standard input.
    """
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, input=given, env=_ENVIRONMENT, check=False, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise InputError(f"{words[0]} is missing: run 'make setup', which installs it") from error
    if done.returncode != 0:
        said = " ".join((done.stderr or done.stdout).split()) or "it said nothing"
        raise InputError(f"{words[0]} failed with status {done.returncode}: {said}")
    return done.stdout


def _boot_json(folder: Path) -> dict[str, str]:
    """The list of files in `folder` and where they are loaded."""
    path = folder / "boot.json"
    cure = "make the files with 'make linux-card'"
    try:
        listed = json.loads(path.read_text())
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): {cure}") from error
    except ValueError as error:
        raise InputError(f"{path} is no JSON: {cure}") from error
    if not isinstance(listed, dict) or not listed or not all(isinstance(name, str) for name in listed.values()):
        raise InputError(f"{path} is no list of files and addresses: {cure}")
    return listed


def _whole(path: Path, content: bytes) -> None:
    """Stops when a file is not what its name says, or not all of it."""
    wrong = None
    if not content:
        wrong = "is empty"
    elif path.name == "Image" and content[0x38:0x3C] != b"RSC\x05":
        wrong = "is no kernel for RISC-V"
    elif path.suffix == ".dtb" and (
        len(content) < 8 or struct.unpack(">II", content[:8]) != (0xD00DFEED, len(content))
    ):
        wrong = "is no device tree, or not all of one"
    elif path.suffix == ".cpio" and b"TRAILER!!!" not in content[-1024:]:
        wrong = "is no cpio archive, or not all of one"
    if wrong:
        raise InputError(f"{path} {wrong}: make the files again with 'make linux-card'")


def boot_files(folder: Path) -> dict[str, bytes]:
    """The files that a board's loader reads: boot.json and those it names.

    Args:
        folder: made by `linux_image card`.
    """
    listed = _boot_json(folder)
    files = {"boot.json": (folder / "boot.json").read_bytes()}
    for name in listed:
        path = folder / name
        try:
            files[name] = path.read_bytes()
        except OSError as error:
            raise InputError(f"{path} cannot be read ({error.strerror}), and boot.json names it") from error
        _whole(path, files[name])
    return files


def _identity(files: Mapping[str, bytes]) -> str:
    """32 hexadecimal digits that stand for the files: images of the same files are the same."""
    found = hashlib.sha256()
    for name, content in sorted(files.items()):
        found.update(f"{name} {len(content)}\n".encode() + content)
    return found.hexdigest()[:32]


def _fat(image: Path, boot: Partition, files: Mapping[str, bytes], identity: str) -> None:
    """Makes the boot partition's file system, and fills it."""
    needed = sum(len(content) + SECTOR for content in files.values())
    # Two tables of four bytes a sector, and the sectors before them.
    room = boot.size - 2 * 4 * boot.size // SECTOR - 64 * SECTOR
    if needed > room:
        raise InputError(
            f"the files have {needed} bytes, and the boot partition has room for {room}: give it more with --boot-mib"
        )
    blocks = str(boot.size // 1024)
    options = ["-F", "32", "-s", "1", "-S", str(SECTOR), "-n", LABEL, "-i", identity[:8], "--invariant", "--mbr=n"]
    hidden = str(boot.start // SECTOR)
    _tool("mkfs.vfat", *options, "-h", hidden, f"--offset={boot.start // SECTOR}", image, blocks)
    with tempfile.TemporaryDirectory(prefix="card-") as folder:
        for name, content in files.items():
            path = Path(folder) / name
            path.write_bytes(content)
            os.utime(path, (int(_ENVIRONMENT["SOURCE_DATE_EPOCH"]),) * 2)
            _tool("mcopy", "-m", "-i", f"{image}@@{boot.start}", path, f"::{name}")


def make(folder: Path, output: Path, boot_mib: int = BOOT_MIB) -> None:
    """Makes and checks an image; `output` appears when that has succeeded.

    Args:
        folder: made by `linux_image card`.
        output: the image to write.
        boot_mib: size of the boot partition, MiB.
    """
    if not SMALLEST_BOOT_MIB <= boot_mib < 2 << 20:
        raise InputError(
            f"a boot partition of {boot_mib} MiB: it takes {SMALLEST_BOOT_MIB} at least, and less than 2 TiB"
        )
    files = boot_files(folder)
    identity = _identity(files)
    boot = Partition(MIB, boot_mib * MIB)
    part = output.with_name(output.name + ".part")
    try:
        with part.open("wb") as stream:
            stream.truncate(boot.start + boot.size)
        lines = ["label: dos", f"label-id: 0x{identity[:8]}", "unit: sectors"]
        lines.append(f"start={boot.start // SECTOR}, size={boot.size // SECTOR}, type=c, bootable")
        _tool("sfdisk", "--quiet", "--no-tell-kernel", part, given="\n".join(lines) + "\n")
        _fat(part, boot, files, identity)
        check(part, files)
        part.rename(output)
    finally:
        part.unlink(missing_ok=True)


def partition(image: Path) -> Partition:
    """The boot partition of an image, as parted sees it.

    Args:
        image: a file, or a card.
    """
    cure = "make it again with 'make linux-card'"
    if not image.is_file():
        raise InputError(f"{image} is no file: make it with 'make linux-card'")
    size = image.stat().st_size
    try:
        lines = _tool("parted", "--script", "--machine", image, "unit", "B", "print").splitlines()
    except InputError as error:
        raise InputError(f"{image} is no image of a card, or not all of one: {cure} ({error})") from error
    found, kinds = [], []
    for line in lines[2:]:
        _, start, end, length, kind, *_ = line.rstrip(";").split(":")
        found.append(Partition(int(start.rstrip("B")), int(length.rstrip("B"))))
        kinds.append(kind)
        if int(end.rstrip("B")) >= size:
            raise InputError(f"{image} ends before its partition does: {cure}")
    if kinds != ["fat32"]:
        raise InputError(f"{image} has partitions {', '.join(kinds) or 'none'}, not one, fat32: {cure}")
    return found[0]


def check(image: Path, files: Mapping[str, bytes] | None = None) -> dict[str, bytes]:
    """Looks at an image with tools other than those that made it; returns the files it holds.

    Args:
        image: the image.
        files: what it has to hold; what its own boot.json names when None.
    """
    boot = partition(image)
    with tempfile.TemporaryDirectory(prefix="card-") as folder:
        fat = Path(folder) / "fat"
        with image.open("rb") as source, fat.open("wb") as target:
            source.seek(boot.start)
            left = boot.size
            while left and (block := source.read(min(left, MIB))):
                target.write(block) if any(block) else target.seek(len(block), os.SEEK_CUR)
                left -= len(block)
            target.truncate(boot.size)
        try:
            _tool("fsck.vfat", "-n", fat)
        except InputError as error:
            raise InputError(f"the boot partition of {image} is damaged: {error}") from error
        held = Path(folder) / "held"
        held.mkdir()
        _tool("mcopy", "-s", "-i", fat, "::/", held)
        found = {path.name: path.read_bytes() for path in held.iterdir()}
        expected = boot_files(held) if files is None else dict(files)
    if found != expected:
        differing = sorted(name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name))
        raise InputError(f"the boot partition of {image} holds other files than it should: {', '.join(differing)}")
    return found


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the own arguments of the command that makes an image."""
    parser.add_argument("--files", type=Path, required=True, metavar="DIR", help="made by 'hwswap soc card files'")
    parser.add_argument("--boot-mib", type=int, default=BOOT_MIB, help="size of the boot partition")


def run(options: argparse.Namespace) -> int:
    """Makes an image; returns the exit status."""
    make(options.files, options.output, options.boot_mib)
    held = options.output.stat()
    print(
        f"card_image: {options.output} has {held.st_size // MIB} MiB, {held.st_blocks * 512 // MIB} of them on disk; "
        "'dd' writes it to a card (docs/soc.md)"
    )
    return 0
