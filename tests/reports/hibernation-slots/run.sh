# SPDX-License-Identifier: Apache-2.0

on /dev/ram0 || exit 1
check "10 slots" snapshot_slots /dev/ram0 10
check "700 slots: more than a cluster" snapshot_slots /dev/ram0 700
check "4 MB of ordinary swap" hold some 4m
check "700 slots beside it" snapshot_slots /dev/ram0 700
check "all slots that are free" snapshot_slots /dev/ram0 all
check "every byte of ordinary swap is right" let_go some
equal "all of swap is free again" "$(meminfo SwapTotal)" "$(meminfo SwapFree)"

# While two CPUs swap.
swapload --processes 2 --size 12m --limit 6m --folio 4k --access random --rounds 4 >/tmp/load.out 2>&1 &
load=$!
swapping() { [ "$(used /dev/ram0)" -gt 0 ]; }
until_true 60 swapping
for _ in $(seq 20); do
	snapshot_slots --busy /dev/ram0 300 || fails "300 slots while two CPUs swap"
done >/tmp/busy.out 2>&1
wait $load
check "every byte of two CPUs is right" verified /tmp/load.out
check "300 slots, 20 times, while two CPUs swap: $(head -n 1 /tmp/busy.out)" [ ! -s /tmp/busy.out ]
