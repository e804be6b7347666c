# SPDX-License-Identifier: Apache-2.0
"""The check of kernel logs finds the messages of each of the kernel's own checks, and nothing else."""

import pytest
from hwswap.guest.kernel_log import troubles

TROUBLE = """\
WARNING: possible circular locking dependency detected
WARNING: inconsistent lock state
WARNING: lock held when returning to user space!
WARNING: suspicious RCU usage
[ BUG: Invalid wait context ]
INFO: trying to register non-static key.
turning off the locking correctness validator.
DEBUG_LOCKS_WARN_ON(depth <= 0)
BUG: sleeping function called from invalid context at mm/page_alloc.c:4970
BUG: KASAN: slab-use-after-free in hwswap_update+0x1c/0x40 [hwswap]
UBSAN: shift-out-of-bounds in mm/swap_grants.c:211:17
kmemleak: Cannot allocate a kmemleak_object structure; Kernel memory leak detector disabled
page dumped because: VM_WARN_ON_FOLIO(!folio_test_locked(folio))
WARNING: mm/swapfile.c:812 at relocate_cluster+0x88/0x100, CPU#1: swapoff/77
kernel BUG at mm/swap_state.c:150!
Oops: general protection fault, probably for non-canonical address 0xdffffc0000000000: 0000 [#1] SMP KASAN
BUG: kernel NULL pointer dereference, address: 0000000000000008
BUG: Bad page state in process swapload  pfn:01234
BUG: Bad rss-counter state mm:0000 type:MM_SWAPENTS val:-1
get_swap_device: Bad swap file entry 1800000000000001
list_add corruption. next->prev should be prev (ffff), but was 0000. (next=ffff).
list_del corruption, ffff->next is LIST_POISON1 (dead000000000100)
ODEBUG: free active (active state 0) object: 0000 object type: work_struct hint: hwswap_work+0x0/0x40
DMA-API: pci 0000:01:00.0: device driver has pending DMA allocations while released from device [count=1]
refcount_t: underflow; use-after-free.
INFO: task kworker/u8:2:33 blocked for more than 120 seconds.
rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:
watchdog: BUG: soft lockup - CPU#0 stuck for 26s! [swapoff:77]
swapload: page allocation failure: order:4, mode:0x40cc0(GFP_KERNEL|__GFP_COMP), nodemask=(null)
Out of memory: Killed process 80 (swapload) total-vm:20000kB
swapload[80]: segfault at 0 ip 0000000000401234 sp 00007ffc error 4 in swapload
Kernel panic - not syncing: Fatal exception
"""

ORDINARY = """\
Linux version 7.3.4 (hwswap@localhost) (gcc (Debian 12.2.0-14+deb12u1) 12.2.0, GNU ld 2.40) #1 SMP PREEMPT
Lock dependency validator: Copyright (c) 2006 Red Hat, Inc., Ingo Molnar
... MAX_LOCKDEP_SUBCLASSES:  8
kasan: KernelAddressSanitizer initialized (generic)
Running RCU self tests
rcu: RCU lockdep checking is enabled.
rcu: RCU debug extended QS entry/exit.
kmemleak: Kernel memory leak detector initialized (mem pool available: 15000)
DMA-API: preallocated 65536 debug entries
DMA-API: debugging enabled by kernel config
ODEBUG is on
Adding 65532k swap on /dev/ram0.  Priority:-1 extents:1 across:65532k SS
hwswap: loading out-of-tree module taints kernel.
hwswap 0000:01:00.0: detached: the engine is gone (registers read all ones); software goes on
hwswap: Unknown symbol swap_grants_register (err -2)
NOTICE: Automounting of tracing to debugfs is deprecated and will be removed in 2030
No memory was dumped, the bug was elsewhere, and warnings are written in capitals.
"""


@pytest.mark.parametrize("stamp", ["", "[   12.345678] "])
def test_trouble_is_found_in_its_order_and_nothing_else(stamp: str) -> None:
    """With CONFIG_PRINTK_TIME, and without."""
    lines = [f"{stamp}{line}" for line in (ORDINARY + TROUBLE).splitlines()]
    assert troubles("\n".join(lines)) == lines[len(ORDINARY.splitlines()) :]
