# SPDX-License-Identifier: Apache-2.0
"""The page on paper: printed by Debian's Chromium, led by Playwright."""

import os
import shutil
from pathlib import Path
from typing import Any

from playwright.sync_api import Error, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
WIDTH = 720
"""Pixels: as wide as what is printed."""

PATIENCE_MS = 300_000
"""How long the browser may take for a step, on a machine that has other things to do."""


class PdfError(RuntimeError):
    """There is no PDF; the message is one sentence for the user."""


def browser() -> Path:
    """Return the browser; HWSWAP_CHROMIUM names another one."""
    named = os.environ.get("HWSWAP_CHROMIUM")
    found = shutil.which(named) if named else next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        raise PdfError("Chromium is not there: install Debian's package chromium, or set HWSWAP_CHROMIUM")
    return Path(found)


def launch(playwright: Any) -> Any:
    """Start the browser. As root it has no sandbox, as it refuses one there; the page is ours."""
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    return playwright.chromium.launch(executable_path=browser(), args=arguments)


def write(page: Path, target: Path) -> None:
    """Print a page of ours."""
    browser()
    try:
        with sync_playwright() as playwright:
            running = launch(playwright)
            tab = running.new_page(viewport={"width": WIDTH, "height": 1000}, color_scheme="light")
            tab.emulate_media(media="print")
            tab.set_default_timeout(PATIENCE_MS)
            tab.goto(page.resolve().as_uri(), wait_until="commit")
            tab.wait_for_selector("html[data-drawn]", state="attached")
            part = target.with_suffix(".part")
            tab.pdf(
                path=part,
                format="A4",
                print_background=True,
                margin={"top": "14mm", "bottom": "16mm", "left": "13mm", "right": "13mm"},
                display_header_footer=True,
                header_template="<span></span>",
                footer_template=(
                    '<div style="font:8px sans-serif;width:100%;text-align:center;color:#666">'
                    '<span class="pageNumber"></span> / <span class="totalPages"></span></div>'
                ),
            )
            part.replace(target)
            running.close()
    except Error as error:
        raise PdfError(f"Chromium could not print the page: {str(error).splitlines()[0]}") from error
