# SPDX-License-Identifier: Apache-2.0
"""The list of all scripts and streams."""

import importlib
import inspect
import pkgutil

from hwswap import stimulus
from hwswap.stimulus.registry import SCRIPTS, Script
from hwswap.stimulus.script import Sizes
from hwswap.verify import mutate, rtl_coverage


def generators():
    """Return what writes scripts: functions that make a text for an engine of some sizes."""
    found = {}
    for module in pkgutil.iter_modules(stimulus.__path__, f"{stimulus.__name__}."):
        for name, function in inspect.getmembers(importlib.import_module(module.name), inspect.isfunction):
            signature = inspect.signature(function)
            made = signature.return_annotation in (str, "str") and "sizes" in signature.parameters
            if made and function.__module__ == module.name and not name.startswith("_"):
                found[f"{module.name}.{name}"] = function
    return found


def test_every_generator_of_scripts_is_in_the_registry():
    found = generators()
    assert len(found) > 12
    listed = {script.generator for script in SCRIPTS.values()}
    assert {name for name, function in found.items() if function not in listed} == set()
    assert listed <= set(found.values())


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
