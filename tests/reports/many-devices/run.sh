# SPDX-License-Identifier: Apache-2.0

# MAX_SWAPFILES of the guest's kernel: 32, less those that entries for migration and markers take.
MOST=28

areas() { sed 1d /proc/swaps | wc -l; }
in_use() { awk 'NR > 1 && $4 > 0' /proc/swaps | wc -l; }
sum() { md5sum /tmp/big | cut -d' ' -f1; }
claim() { mke2fs -b 4096 "$1" >/dev/null 2>&1 && mount -t ext2 "$1" /tmp/mnt && umount /tmp/mnt; }
# shellcheck disable=SC2046  # a list
off_all() { swapctl off $(awk 'NR > 1 { print $1 }' /proc/swaps); }

mkdir -p /tmp/mnt
for number in $(seq 0 $MOST); do
	nullb "$number" 2 && swapctl make "/dev/nullb$number" || exit 1
	[ "$number" = $MOST ] || swapctl on "/dev/nullb$number" || break
done
equal "$MOST areas are on" $MOST "$(areas)"
total=$(meminfo SwapTotal)
equal "each adds 511 slots" $((MOST * 511 * 4)) "$total"
refused "one more" "not permitted" swapctl on /dev/nullb$MOST
equal "the refused one is not among the areas" $MOST "$(areas)"
equal "the refused one adds nothing" "$total" "$(meminfo SwapTotal)"
check "nobody holds the refused one: a file system can be made there and mounted" claim /dev/nullb$MOST

group max
# Its sum is made on the way: pages that are read again are young, and reclaim gives up on them now and then.
before=$(dd if=/dev/urandom bs=1M count=44 2>/dev/null | in_group tee /tmp/big | md5sum | cut -d' ' -f1)
for _ in 1 2 3 4 5 6 7 8; do reclaim 48m; done
within "tmpfs is on more than 8 areas" 20 $MOST "$(in_use)"
equal "every byte of tmpfs is right" "$before" "$(sum)"
check "beside it, every byte of a process is right" swapfrag --size 8m --free 50 --no-hold

reclaim 48m
check "the first one goes, with what is on it" swapctl off /dev/nullb0
check "the refused one takes its place" on /dev/nullb$MOST
refused "again, one more" "not permitted" swapctl on /dev/nullb0
equal "every byte of tmpfs is right then" "$before" "$(sum)"
rm /tmp/big
check "all go" off_all
equal "none is left" 0 "$(areas)"
equal "no slot is left" "0 0" "$(meminfo SwapTotal) $(meminfo SwapFree)"
