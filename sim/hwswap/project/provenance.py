# SPDX-License-Identifier: Apache-2.0
"""The sources of a result: commits and hashes."""

import hashlib
import subprocess

from hwswap.project import paths


def commit() -> str:
    """The repository's commit, with "-dirty" appended when files differ from it; "unknown" outside of git."""
    try:
        return subprocess.run(
            ["git", "-C", str(paths.ROOT), "describe", "--always", "--exclude=*", "--dirty", "--abbrev=12"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def patches() -> str:
    """The first 12 hexadecimal digits of a SHA-256 over the kernel patches, names and contents, in order."""
    digest = hashlib.sha256()
    for patch in sorted((paths.ROOT / "sw/driver/patches").glob("*.patch")):
        digest.update(patch.name.encode() + b"\0" + patch.read_bytes())
    return digest.hexdigest()[:12]
