# SPDX-License-Identifier: Apache-2.0
"""What is done of a sweep: a line of JSON a point, written as soon as it is measured, so that nothing is run twice."""

import json
import os
from pathlib import Path
from typing import Any

Row = dict[str, Any]


class Journal:
    """The file of points that are done."""

    def __init__(self, path: Path) -> None:
        """Open it for reading and appending; a last line that was cut off by a crash is dropped."""
        self.path = path
        self.rows: dict[str, Row] = {}
        text = path.read_text() if path.exists() else ""
        kept = text[: text.rfind("\n") + 1]
        if kept != text:
            path.write_text(kept)
        for line in kept.splitlines():
            row = json.loads(line)
            self.rows[row["key"]] = row

    def add(self, row: Row) -> None:
        """Keep a point."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps(row) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self.rows[row["key"]] = row
