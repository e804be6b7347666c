# SPDX-License-Identifier: Apache-2.0

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

# rounds_right NAME: rounds of which every byte was right
rounds_right() { grep -c '"state":"done".*"mismatches":0' "/tmp/$1.out"; }

before=$(vmstat pswpout)
churn alone
out=$(($(vmstat pswpout) - before))
equal "every byte is right" $ROUNDS "$(rounds_right alone)"
within "of $((ROUNDS * 1536)) pages nine in ten go out" $((ROUNDS * 1382)) $((ROUNDS * 1536)) $out

swapctl make /dev/nullb1
churn beside &
on_and_off $! 2 /dev/nullb1 6 -d
wait $!
equal "every byte is right beside swapoff" $ROUNDS "$(rounds_right beside)"
check "all of swap is free" until_true 20 swap_is_empty
check "and can be used" swapfrag --size 7m --free 0 --no-hold
