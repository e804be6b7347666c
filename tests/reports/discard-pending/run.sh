#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=dash source=tests/reports/lib.sh
. /reports/lib.sh

ROUNDS=30
# Small and slow: 0.2 ms for each request, discards among them.
for device in 0 1; do
	nullb $device 8 discard=1 irqmode=2 completion_nsec=200000 || exit 1
done
on /dev/nullb0 -d -p 5 || exit 1

# churn NAME: fills most of swap and frees it, again and again: it is full of clusters that wait
churn() {
	local round
	for round in $(seq $ROUNDS); do
		swapfrag --size 6m --free 0 --seed "$round" --no-hold || echo "round $round failed"
	done >"/tmp/$1.out" 2>&1
}

# right NAME: rounds of which every byte was right
right() { grep -c '"state":"done".*"mismatches":0' "/tmp/$1.out"; }

before=$(vmstat pswpout)
churn alone
out=$(($(vmstat pswpout) - before))
equal "every byte is right" $ROUNDS "$(right alone)"
within "of $((ROUNDS * 1536)) pages nine in ten go out" $((ROUNDS * 1382)) $((ROUNDS * 1536)) $out

swapctl make /dev/nullb1
churn beside &
process=$!
failed=0 offs=0
while kill -0 $process 2>/dev/null; do
	swapctl on -d -p 6 /dev/nullb1 || failed=$((failed + 1))
	sleep 0.3
	swapctl off /dev/nullb1 || failed=$((failed + 1))
	offs=$((offs + 1))
done
wait $process
equal "each swapoff beside it succeeds" 0 $failed
within "there were some" 2 1000000 $offs
equal "every byte is right beside swapoff" $ROUNDS "$(right beside)"

until_true 10 [ "$(used /dev/nullb0)" = 0 ]
equal "all of swap is free" "$(meminfo SwapTotal)" "$(meminfo SwapFree)"
check "and can be used" swapfrag --size 7m --free 0 --no-hold
