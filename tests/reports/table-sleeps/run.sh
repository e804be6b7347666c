# SPDX-License-Identifier: Apache-2.0

value() { sed -n 's/.*"'"$1"'":\([0-9]*\).*/\1/p' /tmp/tables.out; }
# The disk's own memory is there beforehand.
dd if=/dev/zero of=/dev/ram0 bs=1M count=64 2>/dev/null
on /dev/ram0 || exit 1
keep=$(cat /proc/sys/vm/min_free_kbytes)
# The kernel ends the program where page-outs make no progress for too long; then once more.
for _ in 1 2 3 4 5; do
	tables >/tmp/tables.out
	status=$?
	[ "$status" = 137 ] || break
	echo "$keep" >/proc/sys/vm/min_free_kbytes
done
equal "the program ended well" 0 "$status"
equal "the reserve is as it was" "$keep" "$(cat /proc/sys/vm/min_free_kbytes)"
# The kernel warns of it, as the second try of each table does not ask it to keep still.
within "the second try, which may sleep, was made" 1 100000 "$(logged 'page allocation failure.*GFP_KERNEL|__GFP_HIGH')"
within "swap had room for them" 4096 16384 "$(value room)"
within "another process freed meanwhile" 1 100000 "$(value beside)"
# Those that another CPU is about to put on its lists are left out: 31 at most.
within "all went out when there was memory" 0 31 "$(value stayed_after)"
check "every byte is right" verified /tmp/tables.out
hold all 62m
within "all clusters can be used" 62000 65536 "$(used /dev/ram0)"
let_go all
# Other programs have pages there, too.
check "swapoff" swapctl off /dev/ram0
