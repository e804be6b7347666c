# SPDX-License-Identifier: Apache-2.0

on /dev/ram0 && swapctl make /dev/ram1 || exit 1
forkers 60 >/tmp/forkers.out 2>&1 &
process=$!
on_and_off $process 3 /dev/ram1 5
check "processes were killed in fork: $(tail -n 1 /tmp/forkers.out)" wait $process
check "no slot is left over" until_true 20 swap_is_empty
check "and all can be used" swapfrag --size 28m --free 0 --no-hold
