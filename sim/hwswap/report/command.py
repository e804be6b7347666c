# SPDX-License-Identifier: Apache-2.0
"""`hwswap report`: the page of all figures, of two runs, or of a sweep, and the same as PDF."""

import argparse
import subprocess
import sys
from html import escape
from pathlib import Path

import plotly
from rich.console import Console

from hwswap.project import paths, provenance
from hwswap.report import comparison, gather, page, sections, sweep_page
from hwswap.report.figures import ReportError
from hwswap.report.page import Section
from hwswap.report.pdf import PdfError
from hwswap.report.pdf import write as write_pdf
from hwswap.sweep import parquet

OUTPUT = paths.BUILD / "report"
ERR = Console(stderr=True, highlight=False)
NO_CLOCK = "All hardware is simulated. No wall-clock time is reported."


def made_with() -> dict[str, str]:
    """Say what the page was made with."""
    return {
        "Page": f"hwswap {provenance.commit()}, patch series {provenance.patches()}",
        "Drawn by": f"Plotly {plotly.__version__}, Python {sys.version.split()[0]}",
    }


def committed() -> str:
    """Return the day of the commit the page is of; a page that is made twice is the same."""
    command = ["git", "-C", str(paths.ROOT), "log", "-1", "--format=%cs"]
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def of_run(folder: Path) -> tuple[str, str, list[Section]]:
    """Return title, lead and parts of the page of a run."""
    gathered = gather.gather(folder)
    sweeps = sweep_page.of_folder(folder)
    counted = gathered.counted
    lead = (
        f"The Linux swap allocator as a hardware engine. {counted['run']} of {len(gathered.datasets)} figures are of "
        f"this run, {counted['record']} on record; hwswap {escape(provenance.commit())} of {committed()}."
    )
    return "hwswap: when does offload pay?", lead, sections.report(gathered, sweeps, made_with())


def of_two(a: str, b: str) -> tuple[str, str, list[Section]]:
    """Return title, lead and parts of the page of two runs."""
    parts = comparison.compare(gather.read(a), gather.read(b), (a, b))
    lead = f"A is {escape(a)}, B is {escape(b)}. hwswap {escape(provenance.commit())} of {committed()} drew the page."
    return "hwswap: two runs", lead, parts


def of_sweep(path: Path) -> tuple[str, str, list[Section]]:
    """Return title, lead and parts of the page of a sweep."""
    found = parquet.read(path)
    text = f"<details><summary>The sweep file</summary><pre>{escape(found.facts['file'])}</pre></details>"
    parts = sweep_page.sections(found, path.name)
    parts[0].html = text
    return f"hwswap: sweep {found.facts['name']}", f"Drawn from {escape(path.name)} alone.", parts


def run(options: argparse.Namespace) -> int:
    """Write the page and its PDF; return the exit status."""
    if options.compare:
        name, made = "compare", of_two(*options.compare)
    elif options.sweep:
        name, made = "sweep", of_sweep(options.sweep)
    else:
        name, made = "report", of_run(options.results)
    title, lead, parts = made
    try:
        options.output.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise ReportError(f"{options.output} is no folder: choose another one for --output") from error
    target = options.output / f"{name}.html"
    target.write_text(page.html(title, lead, parts, NO_CLOCK))
    print(target)
    if not options.pdf:
        return 0
    try:
        with ERR.status("printing"):
            write_pdf(target, target.with_suffix(".pdf"))
    except PdfError as error:
        # The page is what was asked for first; what is on paper before belongs to another one.
        target.with_suffix(".pdf").unlink(missing_ok=True)
        ERR.print(f"hwswap: there is no PDF: {error}", soft_wrap=True, markup=False)
        return 0
    print(target.with_suffix(".pdf"))
    return 0
