# SPDX-License-Identifier: Apache-2.0
"""The image of an SD card: as others read it; wrong input said in one sentence."""

import json
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from hwswap.cli import steps
from hwswap_litex import InputError
from hwswap_soc.linux import card_image, devicetree, linux_image

MIB = 1 << 20
NAMES = ("fw_jump.bin", "Image", "initramfs.cpio", "hwswap.dtb", "start.bin")
BOOT_MIB = 64


def contents() -> dict[str, bytes]:
    """Small files that look like what a board loads."""
    files = {
        "fw_jump.bin": bytes(range(256)) * 700,
        "Image": bytes(0x38) + b"RSC\x05" + bytes(3000) + b"kernel" * 100_000,
        "initramfs.cpio": b"070701" * 999 + b"TRAILER!!!" + bytes(300),
        "hwswap.dtb": struct.pack(">II", 0xD00DFEED, 4000) + b"t" * 3992,
        "start.bin": b"s" * 32,
    }
    files["boot.json"] = json.dumps({name: "0x80000000" for name in NAMES}).encode()
    return files


@pytest.fixture
def folder(tmp_path) -> Path:
    made = tmp_path / "files"
    made.mkdir()
    for name, content in contents().items():
        (made / name).write_bytes(content)
    return made


@pytest.fixture(scope="module")
def image(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("image")
    for name, content in contents().items():
        (made / name).write_bytes(content)
    card_image.make(made, made / "card.img")
    return made / "card.img"


def tool(*command) -> str:
    words = [str(word) for word in command]
    words[0] = shutil.which(words[0], path="/usr/sbin:/sbin:/usr/bin:/bin") or words[0]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def test_other_tools_find_the_partition_and_every_byte(image, tmp_path):
    table = json.loads(tool("sfdisk", "--json", image))["partitiontable"]
    assert table["label"] == "dos"
    parts = [(part["start"] * 512, part["size"] * 512, part["type"]) for part in table["partitions"]]
    assert parts == [(MIB, BOOT_MIB * MIB, "c")]
    (tmp_path / "part").write_bytes(image.read_bytes()[MIB:])
    assert 'TYPE="vfat"' in tool("blkid", "-p", tmp_path / "part")
    tool("fsck.vfat", "-n", tmp_path / "part")
    for name, content in contents().items():
        tool("mcopy", "-n", "-i", tmp_path / "part", f"::{name}", tmp_path / "got")
        assert (tmp_path / "got").read_bytes() == content, name
        (tmp_path / "got").unlink()


def test_the_same_files_give_the_same_image_and_holes_stay_holes(image, folder, tmp_path):
    card_image.make(folder, tmp_path / "again.img")
    assert (tmp_path / "again.img").read_bytes() == image.read_bytes()
    assert image.stat().st_blocks * 512 < 8 * MIB
    (folder / "start.bin").write_bytes(b"S" * 32)
    card_image.make(folder, tmp_path / "other.img")
    assert (tmp_path / "other.img").read_bytes()[440:444] != image.read_bytes()[440:444], "the disk's identity"


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("start.bin", None, "start.bin"),
        ("boot.json", None, "make linux-card"),
        ("boot.json", b'{"Image": ', "make linux-card"),
        ("fw_jump.bin", bytes(65 * MIB), "has room for"),
    ],
)
def test_files_that_are_missing_or_too_large_are_said(folder, tmp_path, capsys, name, content, words):
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    output = tmp_path / "card.img"
    status = steps.main(["card", "--files", str(folder), "--output", str(output)])
    said = capsys.readouterr().err
    assert (status, said.count("\n")) == (1, 1), said
    assert words in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["files"], "nothing half made is left"


def test_a_damaged_image_is_found(image, tmp_path):
    good = image.read_bytes()
    card_image.check(image, contents())

    def refused(content: bytes, words: str) -> None:
        (tmp_path / "bad.img").write_bytes(content)
        with pytest.raises(InputError, match=words):
            card_image.check(tmp_path / "bad.img", contents())

    refused(bytes(2 * MIB), "parted")
    # The second copy of the file allocation table, then a byte of the device tree.
    table = good.index(b"\xf8\xff\xff\x0f", MIB)
    refused(good[: table + 12] + b"\x99" + good[table + 13 :], "fsck.vfat")
    at = good.index(struct.pack(">I", 0xD00DFEED))
    refused(good[:at] + b"\0" + good[at + 1 :], "holds other files than it should: hwswap.dtb")


def test_boot_files_that_would_overwrite_each_other_in_ram_are_said():
    linux_image.fits(devicetree.INITRAMFS, bytes(devicetree.DEVICE_TREE - devicetree.INITRAMFS))
    with pytest.raises(InputError, match="make it smaller"):
        linux_image.fits(devicetree.INITRAMFS, bytes(devicetree.DEVICE_TREE - devicetree.INITRAMFS + 1))
