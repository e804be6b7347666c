# SPDX-License-Identifier: Apache-2.0
"""The device-tree binding of the engine: its own example, and the properties that the driver reads."""

import re
from pathlib import Path
from typing import Any

import hwswap_map
import pytest
import yaml
from programs import run
from stand_ins import fdtget

ROOT = Path(__file__).parents[2]
BINDING = ROOT / "sw/driver/bindings/hwswap,engine.yaml"
DRIVER = ROOT / "sw/driver/module/platform.c"

# The tree around an example: a bus with an interrupt controller, as the kernel's own tools do it.
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
    return yaml.safe_load(BINDING.read_text())


@pytest.fixture(scope="module")
def example(binding, tmp_path_factory) -> Path:
    """Return a compiled device tree with the binding's example; a warning of dtc is an error."""
    blob = tmp_path_factory.mktemp("binding") / "example.dtb"
    command = ["dtc", "--in-format", "dts", "--out-format", "dtb", "--out", blob, "-"]
    done = run(*command, input=TREE.format(example=binding["examples"][0]))
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return blob


def test_the_example_is_what_the_binding_describes(binding, example):
    [node] = [f"/{name}" for name in fdtget("-l", example, "/") if name != "interrupt-controller"]
    assert binding["additionalProperties"] is False
    assert set(binding["required"]) <= set(fdtget("-p", example, node)) <= set(binding["properties"])
    base, size = (int(cell, 16) for cell in fdtget("-t", "x", example, node, "reg"))
    assert size == hwswap_map.BAR_SIZE
    assert base % size == 0 and node.endswith(f"@{base:x}")
    assert [len(fdtget(example, node, name)) for name in ("interrupts", "hwswap,build-hash")] == [1, 2]


def test_the_driver_takes_the_nodes_that_the_binding_describes(binding):
    matched = re.findall(r'\.compatible = "([^"]+)"', DRIVER.read_text())
    assert matched == [binding["properties"]["compatible"]["const"]]
    assert matched[0].rsplit("-", 1)[1] == str(hwswap_map.VERSION_MAJOR.reset)


def test_the_driver_reads_no_property_that_the_binding_lacks(binding):
    read = set(re.findall(r'property_\w+\(\w+, "([^"]+)"', DRIVER.read_text()))
    assert "hwswap,build-hash" in read
    assert read <= set(binding["properties"])
