# SPDX-License-Identifier: Apache-2.0
"""The set-up when something is missing, interrupted or done twice: one clear sentence, nothing half made."""

import hashlib
import lzma
import os
import re
import shutil
import signal
import subprocess
import tarfile
import time
from pathlib import Path

import programs
import pytest
from hwswap.project.paths import ROOT

SETUP = ROOT / "sim" / "setup"
CLOSED_PROXY = "http://127.0.0.1:9"
"""A proxy without a network: nobody listens on the discard port."""


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """An environment with an empty cache, and a folder in front of PATH for stand-ins of programs."""
    (tmp_path / "bin").mkdir()
    return {**os.environ, "HWSWAP_CACHE": str(tmp_path / "cache"), "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}


def stand_in(env: dict[str, str], name: str, script: str) -> Path:
    """Put a shell script under the name of a program in front of PATH."""
    program = Path(env["PATH"].split(":")[0]) / name
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f"#!/bin/bash\n{script}\n")
    program.chmod(0o755)
    return program


def run(script: str, env: dict[str, str], *arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
    return programs.run(SETUP / script, *arguments, env={**env, **changes}, stdin=subprocess.DEVNULL, timeout=300)


def refused(result: subprocess.CompletedProcess[str], *words: str) -> None:
    """Check that a script failed and that its last line is one sentence with the words in it."""
    assert result.returncode != 0, result.stderr
    last = result.stderr.strip().splitlines()[-1]
    assert last.startswith("setup: error: "), result.stderr
    for word in words:
        assert word in last, last


def shell(env: dict[str, str], text: str) -> subprocess.Popen[str]:
    """Start a shell script that has the set-up's library."""
    script = f"set -euo pipefail; . {SETUP}/lib.sh; {text}"
    return subprocess.Popen(
        ["bash", "-c", script],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_too_little_space(env: dict[str, str]) -> None:
    refused(run("preflight", env, HWSWAP_MIN_FREE_GB="1000000"), "GB free", "1000000 GB", "HWSWAP_CACHE")


def test_enough_space_on_this_distribution(env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "os-release").write_text("ID=debian\nVERSION_ID=13\n")
    result = run("preflight", env, HWSWAP_MIN_FREE_GB="0", HWSWAP_OS_RELEASE=str(tmp_path / "os-release"))
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(("system", "version"), [("ubuntu", "24.04"), ("debian", "11")])
def test_unsupported_distribution(env: dict[str, str], tmp_path: Path, system: str, version: str) -> None:
    (tmp_path / "os-release").write_text(f'ID={system}\nVERSION_ID="{version}"\n')
    result = run("preflight", env, HWSWAP_OS_RELEASE=str(tmp_path / "os-release"))
    refused(result, f"'{system} {version}'", "Debian 12 and 13")


def test_cache_that_cannot_be_made(env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    refused(run("preflight", env, HWSWAP_CACHE=str(tmp_path / "file" / "cache")), "cannot be made", "HWSWAP_CACHE")


@pytest.mark.parametrize(
    ("printed", "words"),
    [
        (None, ("no Java compiler",)),
        ("javac 1.8.0_292", ("of Java 8:",)),
        ("javac 11.0.22", ("of Java 11:",)),
        ("javac 17.0.15", ()),
        ("javac 25", ()),
    ],
)
def test_java(env: dict[str, str], tmp_path: Path, printed: str | None, words: tuple[str, ...]) -> None:
    if printed:
        stand_in({"PATH": f"{tmp_path}/jdk/bin"}, "javac", f"echo {printed}")
    result = run("preflight", env, "java", JAVA_HOME=str(tmp_path / "jdk"))
    if words:
        refused(result, *words, "17 or later")
    else:
        assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    ("script", "entry", "words"),
    [
        ("python-env", "python", ("requirements.txt", "is the network there?")),
        ("kernel-source", "linux-source", ("Debian 13 root could not be made", "network")),
    ],
)
def test_without_network(env: dict[str, str], tmp_path: Path, script: str, entry: str, words: tuple[str, ...]) -> None:
    changes = dict.fromkeys(("http_proxy", "https_proxy", "HTTPS_PROXY"), CLOSED_PROXY)
    refused(run(script, env, **changes, PIP_RETRIES="0", PIP_NO_CACHE_DIR="1"), *words)
    assert nothing_kept(tmp_path, entry)


@pytest.mark.parametrize("user", ["0", "1000"])
def test_packages_that_are_missing(env: dict[str, str], tmp_path: Path, user: str) -> None:
    """Root installs them; other users are told the command."""
    stand_in(env, "id", f"echo {user}")
    stand_in(env, "dpkg-query", "for last; do :; done; case $last in bison) exit 1 ;; *) echo installed ;; esac")
    stand_in(env, "apt-get", f'echo "$@" >>{tmp_path}/calls')
    stand_in(env, "sudo", "exit 1")
    result = run("apt-packages", env)
    if user == "0":
        assert result.returncode == 0, result.stderr
        assert (tmp_path / "calls").read_text() == "-q update\ninstall --no-install-recommends -y bison\n"
    else:
        refused(result, "sudo apt-get update && sudo apt-get install", " -y bison")


def test_qemu_without_its_root_is_refused(env: dict[str, str]) -> None:
    stand_in(env, "mmdebstrap", "exit 1")
    refused(run("qemu-root", env), "Debian 13 root could not be made")


def test_kernel_tree_of_ones_own(env: dict[str, str], tmp_path: Path) -> None:
    refused(run("kernel-source", env, KERNEL_SRC=str(tmp_path)), "is not a Linux source tree")
    (tmp_path / "Makefile").write_text("VERSION = 7\nPATCHLEVEL = 3\nSUBLEVEL = 4\n")
    assert run("kernel-source", env, KERNEL_SRC=str(tmp_path)).stdout.strip() == str(tmp_path)


def package_root(env: dict[str, str], tmp_path: Path, version: str, name: str = "linux-source-7.3") -> str:
    """Have mmdebstrap's stand-in give a root with a package of that version; return the package's SHA-256."""
    tree = tmp_path / name
    tree.mkdir()
    (tree / "Makefile").write_text("SUBLEVEL = 9\n")
    package = tmp_path / "package"
    (package / "DEBIAN").mkdir(parents=True)
    (package / "DEBIAN" / "control").write_text(
        f"Package: {name}\nVersion: {version}\nArchitecture: all\nMaintainer: a <a@b.c>\nDescription: d\n"
    )
    (package / "usr" / "src").mkdir(parents=True, exist_ok=True)
    with tarfile.open(package / "usr" / "src" / f"{name}.tar.xz", "w:xz") as archive:
        archive.add(tree, name)
    fetched = tmp_path / "root" / "fetched"
    fetched.mkdir(parents=True)
    subprocess.run(["dpkg-deb", "--build", package, fetched], check=True, capture_output=True)
    stand_in(env, "mmdebstrap", f"tar -C {tmp_path}/root -c .")
    (deb,) = fetched.glob("*.deb")
    return hashlib.sha256(deb.read_bytes()).hexdigest()


def pinned(name: str) -> str:
    """Return the value of a variable in sim/setup/kernel-source."""
    found = re.search(rf"^{name}=(\S+)$", (SETUP / "kernel-source").read_text(), re.MULTILINE)
    assert found, name
    return found[1]


def nothing_kept(tmp_path: Path, entry: str = "linux-source") -> bool:
    return not [each for each in (tmp_path / "cache").glob(f"{entry}-*") if each.suffix != ".part"]


def test_another_content_of_the_pinned_kernel_source_is_refused(env: dict[str, str], tmp_path: Path) -> None:
    sha256 = package_root(env, tmp_path, pinned("version"))
    said = f"has the SHA-256 {sha256}, not {pinned('sha256')}"
    refused(run("kernel-source", env), said, "KERNEL_ANY=1")
    assert nothing_kept(tmp_path)


@pytest.mark.parametrize(
    ("offered", "words"),
    [
        (None, ("no linux-source-7.3", "KERNEL_SRC=")),
        ("7.3.10-1", ("have linux-source-7.3 7.3.10-1, not 7.3.4-1~bpo13+1", "KERNEL_ANY=1")),
        ("7.3.4-1~bpo13+1", ("7.3.4-1~bpo13+1 could not be downloaded", "try again")),
    ],
)
def test_a_kernel_source_that_is_gone(env: dict[str, str], tmp_path: Path, offered: str | None, words) -> None:
    fetched = tmp_path / "root" / "fetched"
    fetched.mkdir(parents=True)
    if offered:
        (fetched / "offered").write_text(f"{offered}\n")
    stand_in(env, "mmdebstrap", f"tar -C {tmp_path}/root -c .")
    refused(run("kernel-source", env), *words)


@pytest.mark.parametrize(("words", "version"), [((), "7.3.9-1"), (("6.12",), "6.12.9-1")])
def test_another_kernel_source_when_asked_for(env: dict[str, str], tmp_path: Path, words, version: str) -> None:
    """It has an entry of its own, and kernels of it are keyed by its content; 7.3 and 6.12 are two packages."""
    package = f"linux-source-{version.rsplit('.', 1)[0]}"
    sha256 = package_root(env, tmp_path, version, package)
    # A tree of one's own is not taken for 6.12.
    own = {"KERNEL_SRC": str(ROOT)} if words else {}
    refused(run("kernel-source", env, *words, **own), f"{package} {version}, not ", "KERNEL_ANY=1")
    assert nothing_kept(tmp_path)
    result = run("kernel-source", env, *words, KERNEL_ANY="1")
    assert result.returncode == 0, result.stderr
    assert f"{package} {version} with SHA-256 {sha256} is not the pinned " in result.stderr
    tree = Path(result.stdout.strip())
    assert (tree / "Makefile").read_text() == "SUBLEVEL = 9\n"
    assert (tree.parent / "version").read_text() == f"{version} {sha256}\n"
    refused(run("kernel-source", env, "6.6"), "knows Linux 7.3 and 6.12, and config, not 6.6")


def test_configurations_are_another_package(env: dict[str, str], tmp_path: Path) -> None:
    """Another content than the pinned one is refused, and taken when that is asked for."""
    configurations = tmp_path / "package/usr/src/linux-config-7.3"
    configurations.mkdir(parents=True)
    with lzma.open(configurations / "config.amd64_none_amd64.xz", "w") as file:
        file.write(b"CONFIG_SWAP=y\n")
    package_root(env, tmp_path, pinned("version"), "linux-config-7.3")
    refused(run("kernel-source", env, "config"), "linux-config-7.3 7.3.4-1~bpo13+1 has the SHA-256", "KERNEL_ANY=1")
    result = run("kernel-source", env, "config", KERNEL_ANY="1", KERNEL_SRC=str(ROOT))
    assert result.returncode == 0, result.stderr
    assert (Path(result.stdout.strip()) / "config.amd64_none_amd64").read_text() == "CONFIG_SWAP=y\n"


def test_the_pinned_kernel_source_is_taken(env: dict[str, str], tmp_path: Path) -> None:
    """Also by a script that changed elsewhere: the entry is keyed by the pinned values alone."""
    sha256 = package_root(env, tmp_path, pinned("version"))
    clone = tmp_path / "clone" / "sim" / "setup"
    shutil.copytree(SETUP, clone)
    script = clone / "kernel-source"
    script.write_text(script.read_text().replace(pinned("sha256"), sha256))
    calls = tmp_path / "calls"
    stand_in(env, "mmdebstrap", f"echo made >>{calls}; tar -C {tmp_path}/root -c .")

    def source() -> Path:
        return Path(programs.run(script, check=True, env=env, timeout=60).stdout.strip())

    tree = source()
    assert (tree.parent / "version").read_text() == f"{pinned('version')}\n"
    script.write_text(script.read_text() + "# a comment\n")
    assert source() == tree
    assert calls.read_text() == "made\n"


def test_result_by_its_content(env: dict[str, str]) -> None:
    """Equal results have the same name, whatever they were made from."""
    text = (
        "f() { echo $2 >$1/file; }; for of in '1 x' '2 x' '3 y'; do cached_by_content thing ${of% *} f ${of#* }; done"
    )
    out, _ = shell(env, text).communicate(timeout=60)
    first, second, third = map(Path, out.splitlines())
    assert first == second != third
    assert first.name.startswith("thing-") and (first / "file").read_text() == "x\n"
    assert (third / "file").read_text() == "y\n"


def test_failure_leaves_nothing(env: dict[str, str]) -> None:
    """Also a failure in the middle of a step, where the last command would succeed."""
    process = shell(env, "f() { echo x >$1/file; false; true; }; entry=$(cached thing 1 f); echo unreached")
    out, _ = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "unreached" not in out
    assert not (Path(env["HWSWAP_CACHE"]) / "thing-1").exists()


def test_interrupted_step_is_done_again(env: dict[str, str], tmp_path: Path) -> None:
    """A step is killed half-way; the next set-up keeps complete parts and makes the rest from nothing."""
    text = f"f() {{ echo $2 >$1/$2; touch {tmp_path}/at-$2; $3; }}; cached one 1 f first true; cached two 1 f second "
    process = shell(env, text + "'sleep 100'")
    deadline = time.monotonic() + 30
    while not (tmp_path / "at-second").exists():
        assert time.monotonic() < deadline, "the second step did not start"
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    cache = Path(env["HWSWAP_CACHE"])
    assert (cache / "one-1" / "first").exists()
    assert not (cache / "two-1").exists()
    (cache / "two-1.part" / "rest").touch()
    (tmp_path / "at-first").unlink()
    _, err = shell(env, text + "true").communicate(timeout=60)
    assert not (tmp_path / "at-first").exists(), err
    assert [entry.name for entry in (cache / "two-1").iterdir()] == ["second"]


def test_two_at_once(env: dict[str, str]) -> None:
    text = "f() { echo made >&2; sleep 1; echo x >$1/file; }; cached thing 1 f"
    results = [process.communicate(timeout=60) for process in [shell(env, text), shell(env, text)]]
    assert {out.strip() for out, _ in results} == {f"{env['HWSWAP_CACHE']}/thing-1"}
    lines = [line for _, err in results for line in err.splitlines()]
    assert sum("thing: making;" in line for line in lines) == 1
    assert "made" not in lines
    assert Path(env["HWSWAP_CACHE"], "logs", "thing-1").read_text() == "made\n"
    assert any("another set-up is making it" in line for line in lines)


def test_artefact_follows_its_sources(env: dict[str, str], tmp_path: Path) -> None:
    """The guest's programs are made again when a source changes, not when only its time does, nor half-way."""
    clone = tmp_path / "clone"
    shutil.copytree(ROOT / "sim" / "setup", clone / "sim" / "setup")
    source = clone / "sw" / "driver" / "workloads" / "x.c"
    source.parent.mkdir(parents=True)
    source.write_text("1")
    edited = "grep -q edit x.c && echo 3 >x.c || true"
    (source.parent / "Makefile").write_text(f"all:\n\tmkdir $(OUT) && cp x.c $(OUT)/x\n\t{edited}\n")
    for folder in ("sim/guest", "sim/hwswap"):
        (clone / folder).mkdir(parents=True)
    (clone / "sim" / "hwswap" / "guest").mkdir()
    for folder in ("sim/hwswap", "sim/hwswap/guest"):
        (clone / folder / "__init__.py").touch()
    (clone / "sim" / "hwswap" / "guest" / "initramfs.py").write_text("print('packed')\n")
    (clone / "build" / "modules-1").mkdir(parents=True)
    (clone / "build" / "modules").symlink_to("modules-1")

    def script(what: str) -> subprocess.CompletedProcess[str]:
        return programs.run(clone / "sim" / "setup" / "build", what, env=env, timeout=60)

    def build() -> tuple[str, str]:
        done = script("guest")
        assert done.returncode == 0, done.stderr
        return os.readlink(clone / "build" / "guest"), (clone / "build" / "guest" / "bin" / "x").read_text()

    first = build()
    os.utime(source, (1, 1))
    assert build() == first
    source.write_text("2")
    second = build()
    assert second[0] != first[0]
    assert (first[1], second[1]) == ("1", "2")
    source.write_text("edit")
    refused(script("guest"), "guest: a source was edited while it was made")
    assert build()[1] == "3\n"
    refused(script("modules"), "build/kernel is missing, which modules is made from")
    refused(script("gest"), "does not know 'gest'; it makes rtl, ", "guest[-debug|-races]")
