# SPDX-License-Identifier: Apache-2.0
"""Bad input is found before the long part: one sentence, status 2, nothing begun and nothing lost."""

import os
import re
import resource
import shutil
import signal
import sys
from pathlib import Path

import pytest
from hwswap.cli import main as cli
from hwswap.cli import steps
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
        ("bench loads memhog none", "there is no load 'none': choose of hot-set"),
        ("bench loads --columns fast", "there is no column 'fast': choose of unpatched, off, hint"),
        ("bench loads --runs 0", "0 is too few: choose 1 or more"),
        ("check reports none", "there is no report 'none': choose of "),
        ("check reports --modes off,on", "there is no mode 'on': choose of unpatched, off, hint"),
        ("soc linux --modes on", "there is no mode 'on': choose of unpatched, off, hint"),
        ("soc bench --dram-latency 1", "1: choose 2 to 60000"),
        ("soc bench --engine-ratio 0", "0: choose 0.05 to 20"),
        ("trace replay none --latency 0", "0: choose 1 to 100000"),
        ("trace replay none", "hwswap: none: No such file or directory\n"),
        ("experiments zoned", "there is no experiment 'zoned': choose of swapoff, offsets, cache"),
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
        ("/dev/full", "/dev/full is a device or a pipe, not a file: name a file"),
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
        (["regress", "SEEDS=0"], "SEEDS=0 is too few: choose 1 or more"),
        (["regress", "SEED=007"], "SEED=007 is no number"),
        (["witness", f"SEED={1 << 64}"], f"SEED={1 << 64} is no number: give one in decimal digits, 2^64 - 1 at most"),
        (["soc-model", "CPU=nope"], "CPU=nope is not known: choose vexriscv, rocket or rocket4"),
        (["bitstream", "LIMIT=nope"], "LIMIT=nope is not known: choose routable or part"),
        (["bitstream", "PROFILE=nope"], "hwswap: profile 'nope' is not known: choose one of"),
        (["bitstream", "SOC_CLUSTERS=abc"], "hwswap: SOC_CLUSTERS is abc, no number"),
        (["bench-loads", "LOADS=nope"], "hwswap: there is no load 'nope': choose of hot-set"),
        (["bench-offload", "PART=nope"], "hwswap: argument --part: invalid choice: 'nope'"),
        (["formal", "PROOF=nope"], "hwswap: there is no proof 'nope': choose of finder"),
        (["fmax", "GRADES=6,9"], "hwswap: there is no grade '9': choose of 6, 7, 8, 8_5G"),
        (["soc-linux-smp", "HARTS=5"], "hwswap: argument --harts: '5': give rising numbers"),
        (["soc-linux", "MODES=nope"], "hwswap: there is no mode 'nope': choose of unpatched"),
        (["bench-soc", "ENGINE_RATIO=0"], "hwswap: argument --engine-ratio: 0: choose 0.05 to 20"),
        (["soc-sim", "DRAM_LATENCY=1"], "hwswap: argument --dram-latency: 1: choose 2 to 60000"),
        (["soc-sim", "IMAGE=nope"], "No rule to make target 'nope'"),
        (["sweep", "FILE=nope"], "No rule to make target 'nope'"),
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


def test_what_the_makefile_gives_a_command_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """All commands that are asked before anything is built for them: none lacks a word."""
    monkeypatch.setenv("HWSWAP_ASKED", "1")
    found = re.findall(r"^(\S+): command =", (ROOT / "Makefile").read_text(), re.MULTILINE)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    for target in found:
        said = run("make", "-n", "--old-file=setup", target, cwd=ROOT, env=clean, timeout=60).stdout
        module, words = re.search(r"HWSWAP_ASKED=1 .* python -m (\S+) (.*)", said.replace("\\\n", " ")).groups()
        assert (cli if module == "hwswap" else steps).main(words.split()) == 0
    assert found


def test_the_version_and_the_commands_are_told_before_the_set_up(tmp_path: Path) -> None:
    for name in ("hwswap", "pyproject.toml", "sim"):
        if (ROOT / name).is_dir():
            (tmp_path / name).symlink_to(ROOT / name)
        else:
            shutil.copy(ROOT / name, tmp_path)
    assert re.fullmatch(r"hwswap [\d.]+\n", run(tmp_path / "hwswap", "--version", check=True).stdout)
    said = run(tmp_path / "hwswap", "--help", check=True).stdout
    assert all(f"\n  {name}: {text}\n" in said for name, (text, _) in cli.COMMANDS.items())


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


def test_loads_without_a_model_of_the_engine_boots_no_guest(monkeypatch: pytest.MonkeyPatch, refused, tmp_path) -> None:
    monkeypatch.setenv("HWSWAP_DEVICE_GRANTS_ONLY", str(tmp_path / "device"))
    monkeypatch.setattr("hwswap.loads.command.run_column", lambda *_: pytest.fail("a guest was booted"))
    for kernel in ("KERNEL", "KERNEL_UNPATCHED"):
        (tmp_path / kernel).touch()
        monkeypatch.setenv(f"HWSWAP_{kernel}", str(tmp_path / kernel))
    assert "device is missing" in refused("bench", "loads", "usemem-random", "--columns", "unpatched,hint")


def test_a_cache_of_another_user_is_told_from_a_set_up_that_is_missing(tmp_path: Path) -> None:
    (tmp_path / "sim").symlink_to(ROOT / "sim")
    text = (ROOT / "sim/setup/env").read_text()
    program = text.replace('. "$(dirname "$0")/lib.sh"', f'. "{ROOT}/sim/setup/lib.sh"; HWSWAP_ROOT={tmp_path}')
    assert program != text

    def said() -> str:
        done = run("bash", "-c", program, "env", "true", timeout=60)
        assert done.returncode == 2
        return done.stderr

    assert "the set-up is not done: run 'make setup'" in said()
    (tmp_path / "build").mkdir()
    (tmp_path / "build/python").symlink_to("/nobody/has/this")
    assert "build/python is in another user's cache, or was removed from it: run 'make setup'" in said()
