#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=dash source=tests/reports/lib.sh
. /reports/lib.sh

# out_at_last NAME PAGES: whether so many are in swap after five tries at most, as reclaim tries again, too. What is still
# being written cannot be taken back, so that some tries fail.
out_at_last() {
	local left=5
	until [ "$(ask "$1" out)" -ge "$2" ]; do [ $((left -= 1)) -gt 0 ] || return 1; done
}

# Not synchronous: what is read back stays in the swap cache. A rotating one reclaims by another way.
for rotational in 0 1; do
	nullb $rotational 64 rotational=$rotational irqmode=2 completion_nsec=20000 && on /dev/nullb$rotational || exit 1
	rm -f /tmp/readback.out
	readback 31m >/tmp/readback.out 2>&1 &
	process=$!
	until_true 60 grep -q ready /tmp/readback.out
	within "rotational=$rotational: the swap cache holds half of swap" 28000 33000 "$(meminfo SwapCached)"
	rest=rest$rotational
	holder $rest 14336 || exit 1
	ask $rest fill 1 >/dev/null
	figure "out_at_once_$rotational" "$(ask $rest out)"
	check "rotational=$rotational: 56 of 64 MB can be paged out then, but for 256 kB" out_at_last $rest $((14336 - 64))
	equal "rotational=$rotational: every byte of these is right" "right 14336 wrong 0 killed 0" "$(ask $rest check)"
	ask $rest end >/dev/null
	kill $process
	wait $process
	check "rotational=$rotational: every byte of what was cached is right" verified /tmp/readback.out
	swapctl off /dev/nullb$rotational
done
