# SPDX-License-Identifier: Apache-2.0
"""Puts the engines' Verilog into the package; all else is in pyproject.toml."""

import shutil
import sys
import tempfile
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ENGINES = Path(__file__).resolve().parents[2] / "build" / "litex-core"
"""HwSwap.sv and engine.json, a folder a profile."""


class BuildWithVerilog(build_py):
    """Copies them beside the package's modules."""

    def run(self) -> None:
        """Build the package."""
        if not ENGINES.is_dir():
            sys.exit(f"error: {ENGINES} is missing: run 'make litex-core' first, which makes the engines' Verilog")
        super().run()
        if not self.editable_mode:
            # Files in the cache are found by a link.
            shutil.copytree(ENGINES, Path(self.build_lib) / "hwswap_litex" / "verilog", dirs_exist_ok=True)


# Nothing is left between the sources.
with tempfile.TemporaryDirectory() as build:
    setup(cmdclass={"build_py": BuildWithVerilog}, options={"build": {"build_base": build}})
