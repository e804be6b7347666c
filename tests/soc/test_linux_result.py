# SPDX-License-Identifier: Apache-2.0
"""The results from the console of Linux on the simulated SoC, and the failures found in it."""

import argparse
import json

import pytest
from hwswap_soc.linux import linux, linux_figures, linux_image
from hwswap_soc.linux.linux_result import failures
from stand_ins import collect

MODES = ("off", "hint")


def line(kind: str, mode: str = "", **fields) -> str:
    return "HWSWAP-JSON " + json.dumps({"kind": kind, "mode": mode, **fields}, separators=(",", ":"))


def bench(mode: str, op: str, order: int, cycles: int, placed: int, kind: str = "bench", **more: int) -> str:
    """Return a line of the kernel's bench."""
    result = {"op": op, "order": order, "n": 8, "failed": 0, "granted": placed, "timer": 2, **more}
    result |= {"min": cycles, "p50": cycles, "avg": cycles + 1, "p99": cycles + 2, "max": cycles + 3}
    return line(kind, mode, gap_ns=20000, result=result)


def swap(mode: str, order: int, **changes) -> str:
    """Return a line of a swap round that went well, but for `changes`."""
    fields = {"pages": 16, "pages_out": 16, "pages_in": 16, "whole_folios": order // 4, "verified_bytes": 65536}
    fields |= {"wrong_bytes": 0, "out_ns": 7_000_000, "in_ns": 6_000_000}
    return line("swap", mode, order=order, **(fields | changes))


def console() -> list[str]:
    """Return the console of a run that went well."""
    lines = ["OpenSBI v1.6", "[    0.000000] Linux version 7.3.4 (hwswap@localhost)", line("init", ns=5)]
    for mode in MODES:
        placed = 0 if mode == "off" else 8
        lines += [line("mode", mode, ns=7), swap(mode, 0), swap(mode, 4)]
        for order, cycles in ((0, 2000), (9, 60000)):
            lines += [bench(mode, "alloc", order, cycles + placed, placed), bench(mode, "free", order, cycles, 0)]
        lines += [bench(mode, "alloc", 0, 1500, placed, "full"), bench(mode, "free", 0, 1400, 0, "full")]
        if placed:
            lines += [line("bitmaps", mode, text="clusters 64 differences 0;")]
            lines += [line("driver", mode, text="grants_popped 40;detaches 0;grant_units 4200;two words more;")]
    lines += [line("held", pages=16, verified_bytes=65536, wrong_bytes=0), "HWSWAP-DONE 0"]
    return lines


def test_a_good_run_has_no_failures():
    collected = collect(console())
    assert failures(collected, MODES) == []
    modes = [f"mode {mode}" for mode in MODES]
    assert collected.phases == ["OpenSBI", "kernel", "init", *modes, "swapoff"]
    hint = collected.modes["hint"]
    assert hint.driver == {"grants_popped": 40, "grant_units": 4200}
    assert hint.bitmaps == {"clusters": 64, "differences": 0}


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ('"pages_out":16', '"pages_out":15', "15 went out"),
        ('"wrong_bytes":0', '"wrong_bytes":3', "3 of 65536 verified bytes are wrong"),
        ('65536,"wrong_bytes":0}', '65536,"wrong_bytes":9}', "stayed swapped out"),
        ("differences 0", "differences 2", "what the engine reads differs"),
        ("clusters 64 differences 0", "no such device", "what the engine reads differs"),
        ('"failed":0', '"failed":1', "1 of 8 alloc of order 0 failed"),
        ('"granted":8', '"granted":0', "hint: no folio of order 0 was placed by the engine"),
        ('"granted":8', '"granted":0', "hint: no folio of order 9 was placed by the engine"),
        ("grants_popped 40", "detaches 1", "gave the engine up"),
        ("HWSWAP-DONE 0", "HWSWAP-DONE 1", "ended with status 1"),
        ("HWSWAP-DONE 0", "", "did not come to its end"),
        ("OpenSBI v1.6", "init: the kernel does not swap to /dev/ram0 (errno 22)", "does not swap to /dev/ram0"),
        ("OpenSBI v1.6", "[    1.0] Kernel panic - not syncing: Fatal exception", "Kernel panic"),
        ("OpenSBI v1.6", "HWSWAP-JSON {half a line", "cannot be read"),
    ],
)
def test_what_went_wrong_is_said(old, new, text):
    lines = [each.replace(old, new) for each in console()]
    assert lines != console()
    assert any(text in found for found in failures(collect(lines), MODES))


def test_a_mode_that_did_not_run_is_missed():
    assert "fast: nothing was swapped." in failures(collect(console()), ("off", "fast", "hint"))


def test_what_was_swapped_is_said():
    # 7 ms at 100 MHz over 16 pages.
    assert linux_figures.swapped(collect(console()))[1] == (
        "off, order 4: 16 pages out, 1 whole folios, 43,750 cycles a page; 16 in, 37,500 cycles a page; "
        "65,536 bytes verified, 0 wrong"
    )


def test_calls_are_figures_of_two_states():
    found = linux_figures.calls(collect(console()))
    full = {figure.what for figure in found if "full" in figure.what}
    assert full == {"allocate order 0, 90 % full", "free order 0, 90 % full"}
    assert ("allocate order 9", "hint", 60008) in [(figure.what, figure.of, figure.value) for figure in found]


def test_each_number_of_harts_is_measured_by_itself_and_what_is_missing_is_said():
    lines = []
    for mode, less in (("off", 0), ("hint", 100)):
        for cpus in (1, 2):
            for op in ("alloc", "free"):
                cycles = 500 + 500 * cpus - less
                lines += [bench(mode, op, order, cycles, 8, cpus=cpus) for order in (0, 4)]
                lines.append(bench(mode, op, 0, cycles + 7, 8, "full", cpus=cpus))
    # The free of the last case: mode hint, nearly full, on two harts.
    figures, missing = linux_figures.on_harts(collect(lines[:-1]), (1, 2), ("off", "hint"))
    assert missing == ["hint: 90 % full, order 0 on 2 harts was not measured."]
    assert len(figures) == 2 * len(linux_figures.CASES) * 2 - 1
    found = {(figure.what, figure.of): figure.value for figure in figures}
    assert found["an allocation and its free, empty, order 4, 2 harts", "off"] == 3000
    assert found["an allocation and its free, 90 % full, order 0, 1 harts", "hint"] == 1814


def test_a_thread_that_grants_leaves_a_hart_out_and_its_own_cycles_are_figures():
    lines = []
    for state, kind in ((0, "bench"), (1, "full")):
        for order in (0, 4):
            lines += [bench("thread", op, order, 700, 8, kind, cpus=1) for op in ("alloc", "free")]
            own = {"full": state, "order": order, "cpus": 1, "calls": 193, "grants": 4 - state, "cycles": 9650}
            lines.append(line("thread", "thread", **own))
    figures, missing = linux_figures.on_harts(collect(lines), (1, 2), ("thread",))
    assert not missing
    found = {figure.what: (figure.value, figure.spread) for figure in figures}
    assert len(found) == 2 * len(linux_figures.CASES)
    assert found["an allocation and its free, empty, order 4, 1 harts"] == (1400, {"% by grants": 33.3})
    own = "the thread's own, per allocation and free, 90 % full, order 0, 1 harts"
    assert found[own] == (50, {"per grant": 9650 / 3})


@pytest.mark.parametrize("text", ["2", "1,1", "2,1", "1,5", "1,", "", "1,x"])
def test_numbers_of_harts_that_make_no_sense_are_refused(text):
    with pytest.raises(argparse.ArgumentTypeError, match="rising numbers of harts"):
        linux.hart_numbers(text)


def test_ram_image_puts_parts_where_they_are_expected(tmp_path):
    linux_image.ram({0x8000_0000: b"firmware", 0x8300_0000: b"files", 0x8020_0000: b"kernel"}, tmp_path / "ram")
    content = (tmp_path / "ram").read_bytes()
    assert content[:8] == b"firmware"
    assert content[0x20_0000:0x20_0006] == b"kernel"
    assert content[0x300_0000:] == b"files"


def test_a_part_that_does_not_fit_is_one_sentence(tmp_path):
    with pytest.raises(linux_image.InputError, match="there is room for 2097152"):
        linux_image.ram({0x8000_0000: bytes((2 << 20) + 1)}, tmp_path / "ram")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--modes", "off"], "run 'make soc-linux'"),
        (["--harts", "1,2", "--modes", "thread"], "run 'make soc-linux-smp'"),
        (["--modes", "fast"], "there is no mode 'fast': choose of unpatched, off, hint, thread"),
        (["--modes", "off,thread"], "give --harts 1,2 or more"),
    ],
)
def test_what_is_missing_or_unknown_is_one_sentence(options, says, tmp_path, monkeypatch, refused):
    monkeypatch.setattr(linux, "BUILD", tmp_path)
    assert says in refused("soc", "linux", *options, "-o", tmp_path)
