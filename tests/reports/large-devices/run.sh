# SPDX-License-Identifier: Apache-2.0

on /dev/ram0 -p 1 || exit 1
small=$(meminfo SwapTotal)
# They keep all data written, which is little.
nullb 0 4194304 && nullb 1 8388608 && nullb 2 16777216 || exit 1

# large DEVICE LAST_PAGE: on, used before the small one, and off while it is used
large() {
	local device=/dev/nullb$1 last=$2
	header "$device" "$last"
	check "last page $last: on" swapctl on -p 10 "$device"
	equal "last page $last: whole" $((last * 4)) $(($(meminfo SwapTotal) - small))
	check "last page $last: 8 MB paged out" hold data 8m
	within "last page $last: to this device" 8000 9000 "$(used "$device")"
	check "last page $last: off" swapctl off "$device"
	check "last page $last: every byte is right" let_go data
}

large 0 1073741823
large 1 2147483647
# The last with fewer than 2^23 clusters, the first with more than 32 bits hold when they are rounded up, and the last.
large 2 4294966783
large 2 4294966784
# The kernel counts slots in 32 bits: of 2^32 it uses one less.
large 2 4294967294
check "the small device is used as before" swapfrag --size 24m --free 0 --no-hold
