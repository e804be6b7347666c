#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=dash source=tests/reports/lib.sh
. /reports/lib.sh

written() { [ "$(meminfo Writeback)" = 0 ]; }

# 1,023 slots, and 2 s for each request: all pages are freed while they are being written, when they cannot leave the
# swap cache. With the last slot the device goes off the list of those with room, and the one look through full clusters
# that this causes comes too early, too.
nullb 0 4 irqmode=2 completion_nsec=2000000000 && on /dev/nullb0 && group max || exit 1
holder freed 1100 in_group && holder next 100 || exit 1
ask freed fill 1 >/dev/null
ask freed out >/dev/null
ask freed drop >/dev/null
check "nobody uses these pages, and they have been written" until_true 30 written
echo 8m >$GROUP/memory.reclaim 2>/dev/null
within "memory gets them back when it is reclaimed" 0 400 "$(meminfo SwapCached)"
before=$(vmstat pswpout)
ask next fill 2 >/dev/null
ask next out >/dev/null
equal "100 other pages go out" 100 $(($(vmstat pswpout) - before))
equal "every byte is right" "right 100 wrong 0 killed 0" "$(ask next check)"
ask freed end >/dev/null
ask next end >/dev/null
check "swapoff" swapctl off /dev/nullb0
