# SPDX-License-Identifier: Apache-2.0
"""The hwswap engine as a LiteX core: `from hwswap_litex import HwSwap`."""

from hwswap_litex.core import EngineInfo, HwSwap, InputError

__all__ = ["EngineInfo", "HwSwap", "InputError"]
