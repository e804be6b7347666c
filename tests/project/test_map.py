# SPDX-License-Identifier: Apache-2.0
"""The page of the register map against its source, and fields of the map's view for Python."""

import shutil
import sys
from pathlib import Path

import hwswap_map
import pytest
from programs import run

ROOT = Path(__file__).parents[2]


def test_the_committed_page_is_that_of_the_map_and_a_changed_map_is_noticed(tmp_path):
    for name in ("docs/registers.md", "hw/map/generate.py", "hw/map/hwswap.rdl"):
        target = tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)
    check = (sys.executable, tmp_path / "hw/map/generate.py", "--check")
    done = run(*check)
    assert done.returncode == 0, done.stdout + done.stderr
    path = tmp_path / "hw/map/hwswap.rdl"
    text = path.read_text()
    assert "CMD_SIZE @ 0x050" in text
    path.write_text(text.replace("CMD_SIZE @ 0x050", "CMD_SIZE @ 0x0a0"))
    done = run(*check)
    assert done.returncode == 1
    assert "registers.md" in done.stderr


def test_fields_go_into_words_and_out_again():
    for name, item in vars(hwswap_map).items():
        if isinstance(item, hwswap_map.Field):
            top = (1 << item.width) - 1
            assert item.get(item.put(top)) == top, name
            assert item.get(~item.put(top)) == 0, name
            with pytest.raises(ValueError, match="does not fit"):
                item.put(top + 1)
