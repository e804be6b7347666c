# SPDX-License-Identifier: Apache-2.0

ROUNDS=8
# Not synchronous, or the kernel does not read ahead.
for device in 0 1; do
	nullb $device 64 irqmode=2 completion_nsec=20000 || exit 1
	on /dev/nullb$device -p 5 || exit 1
done
echo true >/sys/kernel/mm/swap/vma_ra_enabled

interleave >/tmp/interleave.out 2>&1 &
process=$!
check "neighbours lie on two devices" until_true 60 grep -q ready /tmp/interleave.out

failed=0
for _ in $(seq $ROUNDS); do
	# One after the other, then both at once.
	swapctl off /dev/nullb0 || failed=$((failed + 1))
	swapctl on -p 5 /dev/nullb0
	swapctl off /dev/nullb1 &
	one=$!
	swapctl off /dev/nullb0 || failed=$((failed + 1))
	wait $one || failed=$((failed + 1))
	swapctl on -p 5 /dev/nullb0 /dev/nullb1
	sleep 0.2
done
equal "each swapoff succeeds" 0 $failed
within "pages were read ahead" 1 100000000 "$(vmstat swap_ra)"

kill $process
wait $process
check "every byte is right" verified /tmp/interleave.out
swapctl off /dev/nullb0 /dev/nullb1
equal "no swap is left" 0 "$(meminfo SwapTotal)"
equal "and none is free" 0 "$(meminfo SwapFree)"
