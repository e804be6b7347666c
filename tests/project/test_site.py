# SPDX-License-Identifier: Apache-2.0
"""The pages as a site (`make docs`)."""

import os
import re
import runpy
import sys
from pathlib import Path

import pytest
from programs import run

ROOT = Path(__file__).parents[2]
NO_NETWORK = {name: "http://127.0.0.1:9" for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the site: a link or an anchor that leads nowhere, or a page that is not in `nav`, fails it."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder]
    done = run(*command, cwd=ROOT, env=os.environ | NO_NETWORK, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_page_is_on_the_site(site):
    listed = run("git", "-C", ROOT, "ls-files", "*.md", ":!results", check=True).stdout.split()
    beside = runpy.run_path(str(ROOT / "docs/site.py"))["BESIDE"]
    for page in listed:
        name = beside.get(page) or page.removeprefix("docs/")
        assert (site / name).with_suffix(".html").exists(), f"{page} is not on the site: see docs/site.py"


def test_the_site_loads_nothing_from_elsewhere(site):
    loads = re.compile(r"<(?:script|img|iframe)\b[^>]*\bsrc=\"(?:https?:)?//|<link\b[^>]*\bhref=\"(?:https?:)?//")
    assert [page.name for page in site.rglob("*.html") if loads.search(page.read_text())] == []
