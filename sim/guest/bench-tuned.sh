# SPDX-License-Identifier: Apache-2.0
# The guest's side of `make bench-tuned`: what a call of the allocator costs on swap that is empty, half full and 90 %
# full, with holes of the order that is asked for. Everything it prints is read by hwswap.bench.tuned. From the host:
# RUNS, "ORDER COUNT FOLIOS" a line, where so many FOLIOS fill swap; SEED.
. /allocator-bench

swap_on 0 1 2 3 || exit 1
echo "$RUNS" | while read -r order count folios; do
	allocator_bench empty "$order" "$count" || exit 1
	for percent in 50 10; do
		echo "@phase fill order $order, $percent % of it free"
		echo "fill $folios $SEED $percent $order" >$BENCH || exit 1
		allocator_bench "$((100 - percent))" "$order" "$count" || exit 1
		echo drop >$BENCH || exit 1
	done
done || exit 1
swapctl off /dev/ram0 /dev/ram1 /dev/ram2 /dev/ram3 || exit 1
echo "@done"
