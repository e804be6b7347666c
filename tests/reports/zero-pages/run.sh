# SPDX-License-Identifier: Apache-2.0

on /dev/ram0 -p 5 && on /dev/ram1 -p 5 || exit 1
before=$(folios 64 swpin)
zeros 9 1 >/tmp/one &
zeros 9 2 >/tmp/two
wait $!
check "every byte of one process is right" verified /tmp/one
check "every byte of another is right" verified /tmp/two
within "large folios were read" $((before + 1)) 1000000 "$(folios 64 swpin)"
check "no slot is left behind" until_true 20 swap_is_empty
check "swapoff" swapctl off /dev/ram0 /dev/ram1
