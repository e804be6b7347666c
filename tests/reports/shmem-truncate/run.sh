# SPDX-License-Identifier: Apache-2.0

echo always >"$HUGEPAGES"/hugepages-64kB/shmem_enabled || exit 1
on /dev/ram0 || exit 1
check "a file of large folios, cut and punched in swap" shmem rounds 60
within "folios of 64 kB went out whole" 10 1000000 "$(folios 64 swpout)"
equal "no slot is left over" "$(meminfo SwapTotal)" "$(meminfo SwapFree)"

swapctl make /dev/ram1
shmem rounds 200 >/tmp/beside.out 2>&1 &
process=$!
on_and_off $process 3 /dev/ram1 5
check "the same beside swapoff: $(tail -n 1 /tmp/beside.out)" wait $process

# A file of tmpfs, its pages taken by swapoff.
mkdir /tmp/huge && mount -t tmpfs -o huge=within_size huge /tmp/huge || exit 1
group max
in_group dd if=/dev/urandom of=/tmp/huge/file bs=1M count=24 2>/dev/null
md5sum /tmp/huge/file >/tmp/sum
reclaim 24m
swapctl off /dev/ram0
check "a file of tmpfs is right after swapoff: $(used /dev/ram0)" md5sum -c /tmp/sum
equal "no swap is on" 0 "$(meminfo SwapTotal)"
