# SPDX-License-Identifier: Apache-2.0
"""The pages: every folder has its place, and links, paths, make targets, layers and commits exist."""

import re
import subprocess
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parents[2]
DEPTH = 3
"""Folders of so many parts are named in docs/architecture.md, what is below them is not."""

TREES = "constraints|docs|hw|litex|sim|sw|tests"
FENCE = re.compile(r"^( *)(```+|~~~+)[^\n]*\n.*?^ *\2 *$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
PATH = re.compile(rf"(?<![\w./:@-])(?:{TREES})/[\w.,*/+-]*[\w*/]")
HASH = re.compile(r"(?<![\w.-])(?:[0-9a-f]{7,12}|[0-9a-f]{40})(?![\w-])")
NO_COMMIT = re.compile(r"(?:patch series |engine build |build |\b(?:full|linux|grants|grants-only) )`?$")
"""What stands before hashes of other things: of the patches, and of an engine's sources."""


def git(*arguments: str) -> str:
    """Return what git says."""
    return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=True).stdout


def tracked() -> list[str]:
    """Return the names of all files under version control."""
    try:
        return git("ls-files", "-z").rstrip("\0").split("\0")
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"what is under version control is not known: {error}")


FILES = tracked()
PAGES = [name for name in FILES if name.endswith(".md")]
FOLDERS = {str(parent) for name in FILES for parent in PurePosixPath(name).parents}


def text_of(page: str) -> str:
    """Return a page's text without blocks of code, line for line."""
    return FENCE.sub(lambda block: "\n" * block[0].count("\n"), (ROOT / page).read_text())


def line_of(text: str, match: re.Match[str]) -> int:
    """Return the line a match is in."""
    return text.count("\n", 0, match.start()) + 1


def slug(heading: str) -> str:
    """Return a heading's anchor, as forges make it."""
    plain = LINK.sub(lambda link: link[0][link[0].index("[") + 1 : link[0].index("]")], heading)
    return re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-")


def anchors(page: str) -> set[str]:
    """Return the anchors of a page's headings; the second one of a name has -1 behind it."""
    seen: dict[str, int] = {}
    found = set()
    for heading in re.findall(r"^#{1,6} +(.+?) *#*$", text_of(page), re.MULTILINE):
        name = slug(heading)
        found.add(name if name not in seen else f"{name}-{seen[name]}")
        seen[name] = seen.get(name, 0) + 1
    return found


def links(page: str) -> Iterator[tuple[int, str]]:
    """Yield line and target of each link of a page that does not lead to another site."""
    text = CODE.sub(lambda code: "`" * len(code[0]), text_of(page))
    for match in LINK.finditer(text):
        if not re.match(r"[a-z]+:", match[1]):
            yield line_of(text, match), match[1]


def test_every_folder_is_in_the_table_of_folders():
    named = set(re.findall(r"`([\w./-]+/)`", (ROOT / "docs/architecture.md").read_text()))
    # Reports are in a table of their own (tests/kernel/test_fault_reports.py).
    folders = {
        "/".join(PurePosixPath(name).parent.parts[:DEPTH]) + "/"
        for name in FILES
        if "/" in name and not name.startswith("tests/reports/")
    }
    assert sorted(folders - named) == []


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    wrong = []
    for line, target in links(page):
        path, _, anchor = target.partition("#")
        whole = page if not path else str((ROOT / page).parent.joinpath(path).resolve().relative_to(ROOT))
        if whole not in FILES and whole not in FOLDERS:
            wrong.append(f"{page}:{line}: {target}: not under version control")
        elif anchor and anchor not in anchors(whole):
            wrong.append(f"{page}:{line}: {target}: no such heading")
    assert wrong == []


@pytest.mark.parametrize("page", PAGES)
def test_paths_exist(page):
    """In blocks of code too: a command that is copied from a page finds its files."""
    text = (ROOT / page).read_text()
    wrong = []
    for match in PATH.finditer(LINK.sub(lambda link: " " * len(link[0]), text)):
        name = match[0].rstrip("/")
        if name not in FILES and name not in FOLDERS and not any(fnmatch(file, name) for file in FILES):
            wrong.append(f"{page}:{line_of(text, match)}: {match[0]}")
    assert wrong == []


@pytest.mark.parametrize("page", PAGES)
def test_make_targets_exist(page):
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    text = text_of(page)
    wrong = []
    for code in CODE.finditer(text):
        named = re.match(r"make ((?:[a-z][a-z-]* ?)+)(?:[A-Z]|\[|$)", code[2])
        if named and set(named[1].split()) - targets:
            wrong.append(f"{page}:{line_of(text, code)}: {code[0]}")
    assert wrong == []


def test_layers_are_those_that_lint_checks():
    page = (ROOT / "docs/architecture.md").read_text()
    drawn = page.split("<!-- layers:", 1)[1].split("```")[1]
    rows = [re.findall(r"hwswap[._]\w+", line) for line in drawn.splitlines() if re.search(r"hwswap[._]", line)]
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if "hwswap.model" in contract.get("layers", ()))
    assert rows == [re.findall(r"[\w.]+", layer) for layer in layers]


def test_commits_are_in_the_history():
    if git("rev-parse", "--is-shallow-repository").strip() == "true":
        pytest.skip("a shallow clone lacks most of the history: git fetch --unshallow")
    history = git("rev-list", "HEAD").split()
    wrong = []
    for page in PAGES:
        if page == "docs/registers.md":  # constants of the map, no commits
            continue
        text = (ROOT / page).read_text()
        for match in HASH.finditer(text):
            name, before = match[0], text[max(0, match.start() - 30) : match.start()]
            is_number = name.isdigit() and not re.search(r"commits? `?$", before)
            if is_number or name.isalpha() or NO_COMMIT.search(before):
                continue
            if not any(commit.startswith(name) for commit in history):
                wrong.append(f"{page}:{line_of(text, match)}: {name}")
    assert wrong == []
