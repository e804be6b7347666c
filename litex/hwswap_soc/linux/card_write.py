# SPDX-License-Identifier: Apache-2.0
"""Writes the image of an SD card to a card, and to nothing else.

hwswap soc card write card.img /dev/sdX

All of it is written, holes of the file included, and is read back and compared.
"""

import argparse
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from hwswap_litex import InputError
from rich.console import Console
from rich.progress import Progress

from hwswap_soc.linux import card_image

BLOCK = 1 << 20
"""Bytes written at a time."""


@dataclass(frozen=True)
class Host:
    """Where a Linux says what it has.

    Attributes:
        sys: the sysfs.
        proc: the procfs.
    """

    sys: Path = Path("/sys")
    proc: Path = Path("/proc")


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _used(device: Path, folder: Path, host: Host) -> str | None:
    """What a disk is used for, or None; a partition of it counts as well.

    Args:
        device: its file.
        folder: of the disk in sysfs.
        host: where to look.
    """
    parts = [folder, *(path.parent for path in folder.glob("*/partition"))]
    numbers = {_text(part / "dev") for part in parts}
    for line in _text(host.proc / "self/mountinfo").splitlines():
        words = line.split()
        # btrfs and others have numbers of their own there, and name the device behind the dash.
        if words[2] in numbers or words[words.index("-") + 2] in {str(device.parent / part.name) for part in parts}:
            return f"is mounted on {words[4]}: unmount it first"
    for line in _text(host.proc / "swaps").splitlines()[1:]:
        if line.split()[0] in {str(device.parent / part.name) for part in parts}:
            return f"is swapped to ({line.split()[0]}): swapoff it first"
    for part in parts:
        if holders := [path.name for path in (part / "holders").glob("*")]:
            return f"is part of {', '.join(holders)}: it is no card that is free to be overwritten"
    return None


def find(device: Path, size: int, host: Host) -> str:
    """Makes sure that a device is a card that nobody uses; returns what it is.

    Args:
        device: its file.
        size: bytes that it must have at least.
        host: where to look.
    """
    device = Path(os.path.realpath(device))
    folder = host.sys / "class/block" / device.name
    if not device.exists():
        raise InputError(f"{device} does not exist: is the card in? 'lsblk' lists what there is")
    number = device.stat().st_rdev
    if _text(folder / "dev") != f"{os.major(number)}:{os.minor(number)}":
        raise InputError(f"{device} is no block device: give the card's, such as /dev/sdb or /dev/mmcblk0")
    if (folder / "partition").exists():
        raise InputError(
            f"{device} is a partition: give the whole card, {device.parent / folder.resolve().parent.name}"
        )
    card = _text(folder / "device/type") == "SD"
    if not card and _text(folder / "removable") != "1":
        raise InputError(
            f"{device} is no SD card and not removable: hwswap does not overwrite it; use dd if it must be"
        )
    if used := _used(device, folder.resolve(), host):
        raise InputError(f"{device} {used}")
    if _text(folder / "ro") == "1":
        raise InputError(f"{device} is write-protected: move the switch on the card's edge")
    has = int(_text(folder / "size") or 0) * card_image.SECTOR
    if has < size:
        raise InputError(f"{device} has {has} bytes, and the image {size}: take a larger card, or make a smaller image")
    title = " ".join(filter(None, (_text(folder / f"device/{name}") for name in ("vendor", "model", "name"))))
    return f"{device}, {title or 'card'}, {has / 1e9:.1f} GB"


def copy(image: Path, device: Path, progress: Progress) -> int:
    """Writes the image and compares what has been written; returns how many bytes that was.

    Args:
        image: the image.
        device: where to.
        progress: shows how far it is.
    """
    length = image.stat().st_size
    # O_EXCL on a block device: nobody mounts it meanwhile.
    target = os.open(device, os.O_RDWR | os.O_EXCL)
    try:
        for what in ("writing", "comparing"):
            task = progress.add_task(what, total=length)
            os.lseek(target, 0, os.SEEK_SET)
            with image.open("rb") as source:
                for start in range(0, length, BLOCK):
                    block = source.read(min(BLOCK, length - start))
                    if what == "comparing":
                        if os.read(target, len(block)) != block:
                            raise InputError(f"{device} does not hold what was written to it: the card is not good")
                    elif os.write(target, block) != len(block):
                        raise InputError(f"{device} takes no more after {start} bytes: the card is not good")
                    progress.update(task, advance=len(block))
            os.fsync(target)
            # The comparison is to read the card, not the memory that has just been written from.
            os.posix_fadvise(target, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(target)
    return length


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's own arguments."""
    parser.add_argument("image", type=Path)
    parser.add_argument("device", type=Path, help="the card: what it holds is lost")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def run(options: argparse.Namespace, host: Host | None = None) -> int:
    """Writes the image, when that is agreed to.

    Args:
        options: the command line.
        host: where to look for what the device is; this host when None.

    Returns:
        The exit status.
    """
    console = Console(stderr=True, highlight=False)
    card_image.check(options.image)
    found = find(options.device, options.image.stat().st_size, host or Host())
    if not options.yes:
        if not sys.stdin.isatty():
            raise InputError("nobody is there to be asked: say --yes (make: YES=1) to overwrite the card")
        answer = console.input(f"card_write: overwrite {found}? What it holds is lost. Type 'yes': ")
        if answer.strip() != "yes":
            raise InputError("nothing was written")
    try:
        with Progress(console=console) as progress:
            written = copy(options.image, options.device, progress)
    except PermissionError as error:
        raise InputError(f"{options.device}: {error.strerror}: run it with sudo") from error
    except KeyboardInterrupt as error:
        raise InputError("interrupted; the card holds part of the image only") from error
    print(f"card_write: {written} bytes are on {found}, and were compared")
    return 0
