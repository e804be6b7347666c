# SPDX-License-Identifier: Apache-2.0
# title: stress-ng, swap areas
# needs: stress-ng
# Its stressor of swap areas, which makes files of random sizes into swap, pages out, and takes them away again. They
# are on ext2 on the last RAM disk, which is no swap area of its own meanwhile. Its folios are single pages: large ones
# come back wrong from files on a RAM disk (docs/wrong-read.md).
disk=/dev/ram3
swapctl off $disk && mke2fs -b 4096 $disk >/dev/null && mkdir -p /tmp/disk && mount -t ext2 $disk /tmp/disk || exit 1
/stress-ng/run /stress-ng/stress-ng --temp-path /tmp/disk --swap 1 --swap-ops "$((400 * SCALE / 100 + 1))" \
	--seed "$SEED" >/tmp/stress-ng.log 2>&1 || { cat /tmp/stress-ng.log; exit 1; }
umount /tmp/disk && swapctl make $disk && swapctl on $disk || exit 1
