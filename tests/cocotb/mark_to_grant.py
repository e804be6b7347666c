# SPDX-License-Identifier: Apache-2.0
"""How long it takes from a mark to the grant that follows from it, by the size of swap: `make bench-marks`.

HWSWAP_GIB has the sizes in GiB, HWSWAP_LATENCY the cycles that an access to memory takes. Not one of the tests: the
largest size takes minutes.
"""

import json
import os

import pytest
import simulator
from run_seed import SEED

SIZES = [int(size) for size in os.environ.get("HWSWAP_GIB", "4").split()]
RESULTS = simulator.ROOT / "build/bench-marks"


@pytest.mark.parametrize("gib", SIZES)
def test_mark_to_grant(gib: int, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = simulator.grants_of(gib)
    folder = simulator.BUILD / engine.name / "mark-to-grant"
    monkeypatch.setenv("COCOTB_TEST_FILTER", "cycles_from_a_mark")
    simulator.simulate("grants", engine, "none", SEED, f"{engine.name}/mark-to-grant")
    result = {
        name: json.loads((folder / f"mark-to-grant-{name}.json").read_text()) for name in ("alone", "among-others")
    }
    print(f"{gib} GiB, seed {SEED}: {result}")
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{gib}-gib.json").write_text(json.dumps({"gib": gib, "seed": SEED, **result}, indent=2) + "\n")
