# SPDX-License-Identifier: Apache-2.0
"""The image of an SD card, as tools that did not make it read it."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from hwswap.project.paths import ROOT
from programs import run

MIB = 1 << 20
CONTENTS = {"Image": bytes(0x38) + b"RSC\x05" + b"kernel" * 100_000, "hwswap.dtb": b"\xd0\x0d\xfe\xed" + b"t" * 3992}
CONTENTS["boot.json"] = json.dumps(dict.fromkeys(CONTENTS, "0x80000000")).encode()
"""Small files in place of those that a board loads."""


@pytest.fixture
def folder(tmp_path) -> Path:
    """A folder with these files and another one."""
    made = tmp_path / "files"
    made.mkdir()
    for name, content in (CONTENTS | {"hwswap.dts": b"source"}).items():
        (made / name).write_bytes(content)
    return made


def make(folder: Path, image: Path) -> subprocess.CompletedProcess:
    return run(ROOT / "litex/linux/card-image", folder, image)


def tool(name: str, *arguments) -> str:
    return run(shutil.which(name, path="/usr/sbin:/sbin:/usr/bin:/bin") or name, *arguments, check=True).stdout


def test_other_tools_find_the_partition_and_every_byte(folder, tmp_path):
    image, part = tmp_path / "card.img", tmp_path / "part"
    assert make(folder, image).returncode == 0
    assert image.stat().st_blocks * 512 < 8 * MIB, "holes stay holes"
    table = json.loads(tool("sfdisk", "--json", image))["partitiontable"]
    assert table["label"] == "dos"
    parts = [(part["start"] * 512, part["size"] * 512, part["type"]) for part in table["partitions"]]
    assert parts == [(MIB, 64 * MIB, "c")]
    part.write_bytes(image.read_bytes()[MIB:])
    assert 'TYPE="vfat"' in tool("blkid", "-p", part)
    tool("fsck.vfat", "-n", part)
    (tmp_path / "held").mkdir()
    tool("mcopy", "-s", "-i", part, "::/", tmp_path / "held")
    assert {path.name: path.read_bytes() for path in (tmp_path / "held").iterdir()} == CONTENTS
    assert make(folder, tmp_path / "again.img").returncode == 0
    assert (tmp_path / "again.img").read_bytes() == image.read_bytes()


@pytest.mark.parametrize(
    ("name", "content"), [("Image", None), ("boot.json", b'{"Image": '), ("Image", bytes(65 * MIB))]
)
def test_of_files_that_are_missing_or_too_large_nothing_is_made(folder, tmp_path, name, content):
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    done = make(folder, tmp_path / "card.img")
    assert done.returncode != 0 and done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["files"], "nothing half made is left"
