# SPDX-License-Identifier: Apache-2.0
"""Programs that tests run."""

import os
import subprocess
import sys
from typing import Any


def run(*command: object, check: bool = False, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, and return all that it says, as text."""
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=check, **options)


def python(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python with the packages that the tests have."""
    path = os.pathsep.join(sys.path)
    return run(sys.executable, *arguments, env=os.environ | {"PYTHONPATH": path} | environment)
