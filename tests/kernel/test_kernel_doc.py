# SPDX-License-Identifier: Apache-2.0
"""Errors that `make lint` finds in the kernel's comments on functions and structures."""

from pathlib import Path
from subprocess import CompletedProcess

from hwswap.kernel.patch_steps import PATCHES
from hwswap.project.paths import ROOT
from programs import run

COMMENT = "/**\n * twice - double a number\n * @x: the number\n *{}\n */\nint twice(int x);\n"


def check(source: Path, file: Path) -> CompletedProcess[str]:
    """Check that file, beside the patches."""
    return run(ROOT / "sim/setup/kernel-doc", source, PATCHES, file, timeout=60, cwd=ROOT)


def test_what_is_not_described_is_told(tmp_path: Path) -> None:
    found = run(ROOT / "sim/setup/kernel-source", check=True)
    source, file = Path(found.stdout.strip()), tmp_path / "twice.h"
    file.write_text(COMMENT.format(" Return: its double."))
    result = check(source, file)
    assert (result.returncode, result.stdout) == (0, ""), result.stderr
    file.write_text(COMMENT.format("").replace("@x", "@y"))
    result = check(source, file)
    assert result.returncode == 1
    assert "return value of 'twice'" in result.stdout
    assert "parameter 'x' not described" in result.stdout


def test_a_source_without_the_script_is_refused(tmp_path: Path) -> None:
    result = check(tmp_path, Path(__file__))
    assert result.returncode == 1
    assert "has no tools/docs/kernel-doc" in result.stderr
