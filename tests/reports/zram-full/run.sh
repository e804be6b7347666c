# SPDX-License-Identifier: Apache-2.0

for module in zsmalloc zram; do insmod /lib/modules/$module.ko || exit 1; done
echo 64M >/sys/block/zram0/disksize && on /dev/zram0 || exit 1
group 20m || exit 1
in_group swapmix --fill 60m --churn 60m >/tmp/mix.out 2>&1 &
process=$!
# Until it churns in a nearly full area.
nearly_full() { [ "$(used /dev/zram0)" -gt 59000 ]; }
until_true 120 nearly_full
within "swap is nine tenths full" 58000 65532 "$(used /dev/zram0)"
check "the load ends" wait $process
check "every byte is right" verified /tmp/mix.out
equal "nothing was killed" 0 "$(awk '$1 == "oom_kill" { print $2 }' "$GROUP"/memory.events)"
for size in 16 64; do
	within "some folios of $size kB go out whole" 1 1000000 "$(folios $size swpout)"
done
check "all of swap is free again" until_true 20 swap_is_empty
