# SPDX-License-Identifier: Apache-2.0
"""The lines of a workload that ask for things, and the start of a recording."""

import pytest
from hwswap.kernel import ftrace, record


def test_without_a_line_a_workload_runs_on_one_cpu_whose_clock_counts():
    made = record.machine("a", "# a workload\n", None)
    assert (made.cpus, made.icount, made.disks, made.disk_mb) == (1, True, 4, 64)


def test_a_workload_says_what_it_runs_on_and_the_user_may_say_otherwise():
    text = "# SPDX\n# machine: cpus=4 disk_mb=16\nswapctl make /dev/ram0\n"
    made = record.machine("a", text, None)
    assert (made.cpus, made.icount, made.disk_mb) == (4, False, 16)
    made = record.machine("a", text, 1)
    assert (made.cpus, made.icount, made.disk_mb) == (1, True, 16)


@pytest.mark.parametrize(
    ("line", "cpus", "message"),
    [
        ("# machine: cores=4", None, "workload a: the machine cannot have cores=4"),
        ("# machine: cpus=many", None, "the machine cannot have cpus=many"),
        ("# machine: cpus=9", None, "a guest with 9 CPUs: choose 1 to 8"),
        ("", 0, "a guest with 0 CPUs"),
    ],
)
def test_a_machine_that_there_is_not_is_refused(line, cpus, message):
    with pytest.raises(RuntimeError, match=message):
        record.machine("a", line, cpus)


@pytest.mark.parametrize("name", record.workloads())
def test_every_workload_can_be_given_its_machine_and_says_what_it_does(name):
    text = (record.WORKLOADS / f"{name}.sh").read_text()
    assert record.machine(name, text, None).cpus in (1, 2, 4)
    assert text.startswith("# SPDX-License-Identifier: Apache-2.0\n# ")
    assert "SEED" in text


def test_a_script_says_what_the_guest_needs_besides(tmp_path, monkeypatch):
    monkeypatch.setattr(record.paths, "BUILD", tmp_path)
    assert record.needed("# a workload\n") == {}
    text = "# SPDX\n# needs: memhog\n"
    with pytest.raises(RuntimeError, match="memhog is missing: run `make bench-loads` first"):
        record.needed(text)
    (tmp_path / "memhog").mkdir()
    (tmp_path / "memhog/run").write_bytes(b"x")
    assert record.needed(text) == {"memhog/run": b"x"}


def test_an_unknown_workload_is_refused(tmp_path):
    with pytest.raises(RuntimeError, match="there is no workload none; choose one of "):
        record.record("none", tmp_path / "a.hwst")


def test_every_event_is_switched_on_by_its_name():
    commands = record.trace_on(ftrace.EVENTS)
    assert "echo counter >trace_clock" in commands
    words = commands.split("for event in ")[1].split(";")[0].split()
    assert words == list(ftrace.EVENTS)
    assert set(ftrace.OPERATIONS) <= set(words)
    patch = next((record.paths.ROOT / "sw/driver/patches").glob("*-tracepoints-*.patch")).read_text()
    defined = {line.split("(")[1].split(",")[0] for line in patch.splitlines() if line.startswith("+TRACE_EVENT(")}
    defined |= {line.split(",")[1].strip() for line in patch.splitlines() if line.startswith("+DEFINE_EVENT(")}
    assert defined == set(words) | set(ftrace.READAHEAD)


def test_a_workload_says_what_is_recorded():
    assert record.events("a", "# a workload\n") == ftrace.EVENTS
    assert record.events("a", "# SPDX\n# records: readahead\n") == ftrace.READAHEAD
    with pytest.raises(
        RuntimeError, match="workload a: there is no recording of writes; choose one of allocator, read"
    ):
        record.events("a", "# records: writes\n")
