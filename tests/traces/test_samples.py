# SPDX-License-Identifier: Apache-2.0
"""What is read of a stock kernel, from trees of files as kernels of several ages show them."""

import json
from pathlib import Path

import pytest
from fakes import Kernel
from hwswap.traces import samples
from hwswap.traces.samples import SampleError, System


@pytest.fixture
def kernel(tmp_path):
    made = Kernel(
        tmp_path / "root",
        swaps=[("/dev/sda2", "partition", 4095, 100, -2), ("/a\\040file", "file", 511, 0, 5)],
        sizes={1: {"swpout": 0, "swpin": 0}, 9: {"swpout": 7, "swpout_fallback": 3}},
        disks={"sda": (1, 0)},
    )
    made.put("sys/block/sda/sda2/partition", "2\n")
    made.write()
    return made


class Clock:
    """Time that passes only where it is waited for; before each sample the kernel does something."""

    def __init__(self, step=lambda number: None):
        """Begin; `step` is told how often was waited."""
        self.now = 1000.0
        self.number = 0
        self.step = step

    def __call__(self):
        """Return the time."""
        return self.now

    def wait(self, seconds):
        """Let time pass."""
        self.number += 1
        self.step(self.number)
        self.now += seconds


def take(kernel, path, seconds=3.0, interval=1.0, step=lambda number: None):
    clock = Clock(step)
    return samples.take(System(kernel.root), path, seconds, interval, clock=clock, wait=clock.wait)


def test_what_is_read_is_what_is_there(kernel, tmp_path):
    def step(number):
        kernel.vmstat["pswpout"] = 10 * number
        kernel.write()

    path = tmp_path / "a.samples.jsonl"
    assert take(kernel, path, step=step) == 4
    loaded = samples.read(path)
    assert (loaded.kernel, loaded.cpus, loaded.interval) == ("6.12.9-stock", 4, 1.0)
    assert [sample.seconds for sample in loaded.taken] == [0.0, 1.0, 2.0, 3.0]
    assert [sample.vmstat["pswpout"] for sample in loaded.taken] == [0, 10, 20, 30]
    first = loaded.taken[0]
    assert "nr_free_pages" not in first.vmstat
    disk, file = first.swaps
    assert (disk.name, disk.partition, disk.pages, disk.used, disk.priority) == ("/dev/sda2", True, 4095, 100, -2)
    assert (disk.rotational, disk.can_discard) == (True, False)
    assert (file.name, file.partition, file.pages, file.used, file.priority) == ("/a file", False, 511, 0, 5)
    assert file.rotational is None
    assert first.sizes == {1: {"swpout": 0, "swpin": 0}, 9: {"swpout": 7, "swpout_fallback": 3}}


def test_a_whole_disk_and_one_behind_a_link_are_found(kernel):
    kernel.swaps = [("/dev/nvme0n1", "partition", 4095, 0, -1), ("/dev/mapper/swap", "partition", 4095, 0, -1)]
    kernel.disks = {"nvme0n1": (0, 4096), "dm-0": (1, 0)}
    kernel.write()
    kernel.put("dev/dm-0", "")
    (kernel.root / "dev/mapper").mkdir()
    (kernel.root / "dev/mapper/swap").symlink_to("../dm-0")
    one, other = System(kernel.root).swaps()
    assert (one.rotational, one.can_discard) == (False, True)
    assert (other.rotational, other.can_discard) == (True, False)


@pytest.mark.parametrize(("text", "number"), [("0", 1), ("0-7", 8), ("0-1,4-6,9", 6)])
def test_cpus_are_counted(kernel, text, number):
    kernel.cpus = text
    kernel.write()
    assert System(kernel.root).cpus() == number


def test_gaps_name_the_orders_that_are_not_known(kernel):
    found = samples.gaps(System(kernel.root).sample(0))
    assert len(found) == 2
    assert found[0].endswith("count as order 0: 2, 3, 4, 5, 6, 7, 8")
    assert "/a file rotates is not known" in found[1]


def test_a_kernel_that_counts_huge_pages_alone_tells_order_9(tmp_path):
    old = Kernel(tmp_path, swaps=[("/dev/sda", "partition", 511, 0, -2)], disks={"sda": (0, 0)})
    old.vmstat |= {"thp_swpout": 4, "thp_swpout_fallback": 1}
    old.write()
    found = samples.gaps(System(tmp_path).sample(0))
    assert [text.rpartition(": ")[2] for text in found[:1]] == ["1, 2, 3, 4, 5, 6, 7, 8"]
    assert found[1].endswith("of all orders but order 9")
    old.vmstat = {"pswpout": 1}
    old.write()
    found = samples.gaps(System(tmp_path).sample(0))
    assert found[0].endswith("1, 2, 3, 4, 5, 6, 7, 8, 9")
    assert found[1].endswith("of all orders")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda kernel: kernel.swaps.clear(), "no swap is active"),
        (lambda kernel: kernel.vmstat.clear(), "has no pswpout"),
        (lambda kernel: kernel.swaps.append(("x y", "partition", 1, 0, 0)), "a line that is not understood: 'x y"),
    ],
)
def test_what_cannot_be_sampled_is_one_sentence_and_leaves_no_file(kernel, tmp_path, change, message):
    change(kernel)
    kernel.write()
    with pytest.raises(SampleError, match=message):
        take(kernel, tmp_path / "a.jsonl")
    assert not (tmp_path / "a.jsonl").exists()


def test_a_kernel_without_swap_is_refused(tmp_path):
    with pytest.raises(SampleError, match="there is no /proc/swaps"):
        System(tmp_path).swaps()


@pytest.mark.parametrize(("seconds", "interval"), [(1.0, 2.0), (1.0, 0.0), (1.0, -1.0), (0.0, 0.5)])
def test_times_that_make_no_sense_are_refused(kernel, tmp_path, seconds, interval):
    with pytest.raises(SampleError, match="choose one from 0.01 s to the whole time"):
        take(kernel, tmp_path / "a.jsonl", seconds, interval)


def test_a_third_of_a_second_is_taken_four_times(kernel, tmp_path):
    assert take(kernel, tmp_path / "a.jsonl", 0.3, 0.1) == 4


def test_an_interruption_leaves_what_was_sampled(kernel, tmp_path):
    def step(number):
        if number == 3:
            raise KeyboardInterrupt

    path = tmp_path / "a.jsonl"
    with pytest.raises(KeyboardInterrupt):
        take(kernel, path, 60, 1, step)
    assert len(samples.read(path).taken) == 3
    whole = path.read_text()
    path.write_text(whole[:-20])  # killed while it wrote
    assert len(samples.read(path).taken) == 2


def edit(path: Path, number: int, change) -> None:
    lines = path.read_text().splitlines()
    values = json.loads(lines[number])
    change(values)
    lines[number] = json.dumps(values)
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize(
    ("number", "change", "message"),
    [
        (0, lambda values: values.update(version=9), "samples of format hwswap-samples, version 9"),
        (0, lambda values: values.pop("cpus"), "not a file of samples"),
        (2, lambda values: values.pop("vmstat"), "line 3 is no sample"),
        (1, lambda values: values["swaps"][0].update(used=5000), "/dev/sda2 has 5000 of 4095 slots in use"),
        (1, lambda values: values["sizes"].update({"10": {}}), "orders are 1 to 9"),
    ],
)
def test_a_damaged_file_is_refused(kernel, tmp_path, number, change, message):
    path = tmp_path / "a.jsonl"
    take(kernel, path)
    edit(path, number, change)
    with pytest.raises(SampleError, match=message):
        samples.read(path)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"[]\n", b"{}\n", b'{"format": 3\n'])
def test_something_else_is_no_file_of_samples(tmp_path, content):
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    with pytest.raises(SampleError, match="not a file of samples"):
        samples.read(path)


def test_a_file_that_is_not_there_is_one_sentence(tmp_path):
    with pytest.raises(SampleError, match="No such file"):
        samples.read(tmp_path / "none.jsonl")
