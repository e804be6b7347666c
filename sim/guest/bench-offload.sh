# SPDX-License-Identifier: Apache-2.0
# The guest's side of `make bench-offload`: what a call of the allocator costs on swap that is empty, half full and 90 %
# full, with holes of the order that is asked for, and what a large folio costs that finds no room. Everything it prints
# is read by hwswap.bench.offload. From the host: RUNS, "ORDER COUNT FOLIOS" a line, where so many FOLIOS fill swap;
# FAILS, "ORDER COUNT" a line; SEED; GRANTS: none, software (the engine in software), engine (the simulated one).
. /allocator-bench


swap_on 0 1 2 3 || exit 1
case $GRANTS in
software)
	# It runs before each call of the bench, and never within one. As the RTL has it, free clusters are granted in
	# advance: else the kernel's search opens the last ones, on one device alone, and swap cannot be filled to the end.
	module=hwswap_softgrants
	insmod /lib/modules/hwswap_softgrants.ko period_us=0 placement=indexed sparing=0 || exit 1
	;;
engine)
	module=hwswap
	insmod /lib/modules/hwswap.ko mode=hint || exit 1
	grep -q '^attached' /sys/kernel/debug/hwswap/state || exit 1
	insmod /lib/modules/hwswap_simclock.ko period_us="$BENCH_TICK_US" || exit 1
	;;
esac
echo "$RUNS" | while read -r order count folios; do
	if [ "$GRANTS" = engine ]; then
		# Clusters that are on offer for the order before are not offered for this one, and it is to fill all of swap.
		echo off >/sys/module/hwswap/parameters/mode && echo hint >/sys/module/hwswap/parameters/mode || exit 1
	fi
	allocator_bench empty "$order" "$count" || exit 1
	for percent in 50 10; do
		echo "fill $folios $SEED $percent $order" >$BENCH || exit 1
		allocator_bench "$((100 - percent))" "$order" "$count" || exit 1
		if [ "$order" = 0 ] && [ "$percent" = 10 ]; then
			# Nothing but single pages is free.
			echo "$FAILS" | while read -r large calls; do
				allocator_bench fail "$large" "$calls" || exit 1
			done || exit 1
		fi
		echo drop >$BENCH || exit 1
	done
done || exit 1
if [ "$GRANTS" != none ]; then
	sed 's/^/@stats /' /sys/kernel/debug/$module/stats
	sed 's/^/@verify /' /sys/kernel/debug/$module/verify
	[ "$GRANTS" = software ] || rmmod hwswap_simclock || exit 1
	rmmod $module || exit 1
fi
swapctl off /dev/ram0 /dev/ram1 /dev/ram2 /dev/ram3 || exit 1
echo "@done"
