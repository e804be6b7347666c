# SPDX-License-Identifier: Apache-2.0
"""What a statistical trace says happened, beside what the tracepoints say, on the same kernel at the same time."""

import tarfile
from collections import Counter
from io import BytesIO

from hwswap.compare import check
from hwswap.guest.qemu import Guest, Machine
from hwswap.kernel import ftrace
from hwswap.kernel.record import TRACE_OFF, trace_on
from hwswap.traces import samples, statistical, trace

FILES = (
    "/proc/swaps /proc/vmstat /sys/devices/system/cpu/online /sys/block/ram*/queue/rotational "
    "/sys/block/ram*/queue/discard_max_bytes /sys/kernel/mm/transparent_hugepage/hugepages-*kB/stats/*"
)

JOB = f"""
copy() {{
	for file in {FILES}; do
		mkdir -p /tmp/samples/$1${{file%/*}}
		cat $file >/tmp/samples/$1$file
	done
}}
{trace_on(ftrace.OPERATIONS)}
swapctl make /dev/ram0
swapctl on -p 5 /dev/ram0
swapctl make /dev/ram1
swapctl on /dev/ram1
copy 0
swapload --size 6m --limit 3m --folio 64k --access random --rounds 1 --seed 1 || exit 1
copy 1
swapload --size 6m --limit 3m --folio 4k --access random --rounds 1 --seed 2 || exit 1
copy 2
swapload --size 12m --limit 4m --folio 2m --rounds 1 --seed 3 || exit 1
copy 3
{TRACE_OFF}
cat /sys/kernel/tracing/trace >/tmp/trace
swapctl off /dev/ram0 /dev/ram1
"""


def allocated(records):
    """Return allocations by order."""
    good = [record.order for record in records if record.op == trace.Op.ALLOC and record.type != trace.FAILED]
    return Counter(good)


def test_the_numbers_sampled_are_those_that_the_tracepoints_count(tmp_path, kernel_log):
    machine = Machine(cpus=1, icount=True, disks=2, disk_mb=8, memory_mb=768)
    with Guest(machine, job=JOB, log=kernel_log, boot_timeout=600) as guest:
        guest.wait_job(900).check()
        guest.run("tar -c -f /tmp/samples.tar -C /tmp/samples .").check()
        archive = guest.fetch("/tmp/samples.tar")
        text = guest.fetch("/tmp/trace").decode()
    with tarfile.open(fileobj=BytesIO(archive)) as files:
        for member in files.getmembers():
            if member.isfile():
                place = tmp_path / member.name
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(files.extractfile(member).read())
    taken = [samples.System(tmp_path / str(at)).sample(float(at)) for at in range(4)]
    assert [(swap.name, swap.pages, swap.priority) for swap in taken[0].swaps] == [
        ("/dev/ram0", 2047, 5),
        ("/dev/ram1", 2047, -1),
    ]
    assert samples.gaps(taken[0]) == []

    made = statistical.Maker(samples.Samples(guest.release, 1, 1.0, taken), seed=1).make()
    assert check.replay(made.trace).difference is None
    records, _ = ftrace.parse(text.splitlines())
    real, counted = allocated(records), made.allocated
    print(f"tracepoints {dict(real)}, counters {dict(counted)}, {made.uncounted} uncounted")
    assert {4, 9} <= set(counted)
    for order in set(real) | set(counted):
        assert abs(counted[order] - real[order]) <= 0.02 * real[order] + 2, (order, real, counted)
    for type_, swap in enumerate(taken[-1].swaps):
        used = sum(
            1 << r.order if r.op == trace.Op.ALLOC else -r.b
            for r in records
            if r.type == type_ and r.op in (trace.Op.ALLOC, trace.Op.FREE)
        )
        assert used == swap.used
