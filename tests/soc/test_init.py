# SPDX-License-Identifier: Apache-2.0
"""The initramfs's shell and tables, built for the host: what it understands, refuses, and prints."""

import io
import json
import re
import subprocess
from pathlib import Path

import pytest
from hwswap.project.paths import ROOT
from hwswap_soc.linux import devicetree, linux_table
from hwswap_soc.linux.linux_result import Collected
from rich.console import Console

HERE = Path(__file__).parent
INIT = ROOT / "litex" / "linux" / "init"
SOURCES = ("plan", "report", "files", "area", "load", "bench", "table", "shell", "commands")
CLOCK = devicetree.SIM_CLOCK_HZ


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    """The program; the device tree it finds states the simulation's clock."""
    folder = tmp_path_factory.mktemp("init")
    (folder / "clock").write_bytes(CLOCK.to_bytes(4, "big"))
    command = ["gcc", "-std=gnu11", "-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    command += [
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wno-unused-result",
        "-Wno-deprecated-declarations",
        f'-DCPU_CLOCK="{folder}/clock"',
        f"-I{INIT}",
    ]
    command += ["-include", str(HERE / "firmware" / "init_host.h"), "-o", str(folder / "init")]
    command += [str(HERE / "firmware" / "init_host.c"), *(str(INIT / f"{name}.c") for name in SOURCES)]
    subprocess.run(command, check=True)
    return folder / "init"


def shell(program: Path, *lines: str) -> list[str]:
    """What the shell says to lines of commands, without its greeting and prompts."""
    done = subprocess.run(
        [program], input="".join(f"{line}\n" for line in lines), capture_output=True, text=True, check=True, timeout=60
    )
    assert not done.stderr
    greeting, _, rest = done.stdout.partition("\n")
    assert greeting == "A shell; help lists the commands."
    assert rest.count("hwswap# ") == len(lines) + 1
    return rest.replace("hwswap# ", "").splitlines()


def test_words_quotes_comments_and_several_commands(program):
    said = shell(
        program, "echo a  b;echo c ; ;echo 'd  e;'\"f > g\"#h # not this", "  ", "# nothing", "echo", "echo ''x"
    )
    assert said == ["a b", "c", "d  e;f > g#h", "", "x"]


def test_output_goes_to_a_file(program, tmp_path):
    file = tmp_path / "out put"
    said = shell(program, f"echo one >'{file}'", f'echo two>>"{file}"; cat "{file}"', f"echo three > '{file}' more")
    assert said == ["one", "two"]
    assert file.read_text() == "three more\n"
    assert shell(program, f"echo x > {tmp_path}/none/x")[0].startswith(f"{tmp_path}/none/x cannot be written")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("nothing", "no command 'nothing'"),
        ("echo 'a", "a quote is not closed"),
        ("echo a >", "name is missing"),
        ("> file", "no command before"),
        ("echo " + "x " * 64, "too many words"),
        ("cat", "usage: cat FILE..."),
        ("cat /none/such", "cannot be opened"),
        ("ls /none", "no folder"),
        ("sleep", "usage: sleep"),
        ("sleep 1s", "the time is a number"),
        ("swapon", "usage: swapon"),
        ("swapon -p 99999 /none", "the priority is a number up to 32767"),
        ("swapon -x /none", "usage: swapon"),
        ("swapctl", "usage: swapctl make|on|off"),
        ("swapctl make -p 3 /none", "a priority is said when"),
        ("swapload", "usage: swapload"),
        ("swapload many", "the number of pages is a number"),
        ("zram 1x", "a size is a number"),
        ("zram", "usage: zram"),
        ("hwswap-bench fast", "usage: hwswap-bench"),
        ("hwswap-bench modes=off,quick", "modes= takes off, tuned"),
        ("hwswap-bench pages=few", "pages= takes a number"),
        ("hwswap-bench cpus=1,two", "cpus= takes numbers from 1 on"),
        ("hwswap-bench cpus=1,", "cpus= takes numbers from 1 on"),
        ("hwswap-bench cpus=0", "cpus= takes numbers from 1 on"),
        ("insmod", "usage: insmod"),
        ("insmod /none.ko", "is not in the initramfs"),
        ("poweroff now", "usage: poweroff"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence_and_the_shell_goes_on(program, line, words):
    said = shell(program, line, "echo still here")
    assert len(said) == 2, said
    assert words in said[0]
    assert said[1] == "still here"


def test_help_names_every_command_and_no_line_is_too_long(program):
    names = [line.split()[0] for line in shell(program, "help")]
    assert {"hwswap-bench", "swapload", "mode", "swapctl", "swapon", "swapoff", "zram", "dmesg"} <= set(names)
    assert len(names) == len(set(names)) > 15
    assert shell(program, "echo " + "x" * 5000) == ["x" * 1018], "what is too long for a line is left out"


def test_tables_are_those_of_make_soc_linux(program):
    """Both are fed the same; every figure of the one is at its place in the other."""
    collected, fed = Collected(), []
    modes = ("off", "tuned", "hint")
    for number, mode in enumerate(modes):
        for order, folio in ((0, 0), (4, 1)):
            fields = {"pages": 16 + order, "pages_out": 1016 + order, "pages_in": 16 + number, "whole_folios": order}
            fields |= {"verified_bytes": 65536 * (order + 1), "wrong_bytes": number}
            fields |= {"out_ns": 7_654_000 + 1000 * number, "in_ns": 6_543_000 + 1000 * order}
            collected.feed("HWSWAP-JSON " + json.dumps({"kind": "swap", "mode": mode, "order": order} | fields), 0)
            fed.append(f"swap {mode} {folio} " + " ".join(str(value) for value in fields.values()))
        for order in (0, 2, 9):
            for op in ("alloc", "free"):
                average = 1234 * (order + 1) * (number + 1) + len(op)
                result = {"op": op, "order": order, "n": 24, "failed": 0, "granted": 20 if mode == "hint" else 0}
                result |= {"p50": average - 77, "avg": average}
                item = {"kind": "bench", "mode": mode, "gap_ns": 1, "result": result}
                collected.feed("HWSWAP-JSON " + json.dumps(item), 0)
                fed.append(f"bench {mode} {json.dumps(result, separators=(',', ':'))}")
        for op, average in (("alloc", 777 + number), ("free", 555 - number)):
            result = {"op": op, "order": 0, "n": 24, "failed": 0, "granted": 24 if mode == "hint" else 0}
            result |= {"p50": average - 77, "avg": average}
            item = {"kind": "full", "mode": mode, "gap_ns": 1, "result": result}
            collected.feed("HWSWAP-JSON " + json.dumps(item), 0)
            fed.append(f"full {mode} {json.dumps(result, separators=(',', ':'))}")
    collected.modes["hint"].mirror = {"differences": 3}
    fed.append("mirror hint 3")
    done = subprocess.run(
        [program, "table"], input="\n".join(fed) + "\n", capture_output=True, text=True, check=True, timeout=60
    )
    console = Console(width=200, record=True, file=io.StringIO())
    for table in (
        linux_table.swap_table(collected, CLOCK),
        linux_table.placed_table(collected),
        linux_table.cycles_table(collected),
    ):
        console.print(table)

    def rows(text: str) -> dict[str, list[str]]:
        found = {}
        for line in re.sub("[│┃]", "  ", text).splitlines():
            cells = re.split(r"\s{2,}", line.strip())
            if len(cells) == 1 + len(modes) or len(cells) == 2 * len(modes):
                found[cells[0].replace(", 4 kB folios", ", 4 kB").replace(", 64 kB folios", ", 64 kB")] = cells[1:]
        return found

    ours, theirs = rows(done.stdout), rows(console.export_text())
    assert {
        "allocate order 9",
        "free order 0",
        "free order 0, 90 % full",
        "pages out",
        "bytes wrong",
        "CPU cycles a page in, 64 kB",
    } <= ours.keys()
    for name, cells in ours.items():
        expected = theirs[name if name in theirs else name.removeprefix("order ")]
        assert cells == expected, name
