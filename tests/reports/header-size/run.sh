# SPDX-License-Identifier: Apache-2.0

# A device of 8192 slots.
for last in 8192 8193 16383 4294967294 4294967295; do
	header /dev/ram0 $last
	refused "a device of 8192 slots whose last one is said to be $last" "invalid argument" swapctl on /dev/ram0
done
header /dev/ram0 0
refused "a device of no slot" "invalid argument" swapctl on /dev/ram0
header /dev/ram0 8191
check "all slots that there are" swapctl on /dev/ram0
equal "all but the header's can be used" $((8191 * 4)) "$(meminfo SwapTotal)"
swapctl off /dev/ram0

# Fewer: data after them stays as it was.
dd if=/dev/urandom of=/dev/ram1 bs=4096 count=8192 conv=fsync 2>/dev/null
before=$(on_disk /dev/ram1 5001 3191)
header /dev/ram1 5000
check "a device of 8192 slots whose last one is said to be 5000" swapctl on /dev/ram1
equal "5000 slots can be used" 20000 "$(meminfo SwapFree)"
check "all slots are filled" hold fill 20m
within "nearly all are in use" 19000 20000 "$(used /dev/ram1)"
equal "nothing was written after the last slot" "$before" "$(on_disk /dev/ram1 5001 3191)"
check "every byte is right" let_go fill
swapctl off /dev/ram1

# A file whose blocks are not where a page could lie as a whole, so that it has fewer slots than its header says.
swap_file 2 24m 1024
check "a file that lacks slots for want of alignment" swapctl on /tmp/disk2/swap
within "it has fewer than its size says" 4096 24572 "$(meminfo SwapTotal)"
check "every byte is right in it" swapfrag --size 20m --free 0 --no-hold
