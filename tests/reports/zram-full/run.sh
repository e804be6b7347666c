#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=dash source=tests/reports/lib.sh
. /reports/lib.sh

zram 0 64M && on /dev/zram0 || exit 1
group 20m || exit 1
in_group swapmix --fill 60m --churn 60m >/tmp/mix.out 2>&1 &
process=$!
# Until it churns in what is nearly full.
until_true 120 sh -c "[ \"\$(awk '\$1 == \"/dev/zram0\" { print \$4 }' /proc/swaps)\" -gt 59000 ]"
within "swap is nine tenths full" 58000 65532 "$(used /dev/zram0)"
check "the load ends" wait $process
check "every byte is right" verified /tmp/mix.out
equal "nothing was killed" 0 "$(awk '$1 == "oom_kill" { print $2 }' $GROUP/memory.events)"
for size in 16 64; do
	within "some folios of $size kB go out whole" 1 1000000 "$(folios $size swpout)"
done
until_true 10 sh -c "[ \"\$(awk '\$1 == \"/dev/zram0\" { print \$4 }' /proc/swaps)\" = 0 ]"
equal "all of swap is free again" "$(meminfo SwapTotal)" "$(meminfo SwapFree)"
