# SPDX-License-Identifier: Apache-2.0
"""Sweep files: which points follow, and one sentence for each thing that is wrong."""

from pathlib import Path

import pytest
from hwswap.sweep import plan

EXAMPLE = Path(__file__).parents[2] / "sim/sweeps/example.toml"
STREAM = "[load.a]\nstream = 100\n"


def names(text: str) -> list[str]:
    return [str(point) for point in plan.parse(text, "x").points]


def test_all_combinations_are_points():
    text = f'[grid]\npolicy = ["linux", "indexed"]\nlatency = [16, 50]\nseed = [1, 2]\n{STREAM}'
    assert len(names(text)) == 8
    assert names(f"{STREAM}") == ["default, a, linux, latency 16, seed 1"]


def test_a_recorded_trace_is_measured_once_unless_something_is_drawn():
    text = '[grid]\npolicy = ["linux", "random-trunk"]\nseed = [1, 2]\n[load.t]\ntrace = "tests/data/swarm.hwst.gz"\n'
    assert names(text) == [
        "default, t, linux, latency 16",
        "default, t, random-trunk, latency 16, seed 1",
        "default, t, random-trunk, latency 16, seed 2",
    ]
    assert len(names(text.replace("seed =", "stall = [30]\nseed ="))) == 4


def test_a_stream_fits_the_smallest_engine():
    text = f'[grid]\nengine = ["default", "wide", "4x2x256"]\n{STREAM}'
    load = plan.parse(text, "x").points[0].load
    assert (load.devices, load.cpus, load.clusters, load.span) == (4, 2, 256, 24)


def test_what_is_excluded_is_left_out():
    text = f'[grid]\npolicy = ["linux", "indexed"]\nlatency = [16, 50]\n{STREAM}'
    text += '[[exclude]]\npolicy = "indexed"\nlatency = 50\n'
    assert len(names(text)) == 3


def test_the_example_is_one():
    found = plan.read(EXAMPLE)
    assert found.name == "example"
    assert len(found.points) == len({str(point) for point in found.points}) == 45


def test_a_result_has_another_name_when_anything_it_is_made_of_is_another():
    one, two = plan.parse(f"[grid]\nlatency = [16, 50]\n{STREAM}", "x").points
    known = {plan.key(one, "s", "p"), plan.key(two, "s", "p"), plan.key(one, "t", "p"), plan.key(one, "s", "q")}
    longer = plan.parse("[load.a]\nstream = 101\n", "x").points[0]
    assert len(known | {plan.key(longer, "s", "p")}) == 5
    assert plan.load_key(one, "s") == plan.load_key(two, "s"), "the operations are the same at any latency"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[grid", "it is not TOML"),
        ("[grid]\n", "there is no load"),
        (f"[gird]\n{STREAM}", "the file has 'gird', which means nothing there"),
        (f"[grid]\nlatencies = [1]\n{STREAM}", "grid has 'latencies'"),
        (f"[grid]\nlatency = 16\n{STREAM}", "grid.latency has to be a list"),
        (f"[grid]\nlatency = []\n{STREAM}", "at least one value"),
        (f"[grid]\nlatency = [0]\n{STREAM}", "a value of grid.latency is 0: it has to be a whole number from 1"),
        (f"[grid]\nlatency = [true]\n{STREAM}", "a value of grid.latency is True"),
        (f"[grid]\nlatency = [16, 16]\n{STREAM}", "grid.latency has a value twice"),
        (f'[grid]\nengine = ["huge"]\n{STREAM}', "names engine 'huge': there are default, wide, dram, and sizes"),
        (f'[grid]\npolicy = ["fast"]\n{STREAM}', "grid.policy names 'fast': there are linux"),
        (f'[grid]\nload = ["b"]\n{STREAM}', "grid.load names 'b', of which there is no table"),
        ("[load.a]\n", "load.a has to have either 'trace', a file, or 'stream'"),
        ('[load.a]\ntrace = "nowhere.hwst"\n', "load.a.trace names nowhere.hwst, which is not there"),
        ("[load.a]\nstream = 0\n", "load.a.stream is 0"),
        ('[load.a]\nstream = 9\nfeatures = ["x"]\n', "load.a.features has to be a list of some of discard"),
        ("[load.a]\nstream = 9\ndevices = 33\n", "load.a: devices is 33: choose 1 to 32"),
        (f'[grid]\nengine = ["dram"]\npolicy = ["indexed"]\n{STREAM}', "engine dram has no index"),
        (f'{STREAM}[[exclude]]\nload = "a"\n', "nothing is left to be measured"),
        (f'name = "../x"\n{STREAM}', "name is '../x'"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(tmp_path, hwswap, text, said):
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises(plan.SweepError, match=r"^[^\n]+$") as caught:
        plan.read(path)
    assert str(caught.value).startswith(f"{path}: ") and said in str(caught.value)


def test_the_command_says_it_and_fails(tmp_path, hwswap):
    path = tmp_path / "wrong.toml"
    path.write_text("[load.a]\nstream = 0\n")
    for name, said in ((path, "load.a.stream is 0"), (tmp_path / "none.toml", "cannot be read: No such file")):
        done = hwswap("sweep", name)
        assert done.returncode == 1 and done.stdout == ""
        assert len(done.stderr.splitlines()) == 1 and said in done.stderr
