# SPDX-License-Identifier: Apache-2.0
"""`python -m hwswap`, the same as the `hwswap` command."""

import sys

from hwswap.cli.main import main

sys.exit(main())
