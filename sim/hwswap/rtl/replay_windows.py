# SPDX-License-Identifier: Apache-2.0
"""Replaying the readahead windows of a trace on the Verilated RTL: the engine is asked for each, the kernel's expected.

The commands go into a script of bus accesses (script.py), which hwswap-play plays.
"""

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import hwswap_map as m
from hwswap_map import Opcode, Status
from hwswap_map import Readahead as Policy

from hwswap.model.host_memory import Command, prepare
from hwswap.model.readahead import Readahead
from hwswap.project import paths
from hwswap.rtl.replay import Outcome
from hwswap.stimulus.commands import Expected
from hwswap.stimulus.script import Script
from hwswap.traces.records import Op, Record
from hwswap.traces.trace import ClusterMap, Trace, TraceError

KINDS = (Op.PREPARE, Op.SWAPON, Op.SWAPOFF_BEGIN, Op.SWAPOFF, Op.READAHEAD_STATE, Op.READAHEAD)
"""What a trace of windows holds."""

FAR = 64
"""Slots between two places that are no neighbours, in one window of no other."""


class Windows:
    """The commands that a trace of windows stands for."""

    def __init__(self) -> None:
        """Begin with an engine after reset."""
        self.clusters = ClusterMap()
        self.sizes: dict[int, int] = {}
        self.readahead = Readahead()  # as the engine has it
        self.policy = Policy.ADAPTIVE
        self.hits = 0
        self.windows = 0

    def lines(self, record: Record) -> Iterator[Expected]:
        """Yield the commands of one record."""
        op, _, order, type_, a, b, c = record
        if op == Op.PREPARE:
            self.sizes[type_] = a
            yield Expected(prepare(type_, a, self.clusters.claim(type_, a), b, c), Status.OK)
        elif op == Op.SWAPOFF:
            self.clusters.release(type_)
            del self.sizes[type_]
            yield Expected(Command(Opcode.SWAPOFF, type_), Status.OK)
        elif op in (Op.SWAPON, Op.SWAPOFF_BEGIN):
            yield Expected(Command(Opcode[Op(op).name], type_), Status.OK)
        elif op == Op.READAHEAD_STATE:
            self.policy, self.hits = Policy(order), c
            yield from self.bring(type_, Readahead(a, b))
        else:
            self.windows += 1
            self.readahead.window(a, self.hits, order, self.sizes[type_], self.policy)
            yield self.window(type_, a, self.hits, order, self.policy, (b, c))

    @staticmethod
    def window(
        type_: int, offset: int, hits: int, page_cluster: int, policy: Policy, slots: tuple[int, int]
    ) -> Expected:
        """Return a WINDOW and the slots that are expected."""
        arg1 = (
            m.MEM_TABLE_WINDOW_WINDOW_PAGE_CLUSTER.put(page_cluster)
            | m.MEM_TABLE_WINDOW_WINDOW_POLICY.put(policy)
            | m.MEM_TABLE_WINDOW_WINDOW_HITS.put(hits)
        )
        result = m.MEM_NEED_RECLAIM_SLOTS_SLOT.put(slots[0]) | m.MEM_NEED_RECLAIM_SLOTS_NR.put(slots[1])
        return Expected(Command(Opcode.WINDOW, type_, arg0=offset, arg1=arg1), Status.OK, result=result)

    def bring(self, type_: int, wanted: Readahead) -> Iterator[Expected]:
        """Yield windows that bring the engine's state about, unless it has it."""
        if self.readahead == wanted:
            return
        size = self.sizes[type_]
        if not 0 < wanted.previous < size or size < 4 * FAR or wanted.last not in [1 << i for i in range(10)]:
            raise TraceError(
                f"no windows of device {type_} leave offset {wanted.previous} and {wanted.last} slots behind"
            )
        # Places without hits that are no neighbours make windows smaller, down to 1.
        far = [at for at in (FAR, 2 * FAR, 3 * FAR) if abs(at - wanted.previous) > 1]
        while self.readahead.last > 1 or self.readahead.previous not in far:
            yield self.asked(type_, far[self.readahead.previous == far[0]], 0, 1)
        yield self.asked(type_, wanted.previous, 0, 1)
        if wanted.last > 1:
            yield self.asked(type_, far[0], 1 << 10, wanted.last.bit_length() - 1)
        assert self.readahead == wanted

    def asked(self, type_: int, offset: int, hits: int, page_cluster: int) -> Expected:
        """Return a WINDOW that is no part of the trace; what it gives is the golden model's."""
        slots = self.readahead.window(offset, hits, page_cluster, self.sizes[type_])
        return self.window(type_, offset, hits, page_cluster, Policy.ADAPTIVE, slots)


def script(trace: Trace) -> str:
    """Return the script of a trace that holds windows and no allocations."""
    for number, record in enumerate(trace.records):
        if record.op not in KINDS:
            raise TraceError(f"record {number} is no window of readahead: the two kinds cannot be replayed together")
    s = Script()
    s.after_reset()
    s.begin(m.CONTROL_ENABLE.put(1))
    windows = Windows()
    lines = [line for record in trace.records for line in windows.lines(record)]
    s.give(lines)
    s.settle()
    state = windows.readahead
    s.read(m.READAHEAD_OFFSET, m.READAHEAD_PREVIOUS.put(state.previous) | m.READAHEAD_PAGES.put(state.last))
    return s.text()


def replay(trace: Trace) -> Outcome:
    """Compare the windows of a trace with the RTL's."""
    text = script(trace)
    program = paths.need(paths.BUILD / "model" / "hwswap-play")
    with tempfile.TemporaryDirectory(prefix="hwswap-") as folder:
        path = Path(folder) / "windows"
        path.write_text(text)
        done = subprocess.run([program, path], capture_output=True, text=True, check=False)
    windows = sum(record.op == Op.READAHEAD for record in trace.records)
    said = f"all {windows:,} windows are equal" if done.returncode == 0 else done.stderr.strip()
    return Outcome(done.returncode == 0, said, {"windows": windows, "equal": done.returncode == 0})
