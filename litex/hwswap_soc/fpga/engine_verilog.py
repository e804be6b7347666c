# SPDX-License-Identifier: Apache-2.0
"""What the engine's Verilog says by itself: whether it has changed, and how many block RAMs its memories take."""

import hashlib
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from hwswap_litex import EngineInfo, InputError

# What a block RAM of the ECP5 can be, as words by bits of a word; the last has one port that reads and one that writes.
_SHAPES = ((16384, 1), (8192, 2), (4096, 4), (2048, 9), (1024, 18), (512, 36))
# What Yosys weighs when a memory may be either (its library's ecp5/lutrams.txt and brams.txt): a block RAM, sixteen
# words of four bits in LUT RAM, and the multiplexers where more than sixteen words are read, a bit each.
_BLOCK_COST, _LUT_RAM_COST, _MUX_COST = 128, 4, 0.5

_MODULE = re.compile(r"^module (\w+)\(.*?^endmodule", re.MULTILINE | re.DOTALL)
_MEMORY = re.compile(r"^  reg +(?:\[(\d+):0\] +)?Memory\[0:(\d+)\];", re.MULTILINE)
_INSTANCE = re.compile(r"^  (\w+) \w+ \($", re.MULTILINE)


@dataclass(frozen=True)
class Memory:
    """One memory of the Verilog.

    Attributes:
        module: the Verilog module that firtool made of it.
        width: bits of a word.
        depth: words.
        clocked: what is read comes at the clock's edge, as block RAM has it; else at once, as LUT RAM has it.
        count: how many of them the engine has.
    """

    module: str
    width: int
    depth: int
    clocked: bool
    count: int

    def block_rams(self) -> int:
        """Block RAMs that each of them takes; 0 when it goes into LUT RAM."""
        if not self.clocked:
            return 0
        blocks = min(-(-self.depth // words) * -(-self.width // bits) for words, bits in _SHAPES)
        rows = -(-self.depth // 16)
        lut_ram = rows * -(-self.width // 4) * _LUT_RAM_COST + (rows - 1) * self.width * _MUX_COST
        return blocks if blocks * _BLOCK_COST <= lut_ram else 0


def find(verilog: str, top: str = "HwSwap") -> list[Memory]:
    """The memories of a design as `hwswap.Emit --synthesis` writes it, largest first.

    Args:
        verilog: the text.
        top: its top module.
    """
    bodies = {found[1]: found[0] for found in _MODULE.finditer(verilog)}
    inside = {
        name: Counter(kind for kind in _INSTANCE.findall(body) if kind in bodies) for name, body in bodies.items()
    }
    counts: Counter[str] = Counter()

    def count(module: str, times: int) -> None:
        counts[module] += times
        for kind, number in inside[module].items():
            count(kind, times * number)

    count(top, 1)
    found = []
    for name, times in counts.items():
        if size := _MEMORY.search(bodies[name]):
            clocked = re.search(r"<= Memory\[", bodies[name]) is not None
            found.append(Memory(name, int(size[1] or 0) + 1, int(size[2]) + 1, clocked, times))
    return sorted(found, key=lambda memory: (-memory.block_rams() * memory.count, memory.module))


def block_rams(verilog: str) -> int:
    """The block RAMs of all memories of the engine together.

    Args:
        verilog: its text.
    """
    return sum(memory.block_rams() * memory.count for memory in find(verilog))


def digest(rtl: Path) -> str:
    """SHA-256 of an engine's Verilog, but for the build hash in it, which is how this begins (sim/setup/build).

    Args:
        rtl: folder with HwSwap.sv and engine.json.
    """
    literal = EngineInfo.load(rtl).build_hash.lstrip("0").upper()
    return hashlib.sha256(re.sub(rf"64'h{literal}\b", "BUILD", read(rtl)).encode()).hexdigest()


def read(rtl: Path) -> str:
    """The text.

    Args:
        rtl: folder with HwSwap.sv.
    """
    try:
        return (rtl / "HwSwap.sv").read_text()
    except OSError as error:
        raise InputError(f"{rtl} holds no engine: build it with 'sim/setup/build rtl-board'") from error
