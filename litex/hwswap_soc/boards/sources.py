# SPDX-License-Identifier: Apache-2.0
"""Which sources a bitstream was made from, but for the engine's, so that a stale one is not flashed."""

import hashlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

# All that decides what is in a bitstream, but for the tools and the engine, which has its build hash. The programs for
# simulation and measurement beside these files do not.
_PATTERNS = (
    "litex/hwswap_litex/hwswap_litex/*.py",
    "litex/hwswap_soc/system/soc.py",
    "litex/hwswap_soc/system/cpu.py",
    "litex/hwswap_soc/system/bus_register.py",
    "litex/hwswap_soc/boards/boards.py",
    "litex/hwswap_soc/boards/constraints.py",
    "litex/hwswap_soc/boards/generate.py",
    "litex/hwswap_soc/boards/netlist.py",
    "litex/hwswap_soc/fpga/yosys.py",
    "litex/hwswap_soc/fpga/cpu_part.py",
    "litex/hwswap_soc/system/cpu_verilog.py",
    "litex/hwswap_soc/fpga/engine_part.py",
    "constraints/clocks.toml",
    "requirements.txt",
)


def digests(root: Path = ROOT) -> dict[str, str]:
    """SHA-256 of each source, by its path in the project.

    Args:
        root: top of the project.
    """
    files = sorted({path for pattern in _PATTERNS for path in root.glob(pattern)})
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def changed(recorded: dict[str, str], root: Path = ROOT) -> list[str]:
    """Names the sources that are not what they were.

    Args:
        recorded: an earlier result of `digests`.
        root: top of the project.
    """
    present = digests(root)
    return sorted(name for name in recorded.keys() | present.keys() if recorded.get(name) != present.get(name))
