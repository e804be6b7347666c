# SPDX-License-Identifier: Apache-2.0
"""The device-tree binding of the engine: its own example, and what the driver reads."""

import re
import subprocess
from pathlib import Path
from typing import Any

import hwswap_map
import pytest
import yaml

ROOT = Path(__file__).parents[2]
BINDING = ROOT / "sw/driver/bindings/hwswap,engine.yaml"
DRIVER = ROOT / "sw/driver/module/platform.c"

# What an example is put into: a bus with an interrupt controller, as the kernel's own tools do it.
TREE = """/dts-v1/;
/ {{
	#address-cells = <1>;
	#size-cells = <1>;
	interrupt-parent = <&controller>;
	controller: interrupt-controller {{
		interrupt-controller;
		#address-cells = <0>;
		#interrupt-cells = <1>;
	}};
{example}
}};
"""


@pytest.fixture(scope="module")
def binding() -> dict[str, Any]:
    """Return the binding."""
    return yaml.safe_load(BINDING.read_text())


def compiled(example: str, output: Path) -> Path:
    """Return the device tree with `example` in it, compiled; a warning of dtc is an error."""
    command = ["dtc", "--in-format", "dts", "--out-format", "dtb", "--out", str(output), "-"]
    source = TREE.format(example=example)
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return output


@pytest.fixture(scope="module")
def blob(binding, tmp_path_factory) -> Path:
    """Return the device tree of the binding's example."""
    return compiled(binding["examples"][0], tmp_path_factory.mktemp("binding") / "example.dtb")


def node(blob: Path) -> str:
    """Return the path of the engine's node."""
    names = subprocess.run(["fdtget", "-l", blob, "/"], capture_output=True, text=True, check=True).stdout.split()
    engines = [name for name in names if name != "interrupt-controller"]
    assert len(engines) == 1, names
    return "/" + engines[0]


def cells(blob: Path, name: str) -> list[int]:
    """Return the 32-bit cells of a property of the engine's node."""
    command = ["fdtget", "-t", "x", blob, node(blob), name]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [int(cell, 16) for cell in done.stdout.split()]


def properties(blob: Path) -> set[str]:
    """Return the names of the engine's properties."""
    done = subprocess.run(["fdtget", "-p", blob, node(blob)], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_the_example_has_what_the_binding_requires_and_nothing_else(binding, blob):
    assert binding["additionalProperties"] is False
    assert set(binding["required"]) <= properties(blob) <= set(binding["properties"])


def test_the_example_gives_address_interrupt_and_build_hash(blob):
    base, size = cells(blob, "reg")
    assert size == hwswap_map.BAR_SIZE
    assert base % size == 0 and node(blob).endswith(f"@{base:x}")
    assert len(cells(blob, "interrupts")) == 1
    assert len(cells(blob, "hwswap,build-hash")) == 2


def test_the_driver_takes_the_nodes_that_the_binding_describes(binding):
    matched = re.findall(r'\.compatible = "([^"]+)"', DRIVER.read_text())
    assert matched == [binding["properties"]["compatible"]["const"]]
    assert matched[0].rsplit("-", 1)[1] == str(hwswap_map.VERSION_MAJOR.reset)


def test_the_driver_reads_no_property_that_the_binding_lacks(binding):
    read = set(re.findall(r'property_\w+\(\w+, "([^"]+)"', DRIVER.read_text()))
    assert "hwswap,build-hash" in read
    assert read <= set(binding["properties"])
