# SPDX-License-Identifier: Apache-2.0
"""The initramfs's shell, built for the host: what it understands, refuses, and prints."""

import subprocess
from pathlib import Path

import pytest
from hwswap.project.paths import ROOT

HERE = Path(__file__).parent
INIT = ROOT / "litex" / "linux" / "init"
SOURCES = ("plan", "report", "files", "area", "load", "bench", "shell", "commands")


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    """The program."""
    folder = tmp_path_factory.mktemp("init")
    command = ["gcc", "-std=gnu11", "-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    command += [
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wno-unused-result",
        "-Wno-deprecated-declarations",
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
        ("hwswap-bench modes=off,quick", "modes= takes off, hint"),
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
