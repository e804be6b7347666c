# SPDX-License-Identifier: Apache-2.0
"""From tracepoint text to records."""

import pytest
from allocators import SSD
from hwswap.kernel import ftrace
from hwswap.traces import trace
from hwswap.traces.trace import TraceError


def line(event: str, values: str, cpu: int = 0, task: str = "usemem-77") -> str:
    return f"           {task}      [{cpu:03d}] .....    12.345678: {event}: {values}\n"


ON = line("swap_device_on", f"type=1 max=1025 pages=1024 prio=-1 flags={SSD:#x}")
ALLOC = line("swap_slots_alloc", "order=0 type=1 offset=1 nr=1")
PREPARED = trace.prepare(1, 1025, SSD, -1)


def test_each_event_becomes_its_record():
    text = [
        "# tracer: nop\n",
        "# entries-in-buffer/entries-written: 9/9   #P:2\n",
        "#              | |         |   |||||     |         |\n",
        *(line("swap_bad_slot", f"type=1 offset={offset}") for offset in (0, 40, 41, 511, 512, 1025)),
        ON,
        line("sched_switch", "prev_comm=a"),
        ALLOC,
        line("swap_slots_alloc", "order=4, type=1, offset=528, nr=16", cpu=1),
        line("swap_slots_alloc", "order=9 type=0 offset=0 nr=0"),
        line("swap_slots_free", "type=1 offset=528 nr=3", cpu=1, task="<idle>-0"),
        line("swap_device_off", "type=1 stage=0"),
        line("swap_device_off", "type=1 stage=2"),
        line("swap_device_off", "type=1 stage=0"),
        line("swap_slots_free", "type=1 offset=1 nr=1"),
        line("swap_device_off", "type=1 stage=1"),
    ]
    records, cpus = ftrace.parse(text)
    assert cpus == 2
    assert records == [
        PREPARED,
        trace.bad(1, 40, 2),
        trace.bad(1, 511, 1),
        trace.bad(1, 512, 1),
        trace.swapon(1),
        trace.alloc(0, 0, (1, 1)),
        trace.alloc(1, 4, (1, 528)),
        trace.alloc(0, 9, None),
        trace.free(1, 1, 528, 3),
        trace.swapoff_begin(1),
        trace.swapon(1),
        trace.swapoff_begin(1),
        trace.free(0, 1, 1, 1),
        trace.swapoff(1),
    ]


def test_bad_slots_may_follow_their_device():
    records, _ = ftrace.parse([ON, line("swap_bad_slot", "type=1 offset=9"), ALLOC])
    assert records == [PREPARED, trace.bad(1, 9, 1), trace.swapon(1), trace.alloc(0, 0, (1, 1))]


def test_a_line_with_a_thread_group_and_one_without_a_task_are_read():
    tgid = f"  usemem-77  (     77) [000] .....  12.3: {ALLOC.split(': ', 1)[1]}"
    records, _ = ftrace.parse([ON, tgid])
    assert records[-1] == trace.alloc(0, 0, (1, 1))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ([ON, "CPU:0 [LOST 1234 EVENTS]\n", ALLOC], "line 2: the kernel lost events"),
        (["# entries-in-buffer/entries-written: 100/205   #P:1\n", ON], "line 1: the kernel kept 100 of 205"),
        ([ALLOC], "line 1: device 1 is used, but its swapon is not in the recording"),
        ([ON, line("swap_slots_alloc", "order=0 type=1 offset=1")], "swap_slots_alloc without nr"),
        ([ON, line("swap_slots_alloc", "order=2 type=1 offset=4 nr=1")], "of order 2 with 1 slots"),
        ([ON, line("swap_slots_alloc", "order=12 type=1 offset=4 nr=1")], "of order 12"),
        ([ON, ON], "line 2: device 1 comes on twice"),
        ([ON, ALLOC, line("swap_bad_slot", "type=1 offset=5")], "after its first allocation"),
        ([ON, line("swap_device_off", "type=1 stage=3")], "with stage 3"),
        ([ON, line("swap_device_visit", "type=3 state=1")], "device 3 is used, but its swapon is not in the recording"),
        ([ON, line("swap_alloc_begin", "order=0"), line("swap_alloc_begin", "order=0")], "an allocation in an alloc"),
        ([ON, line("swap_alloc_end", "order=0 found=1")], "ends an allocation that did not begin"),
        ([ON, line("swap_cluster_move", "type=1 cluster=1 flag=2")], "swap_cluster_move without order"),
        (["hello\n"], "no swap events in the text"),
        ([ON, line("swap_slots_free", "type=1 offset=510 nr=4")], "not inside one cluster"),
    ],
)
def test_what_cannot_be_used_is_refused(text, message):
    with pytest.raises(TraceError, match=message):
        ftrace.parse(text)
