# SPDX-License-Identifier: Apache-2.0
# The guest's side of `make bench-offload`: what a call of the allocator costs on swap that is empty, half full and 90 %
# full, with holes of the order that is asked for, and what a large folio costs that finds no room. Everything it prints
# is read by hwswap.bench.offload. From the host: RUNS, "ORDER COUNT FOLIOS" a line, where so many FOLIOS fill swap;
# FAILS, "ORDER COUNT" a line; SEED; GRANTS: none, software (the engine in software), engine (the simulated one).
. /allocator-bench

# grants on, grants off: begin and end them. The engine is simulated, or in software, which runs before each call of the
# bench and never within one.
grants() {
	case $GRANTS-$1 in
	software-on) insmod /lib/modules/hwswap_softgrants.ko period_us=0 placement=indexed sparing=0 ;;
	software-off) rmmod hwswap_softgrants ;;
	engine-on) echo hint >/sys/module/hwswap/parameters/mode ;;
	engine-off) echo off >/sys/module/hwswap/parameters/mode ;;
	esac
}

swap_on 0 1 2 3 || exit 1
if [ "$GRANTS" = engine ]; then
	insmod /lib/modules/hwswap.ko mode=hint || exit 1
	grep -q '^attached' /sys/kernel/debug/hwswap/state || exit 1
	insmod /lib/modules/hwswap_simclock.ko period_us="$BENCH_TICK_US" || exit 1
fi

echo "$RUNS" | while read -r order count folios; do
	grants on || exit 1
	allocator_bench empty "$order" "$count" || exit 1
	for percent in 50 10; do
		# An engine keeps free clusters back, so swap is filled by the kernel's own search.
		grants off && echo "fill $folios $SEED $percent $order" >$BENCH && grants on || exit 1
		allocator_bench "$((100 - percent))" "$order" "$count" || exit 1
		if [ "$order" = 0 ] && [ "$percent" = 10 ]; then
			# Nothing but single pages is free.
			echo "$FAILS" | while read -r large calls; do
				allocator_bench fail "$large" "$calls" || exit 1
			done || exit 1
		fi
		echo drop >$BENCH || exit 1
	done
	for module in hwswap hwswap_softgrants; do
		[ ! -e /sys/kernel/debug/$module ] || sed 's/^/@verify /' /sys/kernel/debug/$module/verify
	done
	grants off || exit 1
done || exit 1
[ "$GRANTS" != engine ] || { rmmod hwswap_simclock && rmmod hwswap; } || exit 1
swapctl off /dev/ram0 /dev/ram1 /dev/ram2 /dev/ram3 || exit 1
echo "@done"
