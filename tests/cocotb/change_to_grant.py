# SPDX-License-Identifier: Apache-2.0
"""The latency from a change of a bitmap to the grant that uses it, by the size of swap: `make bench-grants`.

With PACE 0 and the driver's. HWSWAP_GIB has the sizes in GiB, HWSWAP_LATENCY the cycles that an access to memory
takes. Not one of the tests: large sizes take long.
"""

import json
import os

import pytest
import simulator
from run_seed import SEED

SIZES = [int(size) for size in os.environ.get("HWSWAP_GIB", "4").split()]
RESULTS = simulator.ROOT / "build/bench-grants"


@pytest.mark.parametrize("gib", SIZES)
def test_change_to_grant(gib: int, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = simulator.grants_of(gib)
    name = f"{engine.name}/change-to-grant"
    monkeypatch.setenv("COCOTB_TEST_FILTER", "cycles_from_a_change")
    simulator.simulate("grants", engine, "none", SEED, name)
    results = [json.loads(path.read_text()) for path in sorted((simulator.BUILD / name).glob("change-to-grant-*.json"))]
    print(f"{gib} GiB, seed {SEED}: {results}")
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{gib}-gib.json").write_text(
        json.dumps({"gib": gib, "seed": SEED, "by_pace": results}, indent=2) + "\n"
    )
