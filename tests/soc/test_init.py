# SPDX-License-Identifier: Apache-2.0
"""The initramfs's program, built for the host, with files in a kernel's place: its actions and output for a plan."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from hwswap.project.paths import ROOT
from hwswap_soc.linux import linux_plan
from hwswap_soc.linux.linux_result import failures
from stand_ins import collect

INIT = ROOT / "litex/linux/init"
HOST = Path(__file__).parent / "firmware/init_host.h"
MODE = "write /sys/module/hwswap/parameters/mode"
BENCH = "write /sys/kernel/debug/swap_alloc_bench"
CALLS = [{"op": op, "order": 0, "n": 8, "failed": 0, "granted": 8, "avg": 2000} for op in ("alloc", "free")]
FILES = {
    "proc/vmstat": "nr_free_pages 1\nthp_swpout 9\npswpin 10\npswpout 20\n",
    "hwswap.ko": "",
    "hwswap_softgrants.ko": "",
    "sys/devices/system/cpu/online": "0-3\n",
    "sys/kernel/debug/hwswap_softgrants/stats": "grant_units 9\ngrants 40\ncycles 900\n",
    "dev/ram0": "",
    "dev/ram1": "",
    "sys/module/hwswap/parameters/mode": "off\n",
    "sys/kernel/debug/hwswap/state": "attached\n",
    "sys/kernel/debug/hwswap/stats": "grants_popped 40\ndetaches 0\n",
    "sys/kernel/debug/hwswap/engine": "build 97d1bcd2d380d270\ndevice0 pages 1 base 2 writeok 1\n",
    "sys/kernel/debug/hwswap/verify": "clusters 64 differences 0\n",
    "sys/kernel/debug/swap_alloc_bench": "".join(json.dumps(line) + "\n" for line in CALLS),
    "sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled": "never\n",
    "sys/kernel/mm/transparent_hugepage/hugepages-64kB/stats/swpout": "3\n",
}


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    output = tmp_path_factory.mktemp("init") / "init"
    command = ["gcc", "-std=gnu11", "-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    command += ["-Wall", "-Wextra", "-Werror", "-Wno-unused-result", "-Wno-unused-value"]
    subprocess.run([*command, "-include", HOST, "-o", output, *INIT.glob("*.c")], check=True)
    return output


@pytest.fixture
def boot(program, tmp_path):
    """Return a function that runs the program for words of the kernel's command line: its output, and its actions."""

    def run(words: str, **host: str) -> tuple[list[str], list[str]]:
        for name, text in FILES.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(host.get(Path(name).name, text))
        environment = dict(word.split("=", 1) for word in words.split())
        environment |= {"HOST_ROOT": str(tmp_path), "HOST_LOG": str(tmp_path / "log"), "PATH": os.environ["PATH"]}
        environment |= {name: text for name, text in host.items() if name.isupper()}
        done = subprocess.run([program], env=environment, capture_output=True, text=True, check=True, timeout=60)
        assert not done.stderr
        log = tmp_path / "log"
        return done.stdout.splitlines(), [
            line.strip() for line in log.read_text().splitlines()
        ] if log.is_file() else []

    return run


def test_a_plan_is_done_in_each_mode(boot):
    said, done = boot(linux_plan.bootargs(("off", "hint")))
    collected = collect(said)
    # The failures are the host's doing: its counters stand still, so nothing went out or in.
    assert {failure.partition(":")[0] for failure in failures(collected, ("off", "hint"))} == {"off", "hint"}
    assert all("went out" in failure for failure in failures(collected, ("off", "hint")))
    assert collected.status == 0
    assert collected.phases == ["init", "mode off", "mode hint", "swapoff"]
    assert collected.held == {"verified_bytes": 65536, "wrong_bytes": 0}
    hint = collected.modes["hint"]
    assert [(swap["order"], swap["pages"], swap["verified_bytes"]) for swap in hint.swaps] == [
        (0, 32, 131072),
        (4, 64, 262144),
    ]
    assert all(swap["out_ns"] > 0 and swap["in_ns"] > 0 for swap in hint.swaps)
    assert (hint.benches, hint.full) == (CALLS * len(linux_plan.BENCH), CALLS)
    assert (hint.bitmaps, hint.driver) == ({"clusters": 64, "differences": 0}, {"grants_popped": 40})
    assert any('"kind":"engine"' in line and "build 97d1bcd2d380d270;device0 pages 1" in line for line in said)
    assert collected.modes["off"].bitmaps is None
    start = done.index(f"{MODE} hint")
    gap = {0: 10000, 2: 40000, 4: 160000, 7: 200000, 9: 200000}
    folios = "write /sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled"
    assert done[start:] == [
        f"{MODE} hint",
        "write /sys/kernel/debug/hwswap/stats 0",
        "call madvise",
        f"{folios} always",
        "call madvise",
        f"{folios} never",
        *(f"{BENCH} {order} {each} {gap[order]}" for order, count in linux_plan.BENCH.items() for each in (1, count)),
        "swapon /dev/ram1",
        f"{MODE} off",
        f"{BENCH} fill 4095 1 10",
        f"{MODE} hint",
        *(f"{BENCH} 0 {count} 10000" for count in (1, 96)),
        f"{BENCH} drop",
        "swapoff /dev/ram1",
        "swapoff /dev/ram0",
        "unload hwswap",
    ]


def test_a_plan_for_several_harts_names_how_many_make_the_calls(boot):
    words = linux_plan.bootargs(("off",), (1, 2))
    assert " maxcpus=2 " in words
    said, done = boot(words)
    assert collect(said).status == 0
    assert [line.removeprefix(f"{BENCH} ") for line in done if line.startswith(BENCH)] == [
        *(
            f"cpus {harts} {order} {count} 0"
            for order, most in ((0, 192), (4, 24))
            for harts in (1, 2)
            for count in (1, most)
        ),
        "fill 4095 1 10",
        *(f"cpus {harts} 0 {count} 0" for harts in (1, 2) for count in (1, 96)),
        "drop",
    ]


def test_a_thread_gets_the_last_cpu_and_is_gone_while_swap_is_filled(boot):
    said, done = boot("hwswap_modes=thread,off hwswap_plan=bench:0:8:0:3,bench:0:8:0:4,fill:4096:10,bench:0:8:0:1")
    # On four CPUs the bench would be in the thread's way.
    assert [line.removeprefix("write ") for line in done[done.index(f"{MODE} off") :]] == [
        "/sys/module/hwswap/parameters/mode off",
        "load module cpu=3 clusters=256",
        *(f"/sys/kernel/debug/swap_alloc_bench cpus 3 0 {count} 0" for count in (1, 8)),
        "swapon /dev/ram1",
        "unload hwswap_softgrants",
        "/sys/module/hwswap/parameters/mode off",
        "/sys/kernel/debug/swap_alloc_bench fill 4095 1 10",
        "/sys/module/hwswap/parameters/mode off",
        "load module cpu=3 clusters=256",
        *(f"/sys/kernel/debug/swap_alloc_bench cpus 1 0 {count} 0" for count in (1, 8)),
        "/sys/kernel/debug/swap_alloc_bench drop",
        "swapoff /dev/ram1",
        "unload hwswap_softgrants",
        "/sys/module/hwswap/parameters/mode off",
        *(f"/sys/kernel/debug/swap_alloc_bench cpus {n} 0 {count} 0" for n in (3, 4) for count in (1, 8)),
        "swapon /dev/ram1",
        "/sys/module/hwswap/parameters/mode off",
        "/sys/kernel/debug/swap_alloc_bench fill 4095 1 10",
        "/sys/module/hwswap/parameters/mode off",
        *(f"/sys/kernel/debug/swap_alloc_bench cpus 1 0 {count} 0" for count in (1, 8)),
        "/sys/kernel/debug/swap_alloc_bench drop",
        "swapoff /dev/ram1",
        "swapoff /dev/ram0",
        "unload hwswap",
    ]
    own = collect(said).modes["thread"].thread
    assert [(line["full"], line["cpus"], line["calls"]) for line in own] == [(0, 3, 27), (1, 1, 9)]


def test_a_thread_on_one_cpu_is_refused(boot):
    said, _ = boot("hwswap_modes=thread hwswap_plan=bench:0:8:0:1", online="0\n")
    assert any("takes a CPU of its own" in line for line in said)


def test_the_oracle_knows_its_places(boot):
    _, done = boot("hwswap_modes=oracle hwswap_plan=bench:4:8:0:1,bench:4:8:0:2,bench:0:8:0")
    assert f"{MODE} off" in done
    assert [line for line in done if line.startswith(BENCH)] == [
        *(f"{BENCH} known 4 {count} 0" for count in (1, 8)),
        *(f"{BENCH} known 0 {count} 0" for count in (1, 8)),
    ]


def test_an_unpatched_kernel_gets_no_driver(boot):
    said, done = boot(linux_plan.bootargs(("unpatched",)))
    assert collect(said).phases == ["init", "mode unpatched", "swapoff"]
    assert not [line for line in done if "hwswap" in line]


def test_a_bit_that_changed_is_a_wrong_byte(boot):
    said, _ = boot("hwswap_modes=off hwswap_plan=swap:0:2", HOST_DAMAGE="1")
    collected = collect(said)
    assert collected.modes["off"].swaps[0]["wrong_bytes"] == 1
    assert collected.held["wrong_bytes"] == 1


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ("hwswap_plan=swap:0:1", "have to be on the kernel's command line"),
        ("hwswap_modes=off", "have to be on the kernel's command line"),
        ("hwswap_modes=off hwswap_plan=swap:0:1,quick:1", "step 2, quick, is none"),
        ("hwswap_modes=off hwswap_plan=", "step 1, , is none"),
        ("hwswap_modes=off hwswap_plan=swap:0", "step 1, swap,"),
        ("hwswap_modes=off hwswap_plan=swap:0:1:2", "step 1, swap,"),
        ("hwswap_modes=off hwswap_plan=swap:0:few", "step 1, swap,"),
        ("hwswap_modes=off hwswap_plan=swap:0:", "step 1, swap,"),
        ("hwswap_modes=off hwswap_plan=counters:1", "step 1, counters,"),
        ("hwswap_modes=off hwswap_plan=bench:0:1:2:3:4", "step 1, bench,"),
        ("hwswap_modes=off hwswap_plan=" + ",".join(["counters"] * 65), "step 65, counters,"),
    ],
)
def test_a_plan_that_is_none_changes_nothing(boot, words, what):
    said, done = boot(words)
    assert [what in line for line in said] == [False, True, False]
    assert said[1:] == [said[1], "HWSWAP-DONE 1"]
    assert said[1].startswith("init: ")
    assert not done


def test_an_engine_that_is_not_used_ends_it_with_the_drivers_words(boot):
    said, _ = boot("hwswap_modes=off,hint hwswap_plan=swap:0:1", state="not attached: build hash\n")
    assert "init: in mode hint the engine is not used: not attached: build hash" in said
    assert collect(said).status == 1


def test_a_number_that_is_missing_is_said(boot):
    said, _ = boot("hwswap_modes=off hwswap_plan=swap:0:1", vmstat="pgin 1\n")
    assert any("a number is missing in /proc/vmstat" in line for line in said)
