#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=dash source=tests/reports/lib.sh
. /reports/lib.sh

echo always >$HUGEPAGES/hugepages-64kB/shmem_enabled || exit 1
on /dev/ram0 || exit 1
check "a file of large folios, cut and punched in swap" shmem_truncate 60
within "folios of 64 kB went out whole" 10 1000000 "$(folios 64 swpout)"
equal "no slot is left over" "$(meminfo SwapTotal)" "$(meminfo SwapFree)"

swapctl make /dev/ram1
shmem_truncate 200 >/tmp/beside.out 2>&1 &
process=$!
failed=0 offs=0
while kill -0 $process 2>/dev/null; do
	swapctl on -p 5 /dev/ram1 || failed=$((failed + 1))
	sleep 0.2
	swapctl off /dev/ram1 || failed=$((failed + 1))
	offs=$((offs + 1))
done
check "the same beside swapoff: $(tail -n 1 /tmp/beside.out)" wait $process
equal "each swapoff succeeds" 0 $failed
within "there were some" 3 1000000 $offs

# A file of tmpfs, its pages taken by swapoff.
mkdir /tmp/huge && mount -t tmpfs -o huge=within_size huge /tmp/huge || exit 1
group max
in_group dd if=/dev/urandom of=/tmp/huge/file bs=1M count=24 2>/dev/null
md5sum /tmp/huge/file >/tmp/sum
echo 24m >$GROUP/memory.reclaim 2>/dev/null
swapctl off /dev/ram0
check "a file of tmpfs is right after swapoff: $(used /dev/ram0)" md5sum -c /tmp/sum
equal "no swap is on" 0 "$(meminfo SwapTotal)"
