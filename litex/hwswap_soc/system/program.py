# SPDX-License-Identifier: Apache-2.0
"""The end of the programs that sim/setup/build calls."""

import functools
import sys
from collections.abc import Callable

from hwswap_litex import InputError


def program(work: Callable[[], object]) -> Callable[[], int]:
    """Make the main function of a program that sim/setup/build calls; it reports an error in one sentence.

    Args:
        work: raises InputError or OSError for errors that the user can mend.

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
