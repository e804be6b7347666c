# SPDX-License-Identifier: Apache-2.0
"""The device tree: generated from LiteX's exports of a Rocket SoC, as dtc and the kernel's binding want it."""

import json
from pathlib import Path

import hwswap_map
import pytest
import yaml
from hwswap.project.paths import ROOT
from hwswap_litex import EngineInfo, InputError
from hwswap_soc.linux import devicetree, linux_image, linux_plan
from programs import run
from stand_ins import fdtget, write_sim_soc


@pytest.fixture(scope="module")
def exported(tmp_path_factory) -> Path:
    """Return a folder with soc.json of the simulated Rocket SoC, made by LiteX, and engine.json; without synthesis."""
    return write_sim_soc("rocket", tmp_path_factory.mktemp("soc"))


def changed(exported: Path, tmp_path: Path, change) -> Path:
    """Write a copy of soc.json that `change` was applied to; return its path."""
    content = json.loads((exported / "soc.json").read_text())
    change(content)
    path = tmp_path / "soc.json"
    path.write_text(json.dumps(content))
    return path


def blob(soc: Path, engine: Path, kind: str, folder: Path, **options) -> Path:
    """Write a tree and return the compiled one."""
    devicetree.write(soc, engine, kind, folder / "t.dtb", **options)
    return folder / "t.dtb"


def get(tree: Path, node: str, name: str, form: str = "x") -> list[str]:
    """Return a property's cells (or strings)."""
    return fdtget("-t", form, tree, node, name)


def test_dtc_has_nothing_to_say(exported, tmp_path):
    blob(exported / "soc.json", exported / "engine.json", "sim", tmp_path, initramfs_size=4096)
    done = run("dtc", "-I", "dts", "-O", "dtb", "-o", tmp_path / "again.dtb", tmp_path / "t.dts")
    assert (done.returncode, done.stderr) == (0, "")


def test_engine_node_is_what_litex_made(exported, tmp_path):
    content = json.loads((exported / "soc.json").read_text())
    tree = blob(exported / "soc.json", exported / "engine.json", "sim", tmp_path)
    region = content["memories"]["hwswap"]
    node = f"/soc/hwswap@{region['base']:x}"
    assert get(tree, node, "compatible", "s") == ["hwswap,engine-4"]
    assert [int(cell, 16) for cell in get(tree, node, "reg")] == [region["base"], hwswap_map.BAR_SIZE]
    # Rocket's interrupt controller counts from 1, LiteX from 0.
    assert [int(cell, 16) for cell in get(tree, node, "interrupts")] == [content["constants"]["hwswap_interrupt"] + 1]
    assert [int(cell, 16) for cell in get(tree, node, "hwswap,build-hash")] == [0x01234567, 0x89ABCDEF]
    # Rocket's DMA port is coherent; LiteX's own buses would want another node.
    assert get(tree, node, "dma-coherent") == []
    binding = yaml.safe_load((ROOT / "sw/driver/bindings/hwswap,engine.yaml").read_text())
    assert set(binding["required"]) <= set(fdtget("-p", tree, node)) <= set(binding["properties"])


def test_console_and_interrupt_controller(exported, tmp_path):
    content = json.loads((exported / "soc.json").read_text())
    tree = blob(exported / "soc.json", exported / "engine.json", "sim", tmp_path, bootargs="hwswap_pages=7")
    uart = f"/soc/serial@{content['csr_bases']['uart']:x}"
    assert get(tree, "/chosen", "stdout-path", "s") == [uart]
    arguments = get(tree, "/chosen", "bootargs", "s")
    assert "console=liteuart" in arguments
    assert arguments[-1] == "hwswap_pages=7"
    assert [int(cell, 16) for cell in get(tree, uart, "interrupts")] == [content["constants"]["uart_interrupt"] + 1]
    plic = f"/soc/interrupt-controller@{content['memories']['plic']['base']:x}"
    assert get(tree, plic, "riscv,ndev") == ["8"]


def test_simulation_is_a_slow_world_and_a_board_is_not(exported, tmp_path):
    soc = changed(exported, tmp_path, lambda content: content["constants"].update(config_clock_frequency=37_500_000))
    frequency = {}
    for kind in ("sim", "board"):
        tree = blob(soc, exported / "engine.json", kind, tmp_path)
        frequency[kind] = get(tree, "/cpus", "timebase-frequency", "u") + get(tree, "/clock", "clock-frequency", "u")
    assert frequency["sim"] == ["1000000", "100000000"]
    assert frequency["board"] == ["375000", "37500000"]


def test_initramfs_is_stated_when_there_is_one(exported, tmp_path):
    tree = blob(exported / "soc.json", exported / "engine.json", "board", tmp_path, initramfs_size=0x1234)
    assert get(tree, "/chosen", "linux,initrd-start") == ["83000000"]
    assert get(tree, "/chosen", "linux,initrd-end") == ["83001234"]
    tree = blob(exported / "soc.json", exported / "engine.json", "board", tmp_path)
    assert run("fdtget", tree, "/chosen", "linux,initrd-start").returncode != 0


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda content: content["memories"].pop("hwswap"), "has no 'hwswap' in memories"),
        (lambda content: content["constants"].update(config_cpu_name="vexriscv"), "Linux runs on Rocket"),
        (lambda content: content["constants"].update(hwswap_build_hash_lo=1), "build the SoC again with the present"),
        (lambda content: content["memories"]["main_ram"].update(size=32 << 20), "Linux wants 64 MiB"),
    ],
)
def test_a_soc_that_does_not_fit_is_one_sentence(exported, tmp_path, change, text):
    soc = changed(exported, tmp_path, change)
    with pytest.raises(InputError, match=text):
        blob(soc, exported / "engine.json", "sim", tmp_path)


def test_a_soc_with_four_harts_has_a_node_and_interrupts_for_each(exported, tmp_path):
    # Imported here: LiteX takes its time.
    from hwswap_soc.simulation import rocket4

    assert devicetree.HARTS[rocket4.NAME] == rocket4.HARTS
    soc = changed(exported, tmp_path, lambda content: content["constants"].update(config_cpu_name=rocket4.NAME))
    memories = json.loads(soc.read_text())["memories"]
    tree = blob(soc, exported / "engine.json", "sim", tmp_path)
    cpus = [f"/cpus/cpu@{hart}" for hart in range(4)]
    assert [get(tree, cpu, "reg") for cpu in cpus] == [["0"], ["1"], ["2"], ["3"]]
    handles = [get(tree, f"{cpu}/interrupt-controller", "phandle")[0] for cpu in cpus]
    assert len(set(handles)) == 4
    for node, numbers in (("clint", ("3", "7")), ("plic", ("b", "9"))):
        path = f"/soc/{node.replace('plic', 'interrupt-controller')}@{memories[node]['base']:x}"
        wanted = [cell for handle in handles for number in numbers for cell in (handle, number)]
        assert get(tree, path, "interrupts-extended") == wanted


def test_card_holds_all_that_a_board_loads(exported, tmp_path, monkeypatch):
    for name in ("OPENSBI", "KERNEL", "INITRAMFS"):
        (tmp_path / name).write_bytes(name.encode())
        monkeypatch.setattr(linux_image, name, tmp_path / name)
    linux_image.card(exported / "soc.json", exported / "engine.json", tmp_path / "card", "hwswap_modes=off")
    files = json.loads((tmp_path / "card/boot.json").read_text())
    assert all((tmp_path / "card" / name).is_file() for name in files)
    assert list(files)[-1] == "start.bin", "the loader jumps to the last one"
    # li a0, 0 first; the device tree's address in the second.
    words = (tmp_path / "card/start.bin").read_bytes()
    assert words[:4] == bytes.fromhex("13050000")
    assert int.from_bytes(words[4:8], "little") & ~0xFFF == devicetree.DEVICE_TREE
    assert get(tmp_path / "card/hwswap.dtb", "/chosen", "linux,initrd-end") == [f"{devicetree.INITRAMFS + 9:x}"]
    tree = (tmp_path / "card/hwswap.dts").read_text()
    assert "hwswap_modes=off,hint hwswap_plan=swap:0:32," in tree
    assert tree.index("hwswap_modes=off,hint") < tree.index('hwswap_modes=off"')


@pytest.mark.parametrize(
    ("without", "added", "modes"),
    [
        ([], ["grants"], "off hint"),
        (["core"], ["grants"], "off hint"),
        ([], [], "off"),
    ],
)
def test_a_board_runs_the_modes_that_its_engine_can_do(without, added, modes):
    engine = EngineInfo(4, 1, 2048, "0" * 16, "some", without, added)
    assert linux_plan.modes(engine) == tuple(modes.split())
