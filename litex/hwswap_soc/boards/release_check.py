# SPDX-License-Identifier: Apache-2.0
"""Looks at an archive that hwswap_soc.boards.release has made: is all there, is it whole, and does it fit together?"""

import argparse
import hashlib
import io
import json
import lzma
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

from hwswap_litex import InputError

from hwswap_soc.linux import card_image

SUFFIX = ".tar.xz"

ALWAYS = ("README.md", "LICENSES.md", "MANIFEST.json", "LICENSES/Apache-2.0.txt", "LICENSES/BSD-2-Clause.txt")
ALWAYS += ("bitstream/hwswap.bit", "bitstream/hwswap.svf", "bitstream/timing.json", "bitstream/soc.json")
ALWAYS += ("bitstream/csr.json", "engine/HwSwap.sv", "engine/engine.json")
"""What every archive has."""

LINUX = ("card.img.xz", "linux/boot.json", "linux/Image", "linux/fw_jump.bin", "linux/initramfs.cpio")
LINUX += ("linux/hwswap.dtb", "linux/hwswap.dts", "linux/source/kernel.config", "LICENSES/GPL-2.0-only.txt")
"""What that of a SoC with a Rocket CPU has as well."""


def timing(content: bytes, path: str) -> dict:
    """What timing.json says; stops when the bitstream is not one that meets its timing.

    Args:
        content: of the file.
        path: what to call it.
    """
    try:
        report = json.loads(content)
        clocks = report["seeds"][str(report["seed"])]["clocks"]
        slow = [name for name, clock in clocks.items() if clock["achieved"] < clock["required"]]
        missing = {"tools", "utilisation", "engine", "board", "cpu"} - report.keys()
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} is no timing report of a bitstream: make the bitstream again") from error
    if missing or not clocks:
        raise InputError(f"{path} does not say {', '.join(sorted(missing)) or 'clocks'}: make the bitstream again")
    if slow:
        raise InputError(f"{path}: {', '.join(slow)} is slower than asked: make the bitstream with more SEEDS=")
    return report


def unpacked(path: Path) -> dict[str, bytes]:
    """The files of an archive, by their names without the archive's folder.

    Args:
        path: of the archive.
    """
    name = path.name.removesuffix(SUFFIX)
    files = {}
    try:
        with tarfile.open(path, "r:xz") as archive:
            for entry in archive:
                folder, _, inside = entry.name.partition("/")
                if not entry.isfile() or folder != name or not inside or ".." in inside.split("/"):
                    raise InputError(f"{path} holds {entry.name}, which does not belong into {name}/")
                files[inside] = archive.extractfile(entry).read()
    except (tarfile.TarError, lzma.LZMAError, EOFError) as error:
        raise InputError(f"{path} is no archive, or not all of one: get it again") from error
    return files


def _sums(path: Path, files: Mapping[str, bytes]) -> None:
    """Checks SHA256SUMS."""
    listed = dict(line.split("  ", 1)[::-1] for line in files.get("SHA256SUMS", b"").decode().splitlines())
    others = files.keys() - {"SHA256SUMS"}
    if missing := sorted(listed.keys() - others):
        raise InputError(f"{path} lacks {', '.join(missing)}: get it again")
    if extra := sorted(others - listed.keys()):
        raise InputError(f"{path} holds {', '.join(extra)}, which SHA256SUMS does not list: get it again")
    for name, content in sorted(files.items()):
        if name != "SHA256SUMS" and hashlib.sha256(content).hexdigest() != listed[name]:
            raise InputError(f"{path}: {name} is not what SHA256SUMS says: get it again")


def _tree_hash(tree: bytes) -> str:
    """The engine's build hash that a device tree states, 16 hexadecimal digits."""
    with tempfile.NamedTemporaryFile(suffix=".dtb") as stream:
        stream.write(tree)
        stream.flush()
        done = subprocess.run(
            ["dtc", "-q", "-I", "dtb", "-O", "dts", stream.name], capture_output=True, text=True, check=False
        )
    lines = [line for line in done.stdout.splitlines() if "hwswap,build-hash" in line]
    words = lines[0].partition("<")[2].partition(">")[0].split() if lines else []
    return "".join(f"{int(word, 16):08x}" for word in words)


def _card(path: Path, files: Mapping[str, bytes]) -> None:
    """Checks the image of the card: it holds the very files of linux/."""
    expected = {name: files.get(f"linux/{name}") for name in ("boot.json", *json.loads(files["linux/boot.json"]))}
    if lacking := [name for name, content in expected.items() if content is None]:
        raise InputError(f"{path}: boot.json names {', '.join(lacking)}, which linux/ does not hold")
    with tempfile.TemporaryDirectory(prefix="release-") as folder:
        image = Path(folder) / "card.img"
        with lzma.open(io.BytesIO(files["card.img.xz"])) as source, image.open("wb") as target:
            try:
                while block := source.read(1 << 20):
                    target.write(block) if any(block) else target.seek(len(block), 1)
            except (lzma.LZMAError, EOFError) as error:
                raise InputError(f"{path}: card.img.xz is not all of a card's image") from error
            target.truncate(target.tell())
        card_image.check(image, expected)


def check(path: Path) -> dict:
    """Checks an archive; returns its manifest.

    Args:
        path: of the archive.
    """
    if not path.is_file() or not path.name.endswith(SUFFIX):
        raise InputError(f"{path} is no archive of a release: make it with 'make release'")
    files = unpacked(path)
    _sums(path, files)
    try:
        manifest = json.loads(files["MANIFEST.json"])
        board, cpu, name, engine = (manifest[key] for key in ("board", "cpu", "name", "engine"))
    except (KeyError, ValueError) as error:
        raise InputError(f"{path} has no MANIFEST.json that can be read") from error
    needed = [*ALWAYS, *(LINUX if cpu == "rocket" else ())]
    if lacking := [each for each in needed if not files.get(each)]:
        raise InputError(f"{path} lacks {', '.join(lacking)}")
    if name != path.name.removesuffix(SUFFIX):
        raise InputError(f"{path} is {name} by its manifest")
    report = timing(files["bitstream/timing.json"], f"{path}: bitstream/timing.json")
    if (report["board"], report["cpu"]) != (board, cpu):
        raise InputError(f"{path}: the bitstream is for {report['cpu']} on {report['board']}")
    if json.loads(files["engine/engine.json"]) != engine or report["engine"]["build_hash"] != engine["build_hash"]:
        raise InputError(f"{path}: bitstream, manifest and engine/ are of different engines")
    if cpu == "rocket":
        if _tree_hash(files["linux/hwswap.dtb"]) != engine["build_hash"]:
            raise InputError(f"{path}: the device tree is not that of the engine in the bitstream")
        _card(path, files)
    return manifest


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's own arguments."""
    parser.add_argument("archives", nargs="+", type=Path)


def run(options: argparse.Namespace) -> int:
    """Looks at archives; returns the exit status."""
    for path in options.archives:
        check(path)
        print(f"release: {path} is complete and sound")
    return 0
