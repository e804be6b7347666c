# SPDX-License-Identifier: Apache-2.0
"""The list of all scripts and streams."""

from hwswap.stimulus.registry import SCRIPTS, Script
from hwswap.stimulus.script import Sizes
from hwswap.verify import mutate, rtl_coverage


def test_a_script_is_written_with_its_own_numbers_unless_others_are_given():
    script = Script(lambda seed, rounds, sizes, wild=0: f"{seed} {rounds} {sizes.cpus} {wild}", 3, 20)
    assert script.text() == "3 20 4 0"
    assert script.text(7, 5, Sizes(cpus=2), wild=1) == "7 5 2 1"
    assert script.text(0, 0) == "0 0 4 0"
    assert Script(lambda sizes: f"{sizes.cpus}", None).text(9) == "4"


def test_what_plays_scripts_knows_them_all():
    """A script that neither finds faults nor counts for coverage would be forgotten there."""
    tests = {test.what for test in mutate.MUTATION_TESTS} - {mutate.STREAM}
    covered = {*rtl_coverage.PLAYED, *rtl_coverage.PLAYED_LONG, "alike"}
    assert tests | covered == set(SCRIPTS)
