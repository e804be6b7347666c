#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=dash source=tests/reports/lib.sh
. /reports/lib.sh

# Not synchronous: what is read back stays in the swap cache. A rotating one reclaims by another way.
for rotational in 0 1; do
	nullb $rotational 64 rotational=$rotational irqmode=2 completion_nsec=20000 && on /dev/nullb$rotational || exit 1
	readback 31m >/tmp/readback.out 2>&1 &
	process=$!
	until_true 60 grep -q ready /tmp/readback.out
	within "rotational=$rotational: the swap cache holds half of swap" 28000 33000 "$(meminfo SwapCached)"
	before=$(vmstat pswpout)
	hold rest 56m
	within "rotational=$rotational: 56 of 64 MB can be paged out then, but for 256 kB" $((56 * 256 - 64)) $((56 * 256)) \
		$(($(vmstat pswpout) - before))
	check "rotational=$rotational: every byte of these is right" let_go rest
	kill $process
	wait $process
	check "rotational=$rotational: every byte of what was cached is right" verified /tmp/readback.out
	swapctl off /dev/nullb$rotational
done
