# SPDX-License-Identifier: Apache-2.0
"""Puts the tables into docs/break-even.md, between its marks, and says whether they are the calculation's."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hwswap.breakeven import report, table
from hwswap.breakeven.figures import FigureError
from hwswap.project import paths

PAGE = paths.ROOT / "docs/break-even.md"
MARKED = re.compile(r"(<!-- (\w[\w-]*): by hwswap break-even --docs -->\n)(.*?)(<!-- \2: end -->)", re.DOTALL)


def parts(made: Mapping[str, Any]) -> dict[str, str]:
    """Return the page's tables, by the name of their mark."""
    most = made["cpus"][-1]
    return {
        "amdahl": table.amdahl(made).markdown(),
        "kernel": table.kernel(made).markdown(),
        "kernel-limits": table.kernel_break_even(made, 1).markdown(),
        "register": table.register_break_even(made).markdown(),
        "cpus-alone": table.by_cpus(made, "90 % full", report.LOADS[0]).markdown(),
        "cpus-swapping": table.by_cpus(made, "90 % full", report.LOADS[1]).markdown(),
        "knees": table.knees(made).markdown(),
        "ratios": table.ratios(made).markdown(),
        "validation": table.validation(made).markdown(),
        "harts": table.harts(made).markdown(),
        "linux-harts": table.linux_harts(made).markdown(),
        "sensitivity": table.sensitivity(made).markdown(),
        "many": table.kernel_break_even(made, most).markdown(),
    }


def written(text: str, made: Mapping[str, Any]) -> str:
    """Return the page with the tables of the calculation."""
    known = parts(made)
    marks = [name for _, name, _, _ in MARKED.findall(text)]
    unknown = sorted(set(marks) - set(known))
    if unknown or not marks:
        raise FigureError(f"{PAGE} has no marks, or one of a table that is not known: {', '.join(unknown)}")
    return MARKED.sub(lambda mark: f"{mark[1]}\n{known[mark[2]]}\n\n{mark[4]}", text)


def write(made: Mapping[str, Any], path: Path = PAGE) -> None:
    """Write the tables into the page."""
    path.write_text(written(path.read_text(), made))
