# SPDX-License-Identifier: Apache-2.0
"""The engine of a SoC: the table, the environment's changes of it, and refusals."""

import json

import pytest
from hwswap_litex import InputError
from hwswap_soc.boards import boards, profiles
from programs import python

TABLE = """
[profile.full]
devices = 4
cpus = 1
clusters = 2048
without = []
[profile.small]
devices = 2
cpus = 1
clusters = 512
without = ["core"]
added = ["grants"]
[board.one]
vexriscv = "small"
"""


@pytest.fixture
def table(tmp_path):
    """A folder with a table of two profiles."""
    (tmp_path / "profiles.toml").write_text(TABLE)
    return tmp_path


def test_a_profile_gives_the_options_of_the_emitter_and_engine_json(table):
    name = profiles.default("one", "vexriscv", table)
    found = profiles.load(name, {}, table)
    assert profiles.options(found) == [
        *("--devices", "2", "--cpus", "1", "--clusters", "512"),
        *("--no-core", "--grants"),
    ]
    assert found == {
        "devices": 2,
        "cpus": 1,
        "clusters": 512,
        "profile": "small",
        "without": ["core"],
        "added": ["grants"],
    }


def test_sizes_and_profile_of_the_environment_come_first(table):
    found = profiles.load("small", {"SOC_CLUSTERS": "1024", "SOC_DEVICES": ""}, table)
    assert (found["clusters"], found["devices"]) == (1024, 2)
    assert profiles.chosen("ecpix5", "vexriscv", {"PROFILE": "small"}) == "small"
    assert profiles.chosen(None, None, {}) == profiles.SIMULATION


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (TABLE.replace("clusters = 512", "clusters = 'many'"), "clusters is many, no number"),
        (TABLE.replace("clusters = 512\n", ""), "clusters is None, no number"),
        ("[profile", "is not TOML"),
    ],
)
def test_a_bad_profile_is_refused(tmp_path, text, says):
    (tmp_path / "profiles.toml").write_text(text)
    with pytest.raises(InputError, match=says):
        profiles.load("small", {}, tmp_path)


def test_what_is_not_in_the_table_is_refused(table):
    with pytest.raises(InputError, match="profile 'huge' is not known: choose one of full, small"):
        profiles.load("huge", {}, table)
    with pytest.raises(InputError, match="no profile for rocket on one"):
        profiles.default("one", "rocket", table)
    with pytest.raises(InputError, match="SOC_CPUS is two"):
        profiles.load("full", {"SOC_CPUS": "two"}, table)


def test_every_board_and_cpu_has_a_profile_and_the_simulation_has_everything():
    for board, cpu in boards.pairs():
        name = profiles.default(board, cpu)
        assert profiles.load(name, {})["clusters"] >= 2048, "4 GiB of swap"
    everything = profiles.load(profiles.SIMULATION, {})
    assert (everything["without"], everything["added"]) == ([], ["grants"])


def test_the_command_prints_what_the_build_reads():
    command = ["-m", "hwswap_soc.boards.profiles", "--board", "ulx3s", "--cpu", "vexriscv"]
    result = python(*command, PROFILE="grants-only")
    assert result.returncode == 0, result.stderr
    name, options, description = result.stdout.splitlines()
    assert name == "grants-only" and "--no-core" in options.split()
    assert json.loads(description)["profile"] == "grants-only"
    result = python(*command, PROFILE="x")
    assert result.returncode == 1 and result.stdout == ""
    assert result.stderr.startswith("error: profile 'x' is not known") and result.stderr.count("\n") == 1
