# SPDX-License-Identifier: Apache-2.0
# The guest's side of `make bench-offload`: what a call of the allocator costs on swap that is empty, half full and 90 %
# full, with holes of the order that is asked for, and what a large folio costs that finds no room. Everything it prints
# is read by hwswap.bench.offload. From the host: RUNS, "ORDER COUNT FOLIOS" a line, where so many FOLIOS fill swap;
# FAILS, "ORDER COUNT" a line; SEED; GRANTS: none, software (the engine in software), engine (the simulated one).
. /allocator-bench


swap_on 0 1 2 3 || exit 1
case $GRANTS in
software)
	# It runs before each call of the bench, and never within one. Free clusters are granted in advance: else the kernel's
	# search opens the last ones, on one device alone, and swap cannot be filled to the end.
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
# engine_mode MODE: of the driver, where there is an engine.
engine_mode() {
	[ "$GRANTS" != engine ] || echo "$1" >/sys/module/hwswap/parameters/mode
}

echo "$RUNS" | while read -r order count folios; do
	engine_mode off && engine_mode hint || exit 1 # what was on offer for the order before is taken back
	allocator_bench empty "$order" "$count" || exit 1
	for percent in 50 10; do
		# The engine keeps free clusters back, so swap is filled by the kernel's own search.
		engine_mode off && echo "fill $folios $SEED $percent $order" >$BENCH && engine_mode hint || exit 1
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
