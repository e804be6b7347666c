# SPDX-License-Identifier: Apache-2.0
"""The scripts of sim/hwswap/stimulus through the ports of the engine, each with all that must be seen."""

import cocotb
from hwswap.stimulus.registry import SCRIPTS
from hwswap.stimulus.script import MEMORY_BYTES

from cases.bench import ADDRESSES, SIZES, Bench
from cases.player import Player

PLAYED = {"operations": {"rounds": 2000}, "registers": {}, "errors": {}, "tables": {}, "corners": {}}
"""Scripts that take a minute at most, with the arguments of their generators."""


@cocotb.parametrize(name=list(PLAYED))
@cocotb.test()
async def a_script_sees_what_it_expects(dut, name: str):
    bench = await Bench.after_reset(dut)
    first, *lines = SCRIPTS[name].text(bench.seed, sizes=SIZES, **PLAYED[name]).splitlines()
    base = int(first.split()[2], 0)
    bench.memory.denied += [range(base), range(base + MEMORY_BYTES, ADDRESSES)]
    player = Player(bench, base)
    await player.play(lines)
    player.untouched()
