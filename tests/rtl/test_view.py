# SPDX-License-Identifier: Apache-2.0
"""The saved view for a wave viewer (engine.gtkw) names only signals that the engine has."""

import re
from pathlib import Path

from hwswap.project import paths

VIEW = Path(__file__).parent / "engine.gtkw"


def test_the_view_shows_what_is_there():
    names = set(re.findall(r"\w+", paths.need(paths.RTL).read_text()))
    shown = re.findall(r"^TOP\.([\w.]+)(?:\[(\d+):0\])?$", VIEW.read_text(), re.MULTILINE)
    assert len(shown) > 40
    for path, _ in shown:
        assert set(path.split(".")) <= names, f"the engine has nothing of the name {path}"
