# SPDX-License-Identifier: Apache-2.0
"""What mkdocs needs to make a site of these pages and of those beside the code.

Links are written for a forge: relative, to files of the repository. Here they are led to the site's pages; one to a
file that is no page keeps its text alone.
"""

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
BESIDE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "litex/README.md": "litex.md",
    "litex/hwswap_litex/README.md": "litex-core.md",
    "constraints/README.md": "constraints.md",
    "sim/verilator/README.md": "verilator.md",
}
"""Pages that are not in docs/, and what they are called on the site."""

SOURCES = {page: source for source, page in BESIDE.items()}
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not in docs/."""
    for source, page in BESIDE.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead a page's links to the pages of the site."""
    name = page.file.src_uri
    folder = posixpath.dirname(SOURCES.get(name, f"docs/{name}"))

    def led(link: re.Match[str]) -> str:
        mark, text, target = link.groups()
        path, hash_, anchor = target.partition("#")
        if not path or re.match(r"[a-z]+:", target):
            return link[0]
        whole = posixpath.normpath(posixpath.join(folder, path))
        there = BESIDE.get(whole) or (whole.removeprefix("docs/") if whole.startswith("docs/") else None)
        if there is None and (ROOT / whole).exists():
            return text
        return f"{mark}[{text}]({posixpath.relpath(there or whole, posixpath.dirname(name) or '.')}{hash_}{anchor})"

    return LINK.sub(led, markdown)
