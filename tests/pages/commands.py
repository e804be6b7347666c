# SPDX-License-Identifier: Apache-2.0
"""Every command of README and of the pages, run as it is written: `make test-commands`.

A page's fenced blocks hold commands, output or Python; a command begins with a word of WORDS. They are run from the
root of the clone in the order of the pages, README first, as some need the files of one before them. Commands that
cannot be run here are skipped with their reason. `make test` leaves this file out by its name: it takes hours.
"""

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hwswap.project.paths import ROOT

PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    "litex/README.md",
    "litex/hwswap_litex/README.md",
    *sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs").glob("*.md")),
]
WORDS = re.compile(r"(make|\./hwswap|sim/|build/|pip|python|insmod|gtkwave|for|[A-Z_]+=\S)")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
COMMENT = re.compile(r"\s+#.*|^#.*")

ELSEWHERE = {
    r"make (test|test-soc|format)|./hwswap check reports": "make test-full does it, or make lint",
    r"make (demo|soc-linux|soc-linux-smp|bench-loads|bench-offload|bitstreams|experiments)\b.*": "hours: run by itself",
    r"make (bitstream|flash) .*SEEDS=4": "hours: make bitstream with one seed is run",
    r"(pip|python) .*": "make test-soc does it, in an environment of its own",
    r"(for|make -C linux) .*": "sim/setup/build kernel modules does it, with a source of Linux",
    r"insmod .*": "in a guest: make test-system does it",
    r"gtkwave .*": "takes a screen",
    r".*IMAGE=program.bin.*": "takes the reader's own program",
    r".*SCHEDULER=tcp:.*|.*SLURM=.*": "takes other machines",
    r".*difference-SEED.*": "takes a stream that a run with a difference has kept",
}
"""Commands that are not run here -> why."""

INSTEAD = {
    r"(make flash .*)": r"\1 DRY_RUN=1",
    r"(./hwswap soc flash .*)": r"\1 --dry-run",
    r"(.*)FILE=my.toml(.*)": r"\1FILE=sim/sweeps/example.toml\2",
    r"make compare .*": "make compare A=results B=results",
    r"make report .*": "make report RESULTS=results",
}
"""Commands that are run in another form: no board is there, and files and figures are the reader's own."""


@dataclass(frozen=True)
class Command:
    """A command: its page, the assignments of its block before it, and its text."""

    page: str
    before: str
    text: str


def commands(page: str, text: str) -> Iterator[Command]:
    """Return the commands of a page."""
    for language, block in FENCE.findall(text):
        if language:
            continue
        before = ""
        for line in block.replace("\\\n", " ").splitlines():
            command = COMMENT.sub("", line).strip()
            if re.fullmatch(r"[A-Z]+=\S+", command):
                before += command + "\n"
            elif WORDS.match(command):
                yield Command(page, before, " ".join(command.split()))


pytestmark = pytest.mark.timeout(4 * 3600)

PASSED_ON = re.compile(r"(HWSWAP_|PYTEST_|MAKE|MFLAGS).*|REPORT|SHORT|FROM|SEED")
"""Variables that a reader's shell does not have; make passes on those it was called with."""

ALL = [each for page in PAGES for each in commands(page, (ROOT / page).read_text())]


@pytest.fixture(scope="module", autouse=True)
def nothing_left() -> Iterator[None]:
    """Remove files that commands leave in the root of the clone, but not those that were there before."""
    before = set(ROOT.glob("my.*"))
    yield
    for left in set(ROOT.glob("my.*")) - before:
        left.unlink()


@pytest.mark.parametrize("command", ALL, ids=lambda each: f"{Path(each.page).stem}: {each.text}")
def test_command_of_page_as_written_succeeds(command: Command) -> None:
    for pattern, why in ELSEWHERE.items():
        if re.fullmatch(pattern, command.text):
            pytest.skip(why)
    text = command.text
    for pattern, other in INSTEAD.items():
        text = re.sub(f"^{pattern}$", other, text)
    # As a reader's shell has it, not as pytest does.
    kept = {name: value for name, value in os.environ.items() if not PASSED_ON.fullmatch(name)}
    script = f"set -e\n{command.before}{text}\n"
    done = subprocess.run(["bash", "-c", script], cwd=ROOT, env=kept, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{text}: exit status {done.returncode}\n{(done.stdout + done.stderr)[-3000:]}"
