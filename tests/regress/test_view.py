# SPDX-License-Identifier: Apache-2.0
"""The saved view for a wave viewer names only signals that the engine has, at their widths."""

import re
from pathlib import Path

from hwswap.project import paths

VIEW = Path(__file__).parent / "engine.gtkw"
TOP = "HwSwap"

MODULE = re.compile(r"^module (\w+)\b")
SIGNAL = re.compile(r"^\s+(?:input|output|wire|reg)?\s*(?:\[(\d+):0\])?\s*(\w+)(?:,| =|;|$)")
INSTANCE = re.compile(r"^  (\w+) (\w+) \($")


def design():
    """Return each module's signals with their widths, and its instances with their modules."""
    signals, instances, name = {}, {}, ""
    width = 1
    for line in paths.need(paths.RTL).read_text().splitlines():
        if found := MODULE.match(line):
            name = found[1]
            signals[name], instances[name] = {}, {}
        elif found := INSTANCE.match(line):
            instances[name][found[2]] = found[1]
        elif name and (found := SIGNAL.match(line)) and found[2] not in ("always", "end", "begin"):
            # In a list of ports, a name alone has the width of the one above it.
            declares = re.match(r"^\s+(input|output|wire|reg)\b", line)
            width = int(found[1] or 0) + 1 if declares else width
            signals[name].setdefault(found[2], width)
    return signals, instances


def test_the_view_shows_what_is_there():
    signals, instances = design()
    shown = [line for line in VIEW.read_text().splitlines() if line.startswith(f"TOP.{TOP}.")]
    assert len(shown) > 40
    for line in shown:
        path, _, bits = line.partition("[")
        *cells, signal = path.split(".")[2:]
        module = TOP
        for cell in cells:
            assert cell in instances[module], f"{line}: {module} has no instance {cell}"
            module = instances[module][cell]
        assert signal in signals[module], f"{line}: {module} has no signal {signal}"
        width = int(bits.partition(":")[0]) + 1 if bits else 1
        assert width == signals[module][signal], f"{line}: {signal} has {signals[module][signal]} bits"
