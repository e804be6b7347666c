# SPDX-License-Identifier: Apache-2.0

written() { [ "$(meminfo Writeback)" = 0 ]; }

# 1,023 slots, and 2 s for each request: all pages are freed while they are being written, when they cannot leave the
# swap cache. With the last slot the device goes off the list of those with room, and the one look through full clusters
# that this causes comes too early, too.
nullb 0 4 irqmode=2 completion_nsec=2000000000 && on /dev/nullb0 && group max || exit 1
holder freed 1100 in_group && holder next 100 || exit 1
tell freed "fill 1" out drop
check "nobody uses these pages, and they have been written" until_true 30 written
reclaim 8m
within "memory gets them back when it is reclaimed" 0 400 "$(meminfo SwapCached)"
before=$(vmstat pswpout)
tell next "fill 2" out
equal "100 other pages go out" 100 $(($(vmstat pswpout) - before))
equal "every byte is right" "right 100 wrong 0 killed 0" "$(ask next check)"
tell freed end
tell next end
check "swapoff" swapctl off /dev/nullb0
