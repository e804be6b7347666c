# SPDX-License-Identifier: Apache-2.0
"""Draws docs/verdict.svg: what an allocation costs, software's and the engine's, from the tables of docs/results.md.

`make verdict` draws it; with --check nothing is written, and the exit status is 1 if the picture is another.
"""

import re
import sys
from dataclasses import dataclass
from html import escape
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
PICTURE = FOLDER / "verdict.svg"
LEFT, RIGHT, TOP, ROW, WIDTH = 250, 560, 66, 21, 760
"""Pixels: where the scale begins and ends, the first line, a line, the picture."""

MOST = 2.75
"""Where the scale ends, in parts of what the kernel's allocator (or ours by its rules) takes."""

TUNED, ENGINE = "#8a6d1b", "#1f5fa8"


@dataclass
class Row:
    """One line: what the kernel's rules in software take, tuned software if it was measured, and the engine."""

    label: str
    stock: float
    tuned: float | None
    engine: float

    def numbers(self) -> str:
        """Return the figures as they are in the table."""
        return " : ".join("-" if value is None else f"{value:,.0f}" for value in (self.stock, self.tuned, self.engine))


def table(text: str, beginning: str) -> dict[str, list[str]]:
    """Return the rows of the table whose head begins so, by their first cell."""
    lines = text.splitlines()
    heads = [at for at, line in enumerate(lines) if line.startswith(f"| {beginning}")]
    if len(heads) != 1:
        sys.exit(f"docs/results.md has {len(heads)} tables that begin with '{beginning}'")
    rows = {}
    for line in lines[heads[0] + 2 :]:
        if not line.startswith("|"):
            break
        name, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        rows[name] = cells
    return rows


def number(cell: str, part: int = 0) -> float:
    """Return one of the numbers that a cell separates by strokes."""
    return float(re.sub(r"[^\d.]", "", cell.split(" / ")[part]))


def panels(text: str) -> list[tuple[str, list[Row]]]:
    """Return the lines, under what they are about."""
    bare = table(text, "CPU cycles a call on the simulated SoC")
    linux = table(text, "CPU cycles a call in Linux")
    guest = table(text, "guest instructions a call, p50 / average over everything")

    def on_metal(cpu: str, what: str) -> Row:
        stock, tuned, register = (number(cell) for cell in bare[f"{cpu}: allocate / free {what}"][:3])
        return Row(f"{cpu}, {what}", stock, tuned, register)

    def in_linux(order: int) -> Row:
        off, hint = (number(cell) for cell in linux[f"allocate order {order}"][:2])
        return Row(f"order {order}", off, None, hint)

    def in_guest(order: int) -> Row:
        unpatched, _, hint = (number(cell, 1) for cell in guest[f"allocate order {order}"][:3])
        return Row(f"order {order}", unpatched, None, hint)

    states = ("order 0, empty", "order 4, fragmented", "order 9, empty")
    return [
        (
            "Bare metal on the SoC: the engine answers by MMIO (CPU cycles, make bench-soc)",
            [on_metal(cpu, what) for cpu in ("VexRiscv", "Rocket") for what in states],
        ),
        (
            "Linux on the SoC's Rocket, empty device: grants (CPU cycles, make soc-linux)",
            [in_linux(k) for k in (0, 4, 9)],
        ),
        ("Linux in a guest, engine behind PCI: grants (instructions, make demo)", [in_guest(k) for k in (0, 4, 9)]),
    ]


def x_of(ratio: float) -> float:
    """Return where a ratio is on the scale."""
    return LEFT + (RIGHT - LEFT) * ratio / MOST


def words(x: float, y: float, text: str, more: str = "") -> str:
    """Return a line of text."""
    return f'<text x="{x:g}" y="{y:g}"{more}>{escape(text)}</text>'


def dot(ratio: float, y: float, engine: bool) -> str:
    """Return a mark: a disc for the engine, a square for tuned software."""
    x = x_of(ratio)
    if engine:
        return f'<circle cx="{x:.1f}" cy="{y:g}" r="5" fill="{ENGINE}"/>'
    return (
        f'<rect x="{x - 4.5:.1f}" y="{y - 4.5:g}" width="9" height="9" fill="#fff" stroke="{TUNED}" stroke-width="2"/>'
    )


def picture(text: str) -> str:
    """Return the picture of the tables in a page."""
    made = panels(text)
    lines = sum(len(rows) for _, rows in made)
    bottom = TOP + lines * ROW + len(made) * 30
    body = [
        words(
            12, 22, "Cost of an allocation, the kernel's rules in software = 1", ' font-size="15" font-weight="bold"'
        ),
        dot(0, 42, engine=False).replace(f'x="{x_of(0) - 4.5:.1f}"', 'x="14"'),
        words(30, 46, "tuned software"),
        dot(0, 42, engine=True).replace(f'cx="{x_of(0):.1f}"', 'cx="150"'),
        words(162, 46, "engine"),
        words(LEFT + 20, 46, "left of 1 is cheaper", ' fill="#444"'),
        words(WIDTH - 12, 46, "software : tuned : engine", ' text-anchor="end" fill="#444"'),
    ]
    y = TOP
    for title, rows in made:
        body.append(words(12, y + 14, title, ' font-weight="bold"'))
        y += 24
        for row in rows:
            middle = y + ROW / 2
            body.append(f'<path d="M{LEFT} {middle:g}H{RIGHT}" stroke="#ddd"/>')
            body.append(words(24, middle + 4, row.label))
            if row.tuned is not None:
                body.append(dot(row.tuned / row.stock, middle, engine=False))
            body.append(dot(row.engine / row.stock, middle, engine=True))
            body.append(words(WIDTH - 12, middle + 4, row.numbers(), ' text-anchor="end" fill="#444"'))
            y += ROW
        body.append(f'<path d="M{x_of(1):.1f} {y - len(rows) * ROW}V{y}" stroke="#333"/>')
        y += 6
    for mark in (0, 0.5, 1, 1.5, 2, 2.5):
        body.append(words(x_of(mark), bottom + 14, f"{mark:g}", ' text-anchor="middle" fill="#444"'))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 26}" font-family="sans-serif" '
        'font-size="12.5">\n<!-- SPDX-License-Identifier: Apache-2.0 -->\n'
        "<!-- Drawn by docs/verdict.py from the tables of docs/results.md: make verdict -->\n"
        f'<rect width="{WIDTH}" height="{bottom + 26}" fill="#fff"/>\n'
    )
    return head + "\n".join(body) + "\n</svg>\n"


def main() -> int:
    """Draw it, or compare it with the one that is there."""
    drawn = picture((FOLDER / "results.md").read_text())
    if "--check" in sys.argv[1:]:
        if drawn == PICTURE.read_text():
            return 0
        print(
            "docs/verdict.svg is not that of docs/results.md: run `make verdict` and commit the result", file=sys.stderr
        )
        return 1
    PICTURE.write_text(drawn)
    return 0


if __name__ == "__main__":
    sys.exit(main())
