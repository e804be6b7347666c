#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=dash source=tests/reports/lib.sh
. /reports/lib.sh

on /dev/ram0 && swapctl make /dev/ram1 || exit 1
forkers 60 >/tmp/forkers.out 2>&1 &
process=$!
failed=0 offs=0
while kill -0 $process 2>/dev/null; do
	swapctl on -p 5 /dev/ram1 || failed=$((failed + 1))
	sleep 0.1
	swapctl off /dev/ram1 || failed=$((failed + 1))
	offs=$((offs + 1))
done
check "processes were killed in fork: $(tail -n 1 /tmp/forkers.out)" wait $process
equal "each swapoff succeeds" 0 $failed
within "there were some" 3 1000000 $offs
until_true 10 sh -c "[ \"\$(awk '\$1 == \"/dev/ram0\" { print \$4 }' /proc/swaps)\" = 0 ]"
equal "no slot is left over" "$(meminfo SwapTotal)" "$(meminfo SwapFree)"
check "and all can be used" swapfrag --size 28m --free 0 --no-hold
