# SPDX-License-Identifier: Apache-2.0
"""How the programs that sim/setup/build calls end."""

import functools
import sys
from collections.abc import Callable

from hwswap_litex import InputError


def program(work: Callable[[], object]) -> Callable[[], int]:
    """Makes the main function of a program that sim/setup/build calls; it says in one sentence what stopped it.

    Args:
        work: raises InputError or OSError for what the user can do something about.

    Returns:
        A function that returns the exit status: 0, or 1 after an error, or 130 when interrupted.
    """

    @functools.wraps(work)
    def main() -> int:
        try:
            work()
        except (InputError, OSError) as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            return 130
        return 0

    return main
