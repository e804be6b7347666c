# SPDX-License-Identifier: Apache-2.0

on /dev/ram0 -p 5 && on /dev/ram1 -p 5 || exit 1
right "on RAM disks nothing old is seen" race 12
check "no slot is left behind" until_true 20 swap_is_empty
swapctl off /dev/ram0 /dev/ram1
nullb 0 16 && on /dev/nullb0 || exit 1
right "behind a queue nothing old is seen" race 12
within "children looked, too" 2 100000 "$(sed -n 's/.*"forks":\([0-9]*\).*/\1/p' /tmp/load)"
check "swapoff" swapctl off /dev/nullb0
