# SPDX-License-Identifier: Apache-2.0
"""The engine's packages: a file imports only of those that are left of its own in docs/architecture.md."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "hw/src/main/scala/hwswap"
TESTS = ROOT / "hw/src/test/scala/hwswap"
ORDER = re.compile(r"^A package imports only what is left of it in ((?:`\w+`(?:, )?)+);", re.MULTILINE)
ABOVE = ("formal",)
"""Packages that may import every other, and that none imports."""

KNOWN_TO_ALL = {
    "ClusterTypes": [],
    "GeneratedMap": [],
    "MapAccess": ["bus"],
    "Params": ["bus"],
    "Settings": ["bus", "core"],
    "Stage": [],
}
"""Files of the root that every package sees, with what they may import themselves: widths of addresses, and the
policies. The rest of the root is the top, which may import all."""

IMPORT = re.compile(r"^import hwswap\.(\w+)\.", re.MULTILINE)
PACKAGE = re.compile(r"^package (\w+)$", re.MULTILINE)


def order(page: str) -> list[str]:
    """Return the packages in the order that the page gives."""
    found = ORDER.findall(page)
    assert len(found) == 1, "docs/architecture.md says in one sentence which package may import which"
    return re.findall(r"`(\w+)`", found[0])


def complaints(sources: Path, packages: list[str]) -> list[str]:
    """Return what is wrong with a folder of Scala sources."""
    wrong = []
    for source in sorted(sources.rglob("*.scala")):
        text = source.read_text()
        folder = list(source.relative_to(sources).parent.parts)
        if PACKAGE.findall(text) != ["hwswap", *folder]:
            wrong.append(f"{source.name}: its package is not that of its folder")
        if not folder:
            allowed = KNOWN_TO_ALL.get(source.stem, [*packages, *ABOVE])
        elif folder[0] in ABOVE:
            allowed = packages
        elif folder[0] in packages:
            allowed = packages[: packages.index(folder[0])]
        else:
            wrong.append(f"{source.name}: docs/architecture.md does not name its package {folder[0]}")
            continue
        wrong += [
            f"{source.name} imports {name}"
            for name in dict.fromkeys(IMPORT.findall(text))
            if name not in allowed and [name] != folder
        ]
    return wrong


def test_packages_import_what_is_left_of_them():
    packages = order((ROOT / "docs/architecture.md").read_text())
    folders = {path.name for path in SOURCES.iterdir() if path.is_dir()}
    assert folders == {*packages, *ABOVE}
    assert complaints(SOURCES, packages) == []


def test_a_test_is_in_the_package_of_what_it_tests():
    for spec in sorted(TESTS.rglob("*Spec.scala")):
        tested = list(SOURCES.rglob(f"{spec.stem.removesuffix('Spec')}.scala"))
        folder = spec.relative_to(TESTS).parent
        assert all(source.relative_to(SOURCES).parent == folder for source in tested), spec


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("package hwswap\npackage store\nimport hwswap.core.Core\n", "A.scala imports core"),
        ("package hwswap\npackage core\n", "A.scala: its package is not that of its folder"),
        ("package hwswap\npackage store\nimport hwswap.bus.Axi\n", None),
    ],
)
def test_what_is_against_the_order_is_found(text, complaint, tmp_path):
    (tmp_path / "store").mkdir()
    (tmp_path / "store/A.scala").write_text(text)
    assert complaints(tmp_path, ["bus", "store", "core"]) == ([complaint] if complaint else [])
