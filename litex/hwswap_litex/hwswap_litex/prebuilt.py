# SPDX-License-Identifier: Apache-2.0
"""The engines whose Verilog the installed package brings."""

from pathlib import Path

from hwswap_litex.core import InputError

_FOLDER = Path(__file__).parent / "verilog"


def prebuilt(profile: str = "full") -> Path:
    """The folder of HwSwap.sv and engine.json of an engine, for `add_hwswap`.

    Args:
        profile: its name in constraints/profiles.toml; the package has `full` and `grants-only`.
    """
    folder = _FOLDER / profile
    if not (folder / "engine.json").is_file():
        found = ", ".join(sorted(path.name for path in _FOLDER.glob("*"))) or "none: it is not installed by pip"
        raise InputError(f"the package has no engine of profile '{profile}' (it has {found}); say another, or a folder")
    return folder
