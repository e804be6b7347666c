# SPDX-License-Identifier: Apache-2.0
"""The generated views of the register map against their source."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import hwswap_map
import pytest

ROOT = Path(__file__).parents[2]
VIEWS = (
    "hw/src/main/scala/hwswap/GeneratedMap.scala",
    "hw/generated/hwswap_map.h",
    "hw/generated/python/hwswap_map/__init__.py",
    "docs/registers.md",
)


def check(root: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(root / "hw/map/generate.py"), "--check"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def copy(tmp_path):
    for name in (*VIEWS, "hw/map/generate.py", "hw/map/hwswap.rdl"):
        target = tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)
    return tmp_path


def test_the_committed_views_are_those_of_the_map():
    done = check(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("view", VIEWS)
def test_a_changed_view_is_noticed(copy, view):
    assert check(copy).returncode == 0
    path = copy / view
    path.write_text(re.sub(r"16", "17", path.read_text(), count=1))
    done = check(copy)
    assert done.returncode == 1
    assert Path(view).name in done.stdout + done.stderr


def test_a_changed_map_is_noticed(copy):
    path = copy / "hw/map/hwswap.rdl"
    text = path.read_text()
    assert "CMD_SIZE @ 0x050" in text
    path.write_text(text.replace("CMD_SIZE @ 0x050", "CMD_SIZE @ 0x0a0"))
    assert check(copy).returncode == 1


def test_fields_go_into_words_and_out_again():
    for name, item in vars(hwswap_map).items():
        if isinstance(item, hwswap_map.Field):
            top = (1 << item.width) - 1
            assert item.get(item.put(top)) == top, name
            assert item.get(~item.put(top)) == 0, name
            with pytest.raises(ValueError, match="does not fit"):
                item.put(top + 1)
