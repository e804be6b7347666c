# SPDX-License-Identifier: Apache-2.0

BENCH=/sys/kernel/debug/swap_alloc_bench

# The bench takes all slots of the first device. Nobody uses them, so a swapoff finds nothing to bring back, frees none,
# and looks again until it is interrupted. With a second such device of its priority the kernel would go from one to the
# other for ever, at the first single page.
on /dev/ram0 -p 5 && on /dev/ram1 -p 0 || exit 1
size=$(awk '$1 == "/dev/ram0" { print $3 }' /proc/swaps)
echo "fill $((size / 4)) 1 0" >$BENCH
equal "the first device is full" "$size" "$(used /dev/ram0)"
swapctl off /dev/ram0 &
sleep 1
kill $!
wait $!
equal "its swapoff was interrupted" "$size" "$(used /dev/ram0)"
echo "4 8 0" >$BENCH
equal "large folios go to the second one" 0 "$(sed -n 's/.*"alloc".*"failed":\([0-9]*\).*/\1/p' $BENCH)"
echo drop >$BENCH
check "swapoff" swapctl off /dev/ram0
check "swapoff of the second one" swapctl off /dev/ram1
