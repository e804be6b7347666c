# SPDX-License-Identifier: Apache-2.0
"""The page of all figures in a real browser: `make test-report`."""

import os
import re
import subprocess

from hwswap.results import compare, report, schema


def test_the_page_in_a_browser(tmp_path):
    """Every chart is drawn, and nothing is asked for from elsewhere: there is no network in the page's policy."""
    there = schema.folder(schema.RECORD)
    path = tmp_path / "report.html"
    report.write(there, path, compare.pairs(there, there))
    allowed = "default-src 'unsafe-inline' 'unsafe-eval' data: blob:"
    policy = f'<meta http-equiv="Content-Security-Policy" content="{allowed}">'
    path.write_text(path.read_text().replace("<head>", f"<head>{policy}"))
    words = ["chromium", "--headless", "--disable-gpu", "--virtual-time-budget=20000", "--dump-dom"]
    words += ["--no-sandbox"] if os.geteuid() == 0 else []
    shown = subprocess.run([*words, path.as_uri()], capture_output=True, text=True, timeout=120, check=True).stdout
    assert f'data-drawn="{len(there)}"' in shown
    assert "figures are what is on record" in shown
    assert not re.search(r'(?:src|href)="https?:', shown.split("<script>")[0])
