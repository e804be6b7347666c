# SPDX-License-Identifier: Apache-2.0
"""What is made of the console of Linux on the simulated SoC, and when that counts as failed."""

import json

import pytest
from hwswap.cli import main as cli
from hwswap_soc.linux import linux_image, linux_table
from hwswap_soc.linux.linux_result import Collected, failures
from rich.console import Console

MODES = ("off", "hint")


def line(**fields) -> str:
    """Return a line of results."""
    return "HWSWAP-JSON " + json.dumps(fields, separators=(",", ":"))


def bench(mode: str, op: str, order: int, cycles: int, placed: int, kind: str = "bench") -> str:
    """Return a line of the kernel's bench."""
    result = {"op": op, "order": order, "n": 8, "failed": 0, "granted": placed, "timer": 2}
    result |= {"min": cycles, "p50": cycles, "avg": cycles + 1, "p99": cycles + 2, "max": cycles + 3}
    return line(kind=kind, mode=mode, gap_ns=20000, result=result)


def swap(mode: str, order: int, **changes) -> str:
    """Return a line of a swap round that went well, but for what is changed."""
    fields = {"pages": 16, "pages_out": 16, "pages_in": 16, "whole_folios": order // 4, "verified_bytes": 65536}
    fields |= {"wrong_bytes": 0, "out_ns": 7_000_000, "in_ns": 6_000_000}
    return line(kind="swap", mode=mode, order=order, **(fields | changes))


def console() -> list[str]:
    """Return the console of a run that went well."""
    lines = ["OpenSBI v1.6", "[    0.000000] Linux version 7.3.4 (hwswap@localhost)", line(kind="init")]
    lines += [line(kind="area", path="/dev/ram0", pages=32768)]
    for mode in MODES:
        placed = 8 if mode == "hint" else 0
        lines += [line(kind="mode", mode=mode), swap(mode, 0), swap(mode, 4)]
        for order, cycles in ((0, 2000), (9, 60000)):
            lines += [bench(mode, "alloc", order, cycles + placed, placed), bench(mode, "free", order, cycles, 0)]
        lines += [bench(mode, "alloc", 0, 1500, placed, "full"), bench(mode, "free", 0, 1400, 0, "full")]
        counters = {}
        if placed:
            lines += [line(kind="mirror", mode=mode, clusters=64, differences=0)]
            counters = {"grants_popped": 40, "grant_units": 4200}
        lines += [line(kind="driver", mode=mode, counters=counters)]
    lines += [line(kind="held", pages=16, verified_bytes=65536, wrong_bytes=0), "HWSWAP-DONE 0"]
    return lines


def collect(lines: list[str]) -> Collected:
    """Feed the lines, a million cycles each."""
    collected = Collected()
    for number, text in enumerate(lines):
        collected.feed(text, number * 1_000_000)
    return collected


def test_a_good_run_has_no_failures():
    collected = collect(console())
    assert failures(collected, MODES) == []
    modes = [f"mode {mode}" for mode in MODES]
    assert [name for name, _ in collected.phases] == ["OpenSBI", "kernel", "init", *modes, "swapoff"]
    assert collected.orders == [0, 9]
    assert collected.report()["modes"]["hint"]["driver"]["grant_units"] == 4200


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ('"pages_out":16', '"pages_out":15', "15 went out"),
        ('"wrong_bytes":0', '"wrong_bytes":3', "3 of 65536 verified bytes are wrong"),
        ('"differences":0', '"differences":2', "what the engine reads differs"),
        ('"failed":0', '"failed":1', "1 of 8 alloc of order 0 failed"),
        ('"granted":8', '"granted":0', "hint: no folio of order 0 was placed by the engine"),
        ('"granted":8', '"granted":0', "hint: no folio of order 9 was placed by the engine"),
        ('"grants_popped":40', '"detaches":1', "gave the engine up"),
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
    assert "scan: nothing was swapped." in failures(collect(console()), ("off", "hint", "scan"))


def test_pages_that_stayed_out_count():
    lines = [
        each.replace('"pages":16,"verified_bytes":65536,"wrong_bytes":0}', '"pages":16,"wrong_bytes":9}')
        for each in console()
    ]
    assert any("stayed swapped out" in found for found in failures(collect(lines), MODES))


def test_tables_show_the_measured_numbers(tmp_path):
    collected = collect(console())
    output = Console(width=160, record=True, file=(tmp_path / "out").open("w"))
    output.print(linux_table.swap_table(collected, 100_000_000))
    output.print(linux_table.cycles_table(collected))
    output.print(linux_table.phases_table(collected, 20_000_000))
    text = output.export_text()
    # 7 ms at 100 MHz over 16 pages.
    assert "43,750" in text
    assert "2,009 (2,008)" in text
    assert "swapoff" in text
    assert f"Swapped to {collected.area['path']} and verified" in text


def test_ram_image_puts_parts_where_they_are_expected(tmp_path):
    linux_image.ram({0x8000_0000: b"firmware", 0x8300_0000: b"files", 0x8020_0000: b"kernel"}, tmp_path / "ram")
    content = (tmp_path / "ram").read_bytes()
    assert content[:8] == b"firmware"
    assert content[0x20_0000:0x20_0006] == b"kernel"
    assert content[0x300_0000:] == b"files"


def test_a_part_that_does_not_fit_is_one_sentence(tmp_path):
    with pytest.raises(linux_image.InputError, match="there is room for 2097152"):
        linux_image.ram({0x8000_0000: bytes((2 << 20) + 1)}, tmp_path / "ram")


def test_missing_parts_are_one_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(linux_image, "INITRAMFS", tmp_path / "none.cpio")
    assert cli.main(["soc", "linux", "--model", str(tmp_path), "--output", str(tmp_path / "out")]) == 1
    assert "run 'make soc-linux'" in capsys.readouterr().err
    assert cli.main(["soc", "linux", "--modes", "fast", "--output", str(tmp_path / "out")]) == 1
    assert "--modes takes some of off, hint" in capsys.readouterr().err
