# SPDX-License-Identifier: Apache-2.0
"""The phases of `make test`: what passed is not run again while its inputs are the same; and what prune removes."""

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[2]
SETUP = ROOT / "sim/setup"
DAY = 86_400


@pytest.fixture
def project(tmp_path):
    """A project of its own with the scripts, a source, and an empty cache."""
    scripts = tmp_path / "sim/setup"
    scripts.mkdir(parents=True)
    for name in ("lib.sh", "phase", "prune"):
        shutil.copy(SETUP / name, scripts)
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a").write_text("1")
    (tmp_path / "cache").mkdir()
    return tmp_path


def run(project: Path, script: str, *words: str, **environment: str) -> subprocess.CompletedProcess:
    """Runs one of the scripts."""
    known = {"PATH": os.environ["PATH"], "HOME": str(project), "HWSWAP_CACHE": str(project / "cache")}
    command = [str(project / "sim/setup" / script), *words]
    return subprocess.run(command, env=known | environment, capture_output=True, text=True, check=False)


def phase(project: Path, *words: str, **environment: str) -> subprocess.CompletedProcess:
    """Runs a phase that counts how often it is run, and leaves a report."""
    counting = "echo x >>count; echo '<testsuite/>' >build/reports/TEST-a.xml"
    return run(project, "phase", "one", *words, "--", "bash", "-c", f"{counting}; {environment.pop('then', 'true')}",
               **environment)  # fmt: skip


def runs(project: Path) -> int:
    """How often it was run."""
    return len((project / "count").read_text().split())


def test_what_passed_is_run_again_only_when_an_input_changed(project):
    assert phase(project, "src", "word").returncode == 0
    shutil.rmtree(project / "build")
    again = phase(project, "src", "word")
    assert again.returncode == 0 and runs(project) == 1
    assert "passed before: " in again.stdout and "FRESH=1" in again.stdout
    assert (project / "build/reports/TEST-a.xml").exists(), "the tests it counted are counted again"
    assert "passed before" in (project / "build/reports/phases").read_text()
    phase(project, "src", "another word")
    assert runs(project) == 2
    (project / "src/a").write_text("2")
    phase(project, "src", "word")
    assert runs(project) == 3
    phase(project, "src", "word", FRESH="1")
    assert runs(project) == 4


def test_what_passed_without_a_report_is_not_run_again_either(project):
    for _ in range(2):
        done = run(project, "phase", "bare", "src", "--", "bash", "-c", "echo x >>count")
        assert done.returncode == 0, done.stderr
    assert runs(project) == 1
    assert "passed before" in (project / "build/reports/phases").read_text()


def test_a_change_of_the_makefile_counts_only_where_a_target_does_something_else(project):
    for name in ("phases.mk", "sbt"):
        shutil.copy(SETUP / name, project / "sim/setup")
    for name in ("hw/src", "hw/project", "sim/setup/jvm", "build"):
        (project / name).mkdir(parents=True)
    for name in ("hw/build.sbt", "hw/test.sbt"):
        (project / name).write_text("")
    (project / "build/python").symlink_to(project)
    makefile = project / "Makefile"

    def make(text: str) -> int:
        """Runs the phase by such a Makefile; returns how often its target was made so far."""
        makefile.write_text(text)
        known = {"PATH": os.environ["PATH"], "HOME": str(project), "HWSWAP_CACHE": str(project / "cache")}
        command = ["make", "-C", project, "-f", "sim/setup/phases.mk", "test-hw"]
        done = subprocess.run(command, env=known, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return runs(project)

    target = "test-hw:\n\t@echo x >>count\n"
    assert [make(target), make(target)] == [1, 1]
    assert make(target + "other:\n\t@true\n") == 1
    assert make(target.replace(">>count", ">>count; true")) == 2


def imports_of(path: Path) -> set[str]:
    """Returns the modules that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
    return found


def imports(folder: Path) -> set[str]:
    """Returns the modules that a folder's tests import."""
    return set().union(*map(imports_of, folder.rglob("*.py")))


def needed(graph: grimp.ImportGraph, direct: set[str]) -> set[str]:
    """Returns the packages of modules and of what they import; the command line loads what it is asked for."""
    found, left = set(direct), [*direct]
    while left:
        module = left.pop()
        if not module.startswith("hwswap.cli"):
            new = graph.find_modules_directly_imported_by(module) - found
            found |= new
            left += new
    return {module.split(".")[1] for module in found if "." in module}


@pytest.mark.parametrize(
    ("phase", "folders"), [("test-cocotb", ["cocotb"]), ("test-trace", ["rtl", "scale"]), ("test-system", ["system"])]
)
def test_the_packages_that_tests_import_are_inputs_of_their_phase(phase, folders):
    text = (SETUP / "phases.mk").read_text()
    variables = dict(re.findall(r"^([\w-]+_packages) := (.*)$", text, re.MULTILINE))
    named = variables[f"{phase}_packages"]
    named = variables.get(named.strip("$()"), named)
    graph = grimp.build_graph("hwswap", cache_dir=None)
    direct = set().union(*(imports(ROOT / "tests" / folder) for folder in folders)) & graph.modules
    assert direct
    assert needed(graph, direct) == set(named.split())


def commands() -> list[list[str]]:
    """Returns the phases of `make test` in their order, each as the words of its call."""
    command = ["make", "-C", str(ROOT), "--no-print-directory", "--dry-run", "-f", "sim/setup/phases.mk", "all"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.replace("\\\n", " ")
    return [shlex.split(line) for line in said.splitlines() if line.startswith("sim/setup/phase ")]


def named_by(words: list[str]) -> str:
    """Returns a phase's name."""
    return words[1]


def pytest_words(words: list[str]) -> list[str]:
    """Returns what pytest is told in a phase, after its report; of another phase nothing."""
    return words[words.index("pytest") + 2 :] if "pytest" in words[words.index("--") :] else []


def test_what_once_failed_runs_first_each_time_and_once():
    phases = commands()
    (first, *others) = [words for words in phases if pytest_words(words)]
    assert named_by(first) == "failed-seeds"
    assert first[2] == "--", "no inputs: it runs each time"
    assert pytest_words(first) == ["tests/test_failed_seeds.py"]
    (rest,) = [words for words in others if named_by(words) == "pytest"]
    assert "--ignore=tests/test_failed_seeds.py" in pytest_words(rest)


MARK = "pytest.mark." + "fresh"  # in two parts, as this file has no such test


def collected(*words: str) -> list[str]:
    """Returns the tests that pytest would run, without their parameters."""
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return [line.partition("[")[0] for line in done.stdout.splitlines() if "::" in line]


FRESH = {"tests/cocotb", "tests/rtl", "tests/system"}
"""Folders of random tests whose phases are not run again while their inputs are the same."""


def test_a_few_random_tests_of_each_folder_run_each_time_and_once():
    phases = {named_by(words): words for words in commands()}
    fresh = phases["fresh"]
    assert fresh[2] == "--", "no inputs: it runs each time"
    assert pytest_words(fresh)[:2] == ["-m", "fresh"]
    assert {word for word in pytest_words(fresh) if "/" in word} == FRESH
    others = [phases[name] for name in ("test-cocotb", "test-trace", "test-system")]
    assert all(pytest_words(words)[:2] == ["-m", "not fresh"] for words in others)
    given = {Path(word) for words in others for word in pytest_words(words) if word.startswith("tests/")}
    left_out = {str(path.parent if path.suffix else path) for path in given}
    assert left_out >= FRESH
    tests = collected("-m", "fresh", *sorted(FRESH))
    assert {str(Path(name).parent) for name in tests} == FRESH
    assert {f"tests/system/test_{name}.py" for name in ("fuzz_guest", "witness_guest", "lockstep_fresh")} == {
        name.partition("::")[0] for name in tests if name.startswith("tests/system/")
    }
    # What is marked elsewhere would not be run each time, or by two phases.
    marked = {str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("*.py") if MARK in path.read_text()}
    assert marked == {name.partition("::")[0] for name in tests}


def test_what_conftest_imports_is_an_input_of_what_it_is_for():
    """Also where tests import nothing of its package."""
    text = (SETUP / "phases.mk").read_text()
    (named,) = re.findall(r"^of_tests = ((?:.*\\\n)*.*)$", text, re.MULTILINE)
    graph = grimp.build_graph("hwswap", cache_dir=None)
    left = [*(imports_of(ROOT / "tests/conftest.py") & graph.modules - {"hwswap", "hwswap.project"})]
    assert left
    for module in left:
        assert f"sim/{module.replace('.', '/')}.py" in named.split()
        left += [each for each in graph.find_modules_directly_imported_by(module) if each not in left]


def test_what_failed_or_names_no_inputs_is_run_every_time(project):
    for number in (1, 2):
        failed = phase(project, "src", then="exit 3")
        assert failed.returncode == 3 and runs(project) == number
    assert "FAILED (3)" in (project / "build/reports/phases").read_text()
    for number in (3, 4):
        assert phase(project).returncode == 0 and runs(project) == number


def test_an_input_that_is_not_there_is_an_error(project):
    wrong = phase(project, "src/b")
    assert wrong.returncode == 1 and "there is no src/b" in wrong.stderr


def entry(project: Path, name: str, days: int, mib: int = 1) -> Path:
    """An entry of the cache that was last used so many days ago."""
    path = project / "cache" / name
    path.mkdir()
    (path / "data").write_bytes(os.urandom(mib << 20))
    used = time.time() - days * DAY
    os.utime(path, (used, used))
    return path


def test_prune_removes_what_was_not_used_for_long_but_nothing_in_use(project):
    old, new = entry(project, f"model-{'a' * 16}", 40), entry(project, f"model-{'b' * 16}", 3)
    used, foreign = entry(project, f"model-{'c' * 16}", 50), entry(project, "ccache", 90)
    half = entry(project, f"kernel-{'d' * 16}.part", 60)
    (project / "build").mkdir()
    (project / "build/model").symlink_to(used)
    done = run(project, "prune", "--days", "30")
    assert done.returncode == 0, done.stderr
    assert [path.exists() for path in (old, new, used, foreign, half)] == [False, True, True, True, False]


def test_prune_removes_the_oldest_until_the_rest_is_small_enough(project):
    entries = [entry(project, f"model-{digit * 16}", days) for digit, days in (("a", 9), ("b", 8), ("c", 7))]
    run(project, "prune", "--gib", "1")
    assert all(path.exists() for path in entries)
    run(project, "prune", "--gib", "0")
    assert not any(path.exists() for path in entries)


@pytest.mark.parametrize("words", [(), ("--days",), ("--days", "x"), ("--all", "1")])
def test_prune_says_how_it_is_called(project, words):
    wrong = run(project, "prune", *words)
    assert wrong.returncode == 1 and "usage: prune" in wrong.stderr


def test_what_pytest_is_told_to_leave_out_is_a_phase_of_its_own():
    """Or nobody would run it."""
    root = SETUP.parents[1]
    options = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    left_out = [folder for folder in options["norecursedirs"] if folder.startswith("tests/")]
    assert left_out == ["tests/report"]
    for folder in left_out:
        target = f"test-{Path(folder).name}"
        known = ["make", "-C", str(root), "--no-print-directory", "--dry-run"]
        recipe = subprocess.run([*known, target], capture_output=True, text=True, check=True).stdout
        assert f"-m pytest {folder} " in recipe
        phases = subprocess.run(
            [*known, "-f", "sim/setup/phases.mk", "full"], capture_output=True, text=True, check=True
        ).stdout
        assert f"sim/setup/phase {target} " in phases
