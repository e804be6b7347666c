# SPDX-License-Identifier: Apache-2.0
"""The image of an SD card: as others read it, and written to nothing but a card; wrong input said in one sentence."""

import argparse
import json
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from hwswap.cli import main as cli
from hwswap_litex import InputError
from hwswap_soc.linux import card_image, card_write, devicetree, linux_image

MIB = 1 << 20
NAMES = ("fw_jump.bin", "Image", "initramfs.cpio", "hwswap.dtb", "start.bin")
BOOT_MIB = 40


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
    card_image.make(made, made / "card.img", BOOT_MIB)
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
    card_image.make(folder, tmp_path / "again.img", BOOT_MIB)
    assert (tmp_path / "again.img").read_bytes() == image.read_bytes()
    assert image.stat().st_blocks * 512 < 8 * MIB
    (folder / "start.bin").write_bytes(b"S" * 32)
    card_image.make(folder, tmp_path / "other.img", BOOT_MIB)
    assert (tmp_path / "other.img").read_bytes()[440:444] != image.read_bytes()[440:444], "the disk's identity"


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("hwswap.dtb", contents()["hwswap.dtb"][:-1], "not all of one"),
        ("initramfs.cpio", contents()["initramfs.cpio"][:-1200], "not all of one"),
        ("Image", b"\0" * 4096, "no kernel for RISC-V"),
        ("fw_jump.bin", b"", "is empty"),
        ("start.bin", None, "boot.json names it"),
        ("boot.json", None, "make linux-card"),
        ("boot.json", b'{"Image": ', "is no JSON"),
        ("boot.json", b"[]", "no list of files"),
        ("fw_jump.bin", bytes(41 * MIB), "--boot-mib"),
    ],
)
def test_files_that_are_missing_cut_off_or_too_large_are_said(folder, tmp_path, capsys, name, content, words):
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    output = tmp_path / "card.img"
    status = cli.main(
        ["soc", "card", "make", "--files", str(folder), "--boot-mib", str(BOOT_MIB), "--output", str(output)]
    )
    said = capsys.readouterr().err
    assert (status, said.count("\n")) == (1, 1), said
    assert words in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["files"], "nothing half made is left"


@pytest.mark.parametrize("size", [33, 2 << 20])
def test_sizes_that_cannot_be_are_said(folder, tmp_path, size):
    with pytest.raises(InputError, match="less than 2 TiB"):
        card_image.make(folder, tmp_path / "card.img", size)


def test_a_damaged_image_is_found(image, tmp_path):
    good = image.read_bytes()
    assert card_image.check(image) == contents()

    def refused(content: bytes) -> str:
        (tmp_path / "bad.img").write_bytes(content)
        with pytest.raises(InputError) as said:
            card_image.check(tmp_path / "bad.img")
        return str(said.value)

    assert "not all of one" in refused(good[: 10 * MIB])
    assert "no image of a card" in refused(bytes(2 * MIB))
    assert "not one, fat32" in refused(good[:MIB] + bytes(BOOT_MIB * MIB))
    # The second copy of the file allocation table, then a byte of the device tree.
    table = good.index(b"\xf8\xff\xff\x0f", MIB)
    assert "is damaged" in refused(good[: table + 12] + b"\x99" + good[table + 13 :])
    at = good.index(struct.pack(">I", 0xD00DFEED))
    assert "no device tree" in refused(good[:at] + b"\0" + good[at + 1 :])


def test_boot_files_that_would_overwrite_each_other_in_ram_are_said():
    linux_image.fits(devicetree.INITRAMFS, bytes(devicetree.DEVICE_TREE - devicetree.INITRAMFS))
    with pytest.raises(InputError, match="make it smaller"):
        linux_image.fits(devicetree.INITRAMFS, bytes(devicetree.DEVICE_TREE - devicetree.INITRAMFS + 1))


class FakeHost:
    """A host with one disk, which is a file."""

    def __init__(self, folder: Path, size: int, **attributes: str) -> None:
        """Makes the host in `folder`, with a removable disk of `size` bytes."""
        self.device = folder / "sdx"
        self.device.write_bytes(b"\xa5" * size)
        self.host = card_write.Host(folder / "sys", folder / "proc")
        self.disk = folder / "sys/class/block/sdx"
        self.say(self.disk, dev="0:0", removable="1", ro="0", size=str(size // 512), **attributes)
        self.say(folder / "proc", swaps="Filename Type Size Used Priority")
        self.say(folder / "proc/self", mountinfo="1 1 254:1 / / rw - ext4 /dev/vda1 rw")

    @staticmethod
    def say(folder: Path, **files: str) -> None:
        """Writes files of sysfs or procfs."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text + "\n")


def write(image: Path, device: Path, host: card_write.Host, yes: bool = True) -> int:
    """Writes a card on a host that is not this one; returns the exit status."""
    return card_write.run(argparse.Namespace(image=image, device=device, yes=yes), host)


def test_a_card_gets_the_image_and_is_compared(image, tmp_path, capsys):
    fake = FakeHost(tmp_path, 50 * MIB)
    assert write(image, fake.device, fake.host) == 0
    assert "were compared" in capsys.readouterr().out
    good, got = image.read_bytes(), fake.device.read_bytes()
    assert got[: len(good)] == good
    assert got[len(good) :] == b"\xa5" * (50 * MIB - len(good))


def test_what_is_no_free_card_is_not_written(image, tmp_path):
    fake = FakeHost(tmp_path, 50 * MIB)
    part = fake.disk / "sdx1"
    fake.say(part, dev="8:17", partition="1")

    def refused(words: str, device: Path = fake.device, yes: bool = True) -> None:
        with pytest.raises(InputError, match=words):
            write(image, device, fake.host, yes)
        assert fake.device.read_bytes() == b"\xa5" * (50 * MIB)

    mounts = tmp_path / "proc/self/mountinfo"
    free = mounts.read_text()
    mounts.write_text(free + "2 1 8:17 / /media/card rw - vfat /dev/sdx1 rw\n")
    refused("mounted on /media/card")
    mounts.write_text(free + f"2 1 0:55 / /data rw - btrfs {tmp_path}/sdx1 rw\n")
    refused("mounted on /data")
    mounts.write_text(free)
    fake.say(tmp_path / "proc", swaps=f"Filename Type\n{tmp_path}/sdx1 partition 1 0 -2")
    refused("swapoff it first")
    fake.say(tmp_path / "proc", swaps="Filename Type")
    (part / "holders/dm-0").mkdir(parents=True)
    refused("part of dm-0")
    shutil.rmtree(part / "holders")
    fake.say(fake.disk, removable="0")
    refused("not removable")
    fake.say(fake.disk, removable="1", ro="1")
    refused("write-protected")
    fake.say(fake.disk, ro="0", size=str(20 * MIB // 512))
    refused("take a larger card")
    fake.say(fake.disk, size=str(50 * MIB // 512), dev="8:16")
    refused("no block device")
    fake.say(fake.disk, dev="0:0", partition="1")
    refused("is a partition")
    (fake.disk / "partition").unlink()
    # Nobody is there to be asked.
    refused("--yes", yes=False)
    refused("does not exist", tmp_path / "none")
    # An SD card in a reader of the host's own is not called removable.
    fake.say(fake.disk, removable="0")
    fake.say(fake.disk / "device", type="SD")
    assert write(image, fake.device, fake.host) == 0
