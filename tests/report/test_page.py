# SPDX-License-Identifier: Apache-2.0
"""The page in a real browser: at a desk, on a telephone, in the dark and on paper; and what the command says."""

import re
from collections.abc import Iterator
from pathlib import Path

import made_results
import pytest
from hwswap.cli import main as cli
from hwswap.report import pdf
from hwswap.sweep import parquet
from playwright.sync_api import Browser, Page, sync_playwright

PHONE = {"viewport": {"width": 360, "height": 740}, "is_mobile": True, "has_touch": True}
DESK = {"viewport": {"width": 1100, "height": 800}}


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """Results of a run, a sweep among them."""
    folder = made_results.write(tmp_path_factory.mktemp("results") / "run")
    rates = [{"order": 0, "tried": 90, "failed": 0}, {"order": 4, "tried": 10, "failed": 3}]
    entry = {"kind": "alloc", "order": None, "count": 9, "mean": 6.5, "min": 6, "p50": 6, "p90": 7, "p99": 8, "max": 9}
    made = {"commit": "abcdef123456", "program": "0123", "engine": "default", "devices": 8, "cpus": 4, "clusters": 1024}
    made |= {"load": "churn", "kind": "stream", "stall": 0, "seed": 1, "operations": 100, "cycles": [entry]}
    made |= {"fall_back": rates, "statistics": {"busy_cycles": 1}}
    rows = [
        made
        | {"key": f"{policy}{latency}", "policy": policy, "latency": latency}
        | {"total_cycles": 1000 + latency, "cycles_per_operation": 10 + latency / 100}
        for policy in ("linux", "indexed")
        for latency in (16, 50)
    ]
    facts = {
        "name": "tiny",
        "file": "[grid]\n",
        "commit": "abcdef123456",
        "points": 5,
        "done": 4,
        "versions": {"dask": "1"},
    }
    (folder / "sweep/tiny").mkdir(parents=True)
    parquet.write(folder / "sweep/tiny/sweep.parquet", facts, rows)
    return folder


@pytest.fixture(scope="module")
def made(run, tmp_path_factory) -> Path:
    """The report of that run, with its PDF."""
    folder = tmp_path_factory.mktemp("report")
    assert cli.main(["report", str(run), "-o", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        running = pdf.launch(playwright)
        yield running
        running.close()


@pytest.fixture
def show(browser):
    """Return what opens a page, and fails at the end if anything was wrong there."""
    wrong: list[str] = []
    tabs: list[Page] = []

    def open_page(path: Path, media: str = "screen", **how: object) -> Page:
        tab = browser.new_context(**how).new_page()
        tab.set_default_timeout(pdf.PATIENCE_MS)
        tab.on("pageerror", lambda error: wrong.append(str(error)))
        tab.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        tab.on(
            "request", lambda asked: wrong.append(asked.url) if not asked.url.startswith(("file:", "data:")) else None
        )
        tab.emulate_media(media=media)
        tab.goto(path.as_uri(), wait_until="commit")
        tab.wait_for_selector("html[data-drawn]", state="attached")
        tabs.append(tab)
        return tab

    yield open_page
    for tab in tabs:
        tab.context.close()
    assert wrong == [], "errors, or something loaded from elsewhere"


def charts(tab: Page) -> int:
    """How many charts have a drawing with marks."""
    return tab.locator(".chart:has(.main-svg .trace)").count()


def test_at_a_desk_all_is_drawn_and_can_be_asked(made, show):
    tab = show(made / "report.html", **DESK)
    assert charts(tab) == tab.locator(".chart").count() >= 16
    assert tab.title() == "hwswap: when does offload pay?"
    assert tab.locator("main section").first.get_attribute("id") == "verdict"
    badges = tab.locator("#demo .badge").all_inner_texts()
    assert badges == ["this run, commit abcdef123456"]
    assert tab.locator("#tuned .badge").all_inner_texts() == ["on record, commit 138a430"]
    # A chart answers to a button and to the pointer.
    shown = "id => document.getElementById(id).data.map(t => t.visible !== false)"
    before = tab.evaluate(shown, "chart-demo")
    tab.locator("#chart-demo .updatemenu-button").nth(2).click()
    tab.wait_for_function(
        f"([id, b]) => JSON.stringify(({shown})(id)) !== JSON.stringify(b)", arg=["chart-demo", before]
    )
    # Where a mark is, in pixels of the page: the first row of the verdict.
    tab.locator("#chart-demo").scroll_into_view_if_needed()
    mark = tab.locator("#chart-demo .trace .point").last.bounding_box()
    tab.mouse.move(mark["x"] + mark["width"] / 2, mark["y"] + mark["height"] / 2)
    tab.wait_for_selector("#chart-demo .hovertext")
    tab.locator("#demo summary").click()
    assert "4,141 / 4,242 / 4,343" in tab.locator("#demo details").inner_text()
    # In the dark it is drawn anew, and what the button chose stays.
    asked = tab.evaluate(shown, "chart-demo")
    tab.emulate_media(color_scheme="dark")
    tab.wait_for_function("document.getElementById('chart-demo').layout.font.color === '#a3adb8'")
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"
    assert tab.evaluate(shown, "chart-demo") == asked


def test_on_a_telephone_nothing_is_wider_than_it(made, show):
    tab = show(made / "report.html", **PHONE)
    wide = tab.evaluate(
        "[...document.querySelectorAll('body *:not(svg *), .annotation-text, .xtitle')]"
        ".filter(e => !e.closest('.scroll, .picture') && !e.closest('details:not([open])')"
        " && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 200))"
    )
    assert wide == []
    assert tab.evaluate("[document.documentElement.scrollWidth, innerWidth]") == [360, 360]
    assert tab.evaluate("document.getElementById('chart-verdict').layout.dragmode") is False, (
        "a finger scrolls the page"
    )


def test_on_paper_the_tables_are_open_and_the_charts_fit(made, show):
    tab = show(made / "report.html", "print", viewport={"width": pdf.WIDTH, "height": 1000})
    assert tab.locator("details:not(.screen):not([open])").count() == 0
    assert not tab.locator("nav").is_visible()
    assert (
        tab.evaluate(
            "Math.max(...[...document.querySelectorAll('.main-svg')].map(e => e.getBoundingClientRect().width))"
        )
        <= 690
    )
    printed = (made / "report.pdf").read_bytes()
    assert printed.startswith(b"%PDF-")
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) >= 8


def test_a_sweep_is_drawn_from_its_file_alone(run, tmp_path, show):
    assert cli.main(["report", "--sweep", str(run / "sweep/tiny/sweep.parquet"), "--no-pdf", "-o", str(tmp_path)]) == 0
    tab = show(tmp_path / "sweep.html", **PHONE)
    assert charts(tab) == 2
    assert "4 of 5 points" in tab.locator("#sweep-tiny").inner_text()
    ends = tab.locator("#chart-sweep-tiny-churn .annotation-text").all_text_contents()
    assert sorted(ends) == ["indexed", "linux"]


def test_two_runs_on_a_page(run, tmp_path, show):
    other = made_results.write(tmp_path / "other", factor=2)
    assert cli.main(["report", "--compare", str(run), str(other), "--no-pdf", "-o", str(tmp_path)]) == 0
    tab = show(tmp_path / "compare.html", **DESK)
    answer = tab.locator(".answer").inner_text()
    assert "more in 9" in answer and "less in 0" in answer
    assert charts(tab) == 2
    row = tab.locator("#demo tbody tr").first
    assert row.locator("td").all_text_contents() == [
        "hint, allocate order 0, after the loads, mean",
        "4,242",
        "8,484",
        "2.000",
    ]


def test_without_results_all_is_on_record(tmp_path):
    (tmp_path / "none").mkdir()
    assert cli.main(["report", str(tmp_path / "none"), "--no-pdf", "-o", str(tmp_path)]) == 0
    page = (tmp_path / "report.html").read_text()
    assert "0 of 15 figures are of this run, 15 on record" in page
    assert 'class="badge run"' not in page


def test_a_page_that_is_made_twice_is_the_same(run, tmp_path):
    for name in ("a", "b"):
        assert cli.main(["report", str(run), "--no-pdf", "-o", str(tmp_path / name)]) == 0
    assert (tmp_path / "a/report.html").read_bytes() == (tmp_path / "b/report.html").read_bytes()


def test_without_a_browser_there_is_the_page_and_a_sentence(run, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("HWSWAP_CHROMIUM", "/nowhere/chromium")
    (tmp_path / "report.pdf").write_text("of a run before")
    assert cli.main(["report", str(run), "-o", str(tmp_path)]) == 0
    said = capsys.readouterr().err
    assert "there is no PDF: Chromium is not there: install Debian's package chromium" in said
    assert len(said.splitlines()) == 1
    assert (tmp_path / "report.html").is_file() and not (tmp_path / "report.pdf").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["/nowhere"], "there is no folder /nowhere"),
        (["--compare", "/nowhere", "record"], "there is no folder /nowhere"),
        (["--sweep", "/nowhere"], "/nowhere is not there: run `hwswap sweep` first"),
    ],
)
def test_what_is_not_there_is_one_sentence(words, said, tmp_path, capsys):
    assert cli.main(["report", *words, "--no-pdf", "-o", str(tmp_path)]) == 1
    err = capsys.readouterr().err
    assert said in err and len(err.splitlines()) == 1
