# SPDX-License-Identifier: Apache-2.0
"""Reports of the driver and the engine in software on the memory that the kernel fills for an engine."""

import re

_FOUND = re.compile(r"(?:kernel|clusters \d+ differences) (\d+)")


def differences(line: str) -> int:
    """Return the number in "clusters N differences M" or "kernel M"; -1 when the line says nothing of it."""
    found = _FOUND.fullmatch(line)
    return int(found[1]) if found else -1
