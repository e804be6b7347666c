# SPDX-License-Identifier: Apache-2.0
"""Makes the image of an SD card that a board boots Linux from.

python -m hwswap.cli.steps card --files DIR --output card.img

An image has one partition behind a master boot record: FAT32, with the files of a folder that linux_image has made.
Debian's own tools make it (sfdisk, mkfs.vfat, mcopy), without loop devices and without being root, and others look at
it (fsck.vfat, parted). The same files give the same image, byte for byte.
"""

import argparse
import hashlib
import json
import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from hwswap_litex import InputError

SECTOR = 512
MIB = 1 << 20

BOOT = 64 * MIB
"""Size of the boot partition, which begins at 1 MiB: FAT32 has 65,525 clusters at least, of a sector each here."""

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


def boot_files(folder: Path) -> dict[str, bytes]:
    """Return the files that a board's loader reads: boot.json of a folder that linux_image made, and those it names."""
    try:
        names = ["boot.json", *json.loads((folder / "boot.json").read_text())]
        return {name: (folder / name).read_bytes() for name in names}
    except (OSError, ValueError) as error:
        raise InputError(f"{folder} holds no files to boot from ({error}): make them with 'make linux-card'") from error


def _identity(files: Mapping[str, bytes]) -> str:
    """32 hexadecimal digits that stand for the files: images of the same files are the same."""
    found = hashlib.sha256()
    for name, content in sorted(files.items()):
        found.update(f"{name} {len(content)}\n".encode() + content)
    return found.hexdigest()[:32]


def _fat(image: Path, files: Mapping[str, bytes], identity: str) -> None:
    """Makes the boot partition's file system, and fills it."""
    needed = sum(len(content) + SECTOR for content in files.values())
    # Two tables of four bytes a sector, and the sectors before them.
    room = BOOT - 2 * 4 * BOOT // SECTOR - 64 * SECTOR
    if needed > room:
        raise InputError(
            f"the files have {needed} bytes, and the boot partition has room for {room}: make them smaller"
        )
    options = ["-F", "32", "-s", "1", "-S", str(SECTOR), "-n", LABEL, "-i", identity[:8], "--invariant", "--mbr=n"]
    start = str(MIB // SECTOR)
    _tool("mkfs.vfat", *options, "-h", start, f"--offset={start}", image, str(BOOT // 1024))
    with tempfile.TemporaryDirectory(prefix="card-") as folder:
        for name, content in files.items():
            path = Path(folder) / name
            path.write_bytes(content)
            os.utime(path, (int(_ENVIRONMENT["SOURCE_DATE_EPOCH"]),) * 2)
            _tool("mcopy", "-m", "-i", f"{image}@@{MIB}", path, f"::{name}")


def make(folder: Path, output: Path) -> None:
    """Makes and checks an image; `output` appears when that has succeeded.

    Args:
        folder: made by `linux_image card`.
        output: the image to write.
    """
    files = boot_files(folder)
    identity = _identity(files)
    part = output.with_name(output.name + ".part")
    try:
        with part.open("wb") as stream:
            stream.truncate(MIB + BOOT)
        lines = ["label: dos", f"label-id: 0x{identity[:8]}", "unit: sectors"]
        lines.append(f"start={MIB // SECTOR}, size={BOOT // SECTOR}, type=c, bootable")
        _tool("sfdisk", "--quiet", "--no-tell-kernel", part, given="\n".join(lines) + "\n")
        _fat(part, files, identity)
        check(part, files)
        part.rename(output)
    finally:
        part.unlink(missing_ok=True)


def check(image: Path, files: Mapping[str, bytes]) -> None:
    """Stop unless an image holds just these files, as tools other than those that made it see it."""
    _tool("parted", "--script", "--machine", image, "unit", "B", "print")
    with tempfile.TemporaryDirectory(prefix="card-") as folder:
        fat = Path(folder) / "fat"
        _tool("dd", f"if={image}", f"of={fat}", "bs=1M", "skip=1", "conv=sparse", "status=none")
        _tool("fsck.vfat", "-n", fat)
        held = Path(folder) / "held"
        held.mkdir()
        _tool("mcopy", "-s", "-i", fat, "::/", held)
        found = {path.name: path.read_bytes() for path in held.iterdir()}
    if found != files:
        differing = sorted(name for name in found.keys() | files.keys() if found.get(name) != files.get(name))
        raise InputError(f"the boot partition of {image} holds other files than it should: {', '.join(differing)}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the own arguments of the command that makes an image."""
    parser.add_argument("--files", type=Path, required=True, metavar="DIR", help="made by 'hwswap soc card'")


def run(options: argparse.Namespace) -> int:
    """Makes an image; returns the exit status."""
    make(options.files, options.output)
    held = options.output.stat()
    print(
        f"card_image: {options.output} has {held.st_size // MIB} MiB, {held.st_blocks * 512 // MIB} of them on disk; "
        "'dd' writes it to a card (docs/soc.md)"
    )
    return 0
