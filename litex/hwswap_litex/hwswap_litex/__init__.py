# SPDX-License-Identifier: Apache-2.0
"""The hwswap engine as a LiteX core: `from hwswap_litex import add_hwswap, prebuilt`.

All that is for use from outside is here: `add_hwswap` puts an engine into a SoC, `prebuilt` has its Verilog, `HwSwap`
is the core by itself, `AddressGuard`, `AxiLanes` and `LiteDramPorts` what lies between its DMA and memory. Of the
rest of the project the core needs the generated register map alone, `hwswap_map`.
"""

from hwswap_litex.address_guard import AddressGuard
from hwswap_litex.core import EngineInfo, HwSwap, InputError
from hwswap_litex.lanes import AxiLanes
from hwswap_litex.prebuilt import prebuilt
from hwswap_litex.soc import LiteDramPorts, add_hwswap

__all__ = [
    "AddressGuard",
    "AxiLanes",
    "EngineInfo",
    "HwSwap",
    "InputError",
    "LiteDramPorts",
    "add_hwswap",
    "prebuilt",
]
