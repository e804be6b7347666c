# SPDX-License-Identifier: Apache-2.0
"""Typing into the simulated console: the harness is a stand-in that speaks its protocol."""

import json
import sys
from pathlib import Path

import pytest
from hwswap_soc.linux.linux_session import PROMPT, Typist
from hwswap_soc.simulation.run import run

HARNESS = f"""#!{sys.executable}
# A console that prompts, and says every line again.
import signal, sys
signal.signal(signal.SIGTERM, lambda *_: (print("C 99", flush=True), sys.exit(0)))
print("L 1 booted", flush=True)
if "--keyboard" not in sys.argv:
    print("L 2 no keyboard", flush=True)
    sys.exit(0)
print("P 3 half a li", flush=True)
print("L 4 half a line", flush=True)
while True:
    print("P 5 {PROMPT}", flush=True)
    line = sys.stdin.readline()
    print("L 6 {PROMPT}" + line.rstrip(), flush=True)
"""


@pytest.fixture
def model(tmp_path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    facts = {"cpu": "rocket", "own_clock": False, "waves": False, "ram_size": 1 << 20}
    (folder / "model.json").write_text(json.dumps(facts))
    (folder / "soc-sim").write_text(HARNESS)
    (folder / "soc-sim").chmod(0o755)
    (tmp_path / "image").write_bytes(b"program")
    return folder


def test_commands_are_typed_one_a_prompt_and_the_last_prompt_ends_the_run(model, tmp_path):
    result = run(model, tmp_path / "image", max_seconds=30, on_waiting=Typist(["swaps", "echo x"]))
    said = ["booted", "half a line", f"{PROMPT}swaps", f"{PROMPT}echo x", PROMPT]
    assert result.reason == "stop"
    assert [line.rstrip() for line in result.lines] == [line.rstrip() for line in said]


def test_without_a_typist_there_is_no_keyboard(model, tmp_path):
    assert run(model, tmp_path / "image", max_seconds=30).lines == ["booted", "no keyboard"]
