# SPDX-License-Identifier: Apache-2.0
"""The hwswap command, as a user calls it."""

import json
import re
import shutil
import sys
from pathlib import Path

import pytest
from hwswap.cli import main as cli
from hwswap.cli import steps
from hwswap.cli.parser import Parser
from hwswap.traces import trace
from programs import python, run

ROOT = Path(__file__).parents[2]


@pytest.fixture
def made(tmp_path):
    path = tmp_path / "a.hwst.gz"
    assert cli.main(["stream", "--seed", "9", "--ops", "2000", "-o", str(path)]) == 0
    return path


def test_stream_info_and_check(made, capsys):
    assert trace.read(made).header.seed == 9
    assert cli.main(["trace", "info", str(made)]) == 0
    assert "rules of 7.3.4" in capsys.readouterr().out
    assert cli.main(["trace", "check", str(made)]) == 0
    assert "decisions are equal" in capsys.readouterr().out


def test_check_of_a_wrong_trace_exits_1_and_names_the_operation(made, capsys):
    loaded = trace.read(made)
    at = next(i for i, r in enumerate(loaded.records) if r.op == trace.Op.ALLOC)
    loaded.records[at] = loaded.records[at]._replace(type=trace.FAILED, a=0)
    trace.write(made, loaded.header, loaded.records)
    assert cli.main(["trace", "check", str(made)]) == 1
    assert f"operation {at} (ALLOC" in capsys.readouterr().err


@pytest.mark.parametrize("action", ["info", "check", "replay"])
def test_a_bad_file_is_one_sentence_and_status_2(tmp_path, refused, action):
    path = tmp_path / "x.hwst"
    path.write_bytes(b"something else entirely")
    assert "not a trace" in refused("trace", action, path)


def test_replay_without_the_program_says_what_to_do(made, refused, monkeypatch):
    monkeypatch.setenv("HWSWAP_REPLAY", "/nowhere/hwswap-replay")
    assert "run `make model` first" in refused("trace", "replay", made)


@pytest.mark.parametrize(("status", "expected"), [(0, 0), (1, 1), (3, 2)])
def test_replay_passes_on_what_the_program_says(made, tmp_path, capsys, monkeypatch, status, expected):
    """With a program of the same interface in place of the RTL, so that every exit status is seen."""
    program = tmp_path / "hwswap-replay"
    program.write_text(
        f"#!{sys.executable}\nimport json, sys\na = sys.argv\n"
        'open(a[a.index("--json") + 1], "w").write(json.dumps(a))\n'
        f'print("operation 7: expected x, got y")\nsys.exit({status})\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("HWSWAP_REPLAY", str(program))
    report = tmp_path / "report.json"
    options = ["--latency", "40", "--registers", "--json", str(report)]
    assert cli.main(["trace", "replay", str(made), *options]) == expected
    captured = capsys.readouterr()
    assert "operation 7" in captured.out + captured.err
    if status <= 1:
        assert json.loads(report.read_text())[-3:] == ["--latency", "40", "--registers"]


def test_a_stream_of_all_features_is_of_version_2_and_checked(tmp_path, capsys):
    path = tmp_path / "b.hwst"
    arguments = ["stream", "--seed", "3", "--ops", "3000", "--cpus", "64", "--with", "all", "-o", str(path)]
    assert cli.main(arguments) == 0
    assert path.read_bytes()[8] == 2
    assert "with=discard,indexed,node,rotating,scan,sequential,shared,trunk" in trace.read(path).header.workload
    assert cli.main(["trace", "check", str(path)]) == 0
    assert "decisions are equal" in capsys.readouterr().out


def test_check_of_details_names_the_forced_steps_by_cause(tmp_path, capsys):
    recorded = ROOT / "tests/data/rotating.hwst.gz"
    assert cli.main(["trace", "check", str(recorded)]) == 0
    out = capsys.readouterr().out
    assert "forced steps: " in out
    assert "a cluster's lock was taken: " in out


def commands(parser: Parser) -> set[str]:
    """Return the words that call each command that does something."""
    return {each.prog for each in parser.fill_all() if each.get_default("run")}


@pytest.mark.parametrize(("module", "made_by"), [("hwswap", cli), ("hwswap.cli.steps", steps)])
def test_what_the_makefile_calls_is_a_command(module, made_by):
    makefile = (ROOT / "Makefile").read_text().replace("\\\n", " ")
    calls = re.findall(rf"python -m {module}((?: [a-z][a-z-]*(?=\s|$))+)", makefile, re.MULTILINE)
    top = made_by.parser()
    assert {top.prog + words for words in calls} <= commands(top)


@pytest.mark.parametrize("arguments", [["trace", "info", "FILE"], ["trace", "check", "FILE"], ["--help"]])
def test_a_command_loads_no_more_than_it_needs(made, arguments):
    arguments = [str(made) if word == "FILE" else word for word in arguments]
    script = (
        "import sys; from hwswap.cli.main import main\n"
        "try: status = main(sys.argv[1:])\n"
        "except SystemExit as ended: status = ended.code\n"
        "heavy = {'litex', 'migen', 'matplotlib', 'numpy', 'hwswap_soc', 'shtab'}\n"
        "sys.exit(f'loaded: {heavy & set(sys.modules)}' if heavy & set(sys.modules) else status)\n"
    )
    done = python("-c", script, *arguments)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_shell_can_complete_every_command(shell, capsys, tmp_path):
    with pytest.raises(SystemExit) as ended:
        cli.main(["--print-completion", shell])
    assert ended.value.code == 0
    script = capsys.readouterr().out
    for words in commands(cli.parser()):
        assert words.replace(" ", "_").replace("-", "_") in script
    (tmp_path / "completion").write_text(script)
    if shutil.which(shell):
        run(shell, "-n", tmp_path / "completion", check=True)


def test_a_package_that_is_missing_is_one_sentence_and_status_2(refused, monkeypatch):
    for name in ("hwswap_soc.boards", "hwswap_soc.boards.flash"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "hwswap_soc", None)
    assert "'hwswap soc flash' needs the Python package hwswap_soc" in refused("soc", "flash")
