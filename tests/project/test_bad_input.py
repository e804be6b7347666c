# SPDX-License-Identifier: Apache-2.0
"""Bad input is found before the long part: one sentence, status 2, nothing begun and nothing lost."""

import os
import resource
import signal
import sys
from pathlib import Path

import pytest
from hwswap.cli import main as cli
from hwswap.project import paths
from programs import run

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "(see hwswap --help)\n"),
        ("bench", "(see hwswap bench --help)\n"),
        ("stream", "(see hwswap stream --help)\n"),
        ("witness --seed x", "(see hwswap witness --help)\n"),
        ("fuzz --operations 0", "(see hwswap fuzz --help)\n"),
        ("stream --seed 1 --ops 0 -o a.hwst", "ops is 0"),
        ("stream --seed 1 --ops 30 --with zoned -o a.hwst", "a stream cannot have zoned"),
        ("trace convert none -o b.hwst", "No such file"),
        ("bench loads none", "there is no load 'none': choose of hot-set"),
        ("bench loads --columns fast", "'fast' is no column: choose of unpatched, off"),
        ("bench loads --runs 0", "0 is too few: choose 1 or more"),
        ("experiments zoned", "there is no experiment zoned: choose swapoff, offsets, cache, devices, fallbacks"),
    ],
)
def test_words_that_make_no_command_are_refused(words: str, said: str, tmp_path: Path, monkeypatch, refused) -> None:
    monkeypatch.chdir(tmp_path)
    assert said in refused(*words.split())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", ["demo", "trace record brief -o a.hwst", "fuzz"])
@pytest.mark.parametrize("seed", ["-1", str(1 << 64), "one"])
def test_a_seed_that_is_none_is_refused(command: str, seed: str, refused) -> None:
    assert seed in refused(*command.split(), f"--seed={seed}")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("-", "nothing is written to standard output: name a file"),
        ("missing/a.hwst", "make it first, or name another"),
        (".", "is a folder: name a file in it"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_before_anything_runs(
    name: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused
) -> None:
    monkeypatch.chdir(tmp_path)
    assert said in refused("trace", "record", "brief", "-o", name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["flash", "BOARD=nope"], "hwswap: board 'nope' is not known: choose one of"),
        (["linux-card", "BOARD=ulx3s"], "hwswap: the ULX3S has 32 MB of RAM, too little for Rocket"),
        (["regress", "SEEDS=abc"], "SEEDS=abc is no number: give one in decimal digits"),
        (["fuzz", "OPERATIONS=1e7"], "OPERATIONS=1e7 is no number: give one in decimal digits"),
    ],
)
def test_make_refuses_before_it_builds(words: list[str], said: str) -> None:
    """The set-up is taken as done, so that the step after it comes first."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = run("make", "--old-file=setup", *words, cwd=ROOT, env=clean, timeout=60)
    assert done.returncode == 2
    assert said in done.stderr
    assert "making" not in done.stdout + done.stderr


def test_a_disk_that_is_full_leaves_the_old_file_and_no_partial_one(tmp_path: Path, refused) -> None:
    """A limit on the size of files stands for the disk."""
    made, path = tmp_path / "a.hwst", tmp_path / "b.hwst"
    assert cli.main(["stream", "--seed", "3", "--ops", "3000", "-o", str(made)]) == 0
    path.write_bytes(b"what was there before")
    limits, action = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        said = refused("trace", "convert", made, "-o", path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, action)
    assert said == f"hwswap: {path}: File too large\n"
    assert path.read_bytes() == b"what was there before"
    assert sorted(tmp_path.iterdir()) == [made, path]


def test_a_run_that_is_interrupted_leaves_the_files_of_the_one_before(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    with paths.replaced(folder) as part:
        (part / "log").write_text("first")
    with pytest.raises(KeyboardInterrupt), paths.replaced(folder) as part:
        (part / "log").write_text("second")
        raise KeyboardInterrupt
    assert (folder / "log").read_text() == "first"
    with paths.replaced(folder) as part:
        assert not list(part.iterdir())
    assert not list(folder.iterdir())


def test_sigterm_ends_a_command_as_ctrl_c_does(tmp_path: Path) -> None:
    """The clean-up of the command runs."""
    script = (
        "import os, pathlib, signal, sys\n"
        "from hwswap.cli import main\n"
        "from hwswap.kernel import witness\n"
        "def run(_):\n"
        "    try:\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "        signal.pause()\n"
        "    finally:\n"
        f"        pathlib.Path({str(tmp_path / 'cleaned')!r}).touch()\n"
        "witness.run = run\n"
        "sys.exit(main.main(['witness']))\n"
    )
    done = run(sys.executable, "-c", script, timeout=60)
    assert (done.returncode, done.stderr) == (130, "hwswap: interrupted\n")
    assert (tmp_path / "cleaned").exists()


def test_what_was_not_made_is_named_with_the_command_that_makes_it(monkeypatch: pytest.MonkeyPatch, refused) -> None:
    monkeypatch.setattr("hwswap.kernel.witness.run", lambda _: paths.need(paths.BUILD / "nothing/here"))
    assert refused("witness").endswith("nothing/here is missing: run `make nothing` first.\n")


def test_a_cache_of_another_user_is_told_from_a_set_up_that_is_missing(tmp_path: Path) -> None:
    (tmp_path / "sim").symlink_to(ROOT / "sim")
    text = (ROOT / "sim/setup/env").read_text()
    program = text.replace('. "$(dirname "$0")/lib.sh"', f'. "{ROOT}/sim/setup/lib.sh"; HWSWAP_ROOT={tmp_path}')
    assert program != text

    def said() -> str:
        done = run("bash", "-c", program, "env", "true", timeout=60)
        assert done.returncode == 1
        return done.stderr

    assert "the set-up is not done: run 'make setup'" in said()
    (tmp_path / "build").mkdir()
    (tmp_path / "build/python").symlink_to("/nobody/has/this")
    assert "build/python is in another user's cache, or was removed from it: run 'make setup'" in said()
