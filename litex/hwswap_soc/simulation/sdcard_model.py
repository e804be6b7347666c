# SPDX-License-Identifier: Apache-2.0
"""The SD card controller of the boards with a simulated card in its slot."""

from pathlib import Path

from litex.soc.integration.soc_core import SoCCore

from hwswap_soc.system.sdcard import DATA_TIMEOUT, add_sdcard

MODEL = Path(__file__).with_name("sdcard_model.v"), Path(__file__).with_name("sdcard_model.cpp")
"""The simulated card: its pins, in Verilog, and what is behind them, in C++."""


def add_simulated_sdcard(soc: SoCCore, data_timeout: float = DATA_TIMEOUT) -> None:
    """Adds controller and card to a SoC.

    Args:
        soc: the SoC.
        data_timeout: seconds that a card has for a block.
    """
    add_sdcard(soc, None, data_timeout)
    soc.platform.add_source(str(MODEL[0]))
