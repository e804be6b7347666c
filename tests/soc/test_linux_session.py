# SPDX-License-Identifier: Apache-2.0
"""Typing into the simulated console, and the card in its slot: the harness is a stand-in that speaks its protocol."""

import json
import sys
from pathlib import Path

import pytest
from hwswap_litex import InputError
from hwswap_soc.linux.linux_session import CARD_FOUND, PROMPT, Typist
from hwswap_soc.simulation.run import run

HARNESS = f"""#!{sys.executable}
# A console that prompts, says every line again, and shows what the card holds.
import pathlib, select, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: (print("C 99", flush=True), sys.exit(0)))
print("L 1 booted", flush=True)
if "--keyboard" not in sys.argv:
    print("L 2 no keyboard", flush=True)
    sys.exit(0)
card = pathlib.Path("sdcard.img")
print("P 3 half a li", flush=True)
print("L 4 half a line", flush=True)
if card.exists() and card.read_bytes()[:4] == b"late":
    print("P 5 {PROMPT}", flush=True)
    print("L 5 {PROMPT}[1.0] mmcblk0: mmc0:0001 SD 8 MiB", flush=True)
    time.sleep(0.2)
    print("L 6 typed" if select.select([sys.stdin], [], [], 0)[0] else "L 6 not typed", flush=True)
    print("L 7 [1.1]  mmcblk0: p1 p2", flush=True)
    print("L 7", sys.stdin.readline().rstrip(), flush=True)
while True:
    print("P 5 {PROMPT}", flush=True)
    line = sys.stdin.readline()
    print("L 6 {PROMPT}" + line.rstrip(), flush=True)
    if line.startswith("card"):
        print("L 7", card.read_bytes()[:4].decode() if card.exists() else "no card", flush=True)
        card.open("r+b").write(b"done")
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
    card = tmp_path / "card"
    card.write_bytes(b"held" + bytes((1 << 19) - 4))
    result = run(
        model, tmp_path / "image", max_seconds=30, on_waiting=Typist(["card", "echo x"]), on_line=None, sdcard=card
    )
    said = ["booted", "half a line", f"{PROMPT}card", "held", f"{PROMPT}echo x", PROMPT]
    assert result.reason == "stop"
    assert [line.rstrip() for line in result.lines] == [line.rstrip() for line in said]
    assert card.read_bytes()[:4] == b"done", "what the SoC writes is in the file"


def test_nothing_is_typed_before_the_card_is_found(model, tmp_path):
    card = tmp_path / "card"
    card.write_bytes(b"late" + bytes((1 << 19) - 4))
    typist = Typist(["swaps"], after=CARD_FOUND)
    result = run(model, tmp_path / "image", max_seconds=30, on_waiting=typist, on_line=typist.hear, sdcard=card)
    said = ["booted", "half a line", f"{PROMPT}[1.0] mmcblk0: mmc0:0001 SD 8 MiB", "not typed"]
    said += ["[1.1]  mmcblk0: p1 p2", "swaps", PROMPT]
    assert result.reason == "stop"
    assert [line.strip() for line in result.lines] == [line.strip() for line in said]


def test_without_a_typist_there_is_no_keyboard(model, tmp_path):
    assert run(model, tmp_path / "image", max_seconds=30).lines == ["booted", "no keyboard"]


def test_a_card_that_cannot_be_is_said(model, tmp_path):
    odd, empty = tmp_path / "odd", tmp_path / "empty"
    odd.write_bytes(bytes(513))
    empty.touch()
    for card, words in ((tmp_path / "none", "cannot be read and written"), (odd, "513 bytes"), (empty, "0 bytes")):
        with pytest.raises(InputError, match=words):
            run(model, tmp_path / "image", sdcard=card)
    facts = json.loads((model / "model.json").read_text()) | {"cpu": "vexriscv"}
    (model / "model.json").write_text(json.dumps(facts))
    with pytest.raises(InputError, match="has no SD card"):
        run(model, tmp_path / "image", sdcard=odd)
