# SPDX-License-Identifier: Apache-2.0
"""Archives of a release, of small stand-in files: what they hold, that they are reproducible, what is found."""

import hashlib
import io
import json
import lzma
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from hwswap.cli import main as cli
from hwswap_litex import InputError
from hwswap_soc.boards import release, release_check
from hwswap_soc.linux import card_image
from stand_ins import HASH, write_engine

TREE = "/dts-v1/; / { hwswap@60000000 { hwswap,build-hash = /bits/ 64 <0x%s>; }; };"
VERSION = "1.2"


def timing(board: str, cpu: str, achieved: float = 61.0) -> dict:
    clocks = {"sys_clk": {"achieved": achieved, "required": 60.0}}
    return {
        "board": board,
        "cpu": cpu,
        "engine": {"build_hash": HASH},
        "tools": {"yosys": "0.52"},
        "seed": 2,
        "seeds": {"2": {"clocks": clocks, "paths": []}},
        "utilisation": {"total": {"LUT": 5}},
    }


def tree(folder: Path, build_hash: str = HASH) -> None:
    (folder / "hwswap.dts").write_text(TREE % build_hash)
    command = ["dtc", "-q", "-I", "dts", "-O", "dtb", "-o", str(folder / "hwswap.dtb"), str(folder / "hwswap.dts")]
    subprocess.run(command, check=True)


@pytest.fixture
def build(tmp_path) -> Path:
    """A build folder with a bitstream for ECPIX-5 with Rocket and one for OrangeCrab with VexRiscv, and Linux."""
    for board, cpu, profile in (("ecpix5", "rocket", "linux"), ("orangecrab", "vexriscv", "full")):
        part = write_engine(tmp_path / f"part-board-{profile}", profile=profile)
        folder = tmp_path / f"bitstream-{board}-{cpu}"
        folder.mkdir()
        for name in ("hwswap.bit", "hwswap.svf", "hwswap.dfu", "soc.json", "csr.json"):
            (folder / name).write_text(f"{name} of {board}")
        shutil.copyfile(part / "engine.json", folder / "engine.json")
        (folder / "timing.json").write_text(json.dumps(timing(board, cpu)))
    (tmp_path / "kernel-riscv").mkdir()
    (tmp_path / "kernel-riscv/config").write_text("CONFIG_SWAP=y\n")
    linux(tmp_path / "linux-ecpix5")
    return tmp_path


def linux(folder: Path, build_hash: str = HASH) -> None:
    folder.mkdir(exist_ok=True)
    tree(folder, build_hash)
    (folder / "fw_jump.bin").write_bytes(b"o" * 5000)
    (folder / "Image").write_bytes(bytes(0x38) + b"RSC\x05" + b"k" * 60_000)
    (folder / "initramfs.cpio").write_bytes(b"070701TRAILER!!!" + bytes(200))
    (folder / "start.bin").write_bytes(b"s" * 32)
    names = ("fw_jump.bin", "Image", "initramfs.cpio", "hwswap.dtb", "start.bin")
    (folder / "boot.json").write_text(json.dumps(dict.fromkeys(names, "0x80000000")))
    card_image.make(folder, folder / "card.img", 40)


def run(*arguments) -> int:
    return cli.main(["soc", "release", *map(str, arguments)])


def made(build: Path, board: str = "ecpix5", cpu: str = "rocket") -> Path:
    output = build / "release"
    options = ["--board", board, "--cpu", cpu, "--version", VERSION, "--build", build, "--output", output]
    assert run("make", *options) == 0
    return output / f"hwswap-{VERSION}-{board}-{cpu}.tar.xz"


def test_an_archive_has_all_that_a_board_needs(build, tmp_path):
    path = made(build)
    into = tmp_path / "unpacked"
    subprocess.run(["tar", "-C", tmp_path, "--one-top-level=unpacked", "-xf", path], check=True)
    folder = into / path.name.removesuffix(".tar.xz")
    subprocess.run(["sha256sum", "--quiet", "--check", "SHA256SUMS"], cwd=folder, check=True)
    held = {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}
    assert {"bitstream/hwswap.bit", "engine/HwSwap.sv", "linux/Image", "linux/hwswap.dtb", "card.img.xz"} <= held
    assert {"LICENSES/GPL-2.0-only.txt", "linux/source/kernel.config", "linux/source/module/core.c"} <= held
    assert any(name.startswith("linux/source/patches/") for name in held)
    assert lzma.decompress((folder / "card.img.xz").read_bytes()) == (build / "linux-ecpix5/card.img").read_bytes()
    manifest = json.loads((folder / "MANIFEST.json").read_text())
    assert manifest["clocks_mhz"]["sys_clk"]["achieved"] == 61.0
    assert (manifest["engine"]["build_hash"], manifest["tools"]) == (HASH, {"yosys": "0.52"})
    assert manifest["files"].keys() == held - {"MANIFEST.json", "SHA256SUMS"}
    assert "openFPGALoader --board ecpix5" in (folder / "README.md").read_text()
    assert "GPL-2.0-only" in (folder / "LICENSES.md").read_text()


def test_a_board_without_rocket_has_what_applies(build):
    files = release_check.unpacked(made(build, "orangecrab", "vexriscv"))
    assert not any(name.startswith("linux/") or name == "card.img.xz" for name in files)
    assert b"dfu-util --device 1209:5af0" in files["README.md"]
    assert files["bitstream/hwswap.dfu"] == b"hwswap.dfu of orangecrab"


def test_the_same_files_make_the_same_archive(build):
    first = made(build).read_bytes()
    for path in build.rglob("*"):
        path.touch()
    assert made(build).read_bytes() == first
    with tarfile.open(made(build)) as archive:
        entries = archive.getmembers()
    assert [entry.name for entry in entries] == sorted(entry.name for entry in entries)
    assert {(entry.mtime, entry.uid, entry.gid, entry.mode) for entry in entries} == {(0, 0, 0, 0o644)}


def test_all_that_have_a_bitstream_are_made(build, capsys):
    assert run("make", "--version", VERSION, "--build", build, "--output", build / "release") == 0
    found = sorted(path.name for path in (build / "release").iterdir())
    assert found == [f"hwswap-{VERSION}-{pair}.tar.xz" for pair in ("ecpix5-rocket", "orangecrab-vexriscv")]
    assert run("check", *(build / "release").iterdir()) == 0
    assert capsys.readouterr().out.count("complete and sound") == 2


def _drop(build: Path, name: str) -> None:
    (build / name).unlink()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda build: _drop(build, "bitstream-ecpix5-rocket/hwswap.bit"), "make bitstream BOARD=ecpix5 CPU=rocket"),
        (lambda build: _drop(build, "linux-ecpix5/Image"), "boot.json names it"),
        (lambda build: _drop(build, "linux-ecpix5/card.img"), "make linux-card BOARD=ecpix5"),
        (lambda build: (build / "part-board-linux/engine.json").write_text("{}"), "is not the engine in"),
        (lambda build: (build / "bitstream-ecpix5-rocket/engine.json").write_text("{}"), "not an engine description"),
        (lambda build: (build / "bitstream-ecpix5-rocket/timing.json").write_text("{"), "no timing report"),
        (
            lambda build: (build / "bitstream-ecpix5-rocket/timing.json").write_text(
                json.dumps(timing("ecpix5", "rocket", 59.0))
            ),
            "slower than asked",
        ),
        (
            lambda build: (build / "bitstream-ecpix5-rocket/timing.json").write_text(
                json.dumps(timing("ulx3s", "rocket"))
            ),
            "the bitstream is for rocket on ulx3s",
        ),
        (lambda build: linux(build / "linux-ecpix5", "f" * 16), "the device tree is not that of the engine"),
        (
            lambda build: (build / "linux-ecpix5/start.bin").write_bytes(b"t" * 32),
            "other files than it should: start.bin",
        ),
    ],
)
def test_what_does_not_fit_together_is_not_packed(build, capsys, change, words):
    change(build)
    options = ["--board", "ecpix5", "--cpu", "rocket", "--version", VERSION, "--build", build]
    assert run("make", *options, "--output", build / "release") == 1
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1
    assert not any((build / "release").glob("*")), "nothing half made is left"


def test_input_that_cannot_be(build, tmp_path, capsys):
    cases = (
        (("make", "--board", "ecpix5", "--build", build), "go together"),
        (("make", "--board", "ecpix5", "--cpu", "rocket", "--version", "a/b", "--build", build), "a file's name"),
        (("make", "--build", tmp_path / "none"), "there is no bitstream"),
        (("check", tmp_path / "none.tar.xz"), "no archive of a release"),
    )
    for arguments, words in cases:
        assert run(*arguments) == 1
        said = capsys.readouterr().err
        assert words in said
        assert said.count("\n") == 1


def test_check_finds_what_is_damaged(build, tmp_path):
    path = made(build)
    good, files = path.read_bytes(), release_check.unpacked(path)
    name = path.name.removesuffix(".tar.xz")

    def refused(words: str) -> None:
        with pytest.raises(InputError, match=words):
            release_check.check(path)

    def pack(changes: dict[str, bytes | None], sums: bool = True) -> None:
        mixed = {inside: content for inside, content in (files | changes).items() if content is not None}
        if sums:
            others = sorted(mixed.keys() - {"SHA256SUMS"})
            lines = [f"{hashlib.sha256(mixed[inside]).hexdigest()}  {inside}\n" for inside in others]
            mixed["SHA256SUMS"] = "".join(lines).encode()
        release.pack(mixed, name, path.parent)

    path.write_bytes(good[: len(good) // 2])
    refused("not all of one")
    path.write_bytes(b"no archive")
    refused("not all of one")
    pack({"linux/Image": files["linux/Image"] + b"!"}, sums=False)
    refused("linux/Image is not what SHA256SUMS says")
    pack({"linux/Image": None}, sums=False)
    refused("lacks linux/Image: get it again")
    pack({"more": b"!"}, sums=False)
    refused("holds more, which")
    pack({"linux/fw_jump.bin": None})
    refused("lacks linux/fw_jump.bin")
    pack({"linux/Image": files["linux/Image"] + b"!"})
    refused("other files than it should: Image")
    pack({"card.img.xz": files["card.img.xz"][:-200]})
    refused("not all of a card's image")
    pack({"MANIFEST.json": b"{}"})
    refused("no MANIFEST.json that can be read")
    with tarfile.open(path, "w:xz") as archive:
        archive.addfile(tarfile.TarInfo("elsewhere/file"), io.BytesIO())
    refused("does not belong into")
    path.write_bytes(good)
    other = path.with_name(f"hwswap-1.3-ecpix5-rocket{release_check.SUFFIX}")
    release.pack(files, other.name.removesuffix(".tar.xz"), path.parent)
    with pytest.raises(InputError, match="by its manifest"):
        release_check.check(other)
    assert release_check.check(path)["version"] == VERSION
