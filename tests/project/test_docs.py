# SPDX-License-Identifier: Apache-2.0
"""The pages: a command that is copied from one finds its files and its make target."""

import re
import subprocess
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parents[2]
TREES = "constraints|docs|hw|litex|sim|sw|tests"
FENCE = re.compile(r"^( *)(```+|~~~+)[^\n]*\n.*?^ *\2 *$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\([^)]*\)")
PATH = re.compile(rf"(?<![\w./:@-])(?:{TREES})/[\w.,*/+-]*[\w*/]")

TRACKED = subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, text=True, check=True).stdout.split()
NAMES = {str(name) for file in TRACKED for name in (PurePosixPath(file), *PurePosixPath(file).parents)}
PAGES = [name for name in TRACKED if name.endswith(".md") and name not in ("CHANGELOG.md", "docs/dropped.md")]
"""Those two are of the past."""


@pytest.mark.parametrize("page", PAGES)
def test_paths_exist(page):
    text = LINK.sub("", (ROOT / page).read_text())
    named = {match[0].rstrip("/") for match in PATH.finditer(text)}
    assert [name for name in named - NAMES if not any(fnmatch(file, name) for file in TRACKED)] == []


@pytest.mark.parametrize("page", PAGES)
def test_make_targets_exist(page):
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    text = FENCE.sub("", (ROOT / page).read_text())
    calls = [re.match(r"make ((?:[a-z][a-z-]* ?)+)(?:[A-Z]|\[|$)", code[2]) for code in CODE.finditer(text)]
    assert {target for call in calls if call for target in call[1].split()} - targets == set()
