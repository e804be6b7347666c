# SPDX-License-Identifier: Apache-2.0
# The guest's side of `make bench-offload`: the cost of an allocator's call on swap that is empty, half full and 90 %
# full, with holes of the order that is asked for, and of a large folio that finds no room. Everything it prints
# is read by hwswap.bench.offload. From the host: SEEDS; RUNS, "ORDER COUNT ROUNDS FOLIOS" a line, where so many FOLIOS
# fill swap; FAILS, "ORDER COUNT" a line; GRANTS: none, software (the engine in software), engine (the simulated one);
# LARGE_SEARCH, clusters more that a large folio may look into; KNOWN (see allocator-bench).
. /allocator-bench

# thread: grants of the engine in software, and what it took for them
thread() {
	awk '/^(grants|cycles) / { printf "%s ", $2 }' /sys/kernel/debug/hwswap_softgrants/stats
}

# verify: compares the words that the engine reads with the kernel's tables
verify() {
	for module in hwswap hwswap_softgrants; do
		[ ! -e /sys/kernel/debug/$module ] || sed 's/^/@verify /' /sys/kernel/debug/$module/verify
	done
}

# grants on, grants off ORDER: begin and end them. The engine is simulated, or in software, which runs before each call
# of the bench and never within one, and prints the cost once it had read all there is.
grants() {
	case $GRANTS-$1 in
	software-on)
		insmod /lib/modules/hwswap_softgrants.ko period_us=0 placement=indexed sparing=0 && verify || return 1
		thread_before=$(thread)
		;;
	software-off)
		echo "@thread $2 $thread_before$(thread)"
		verify
		rmmod hwswap_softgrants
		;;
	engine-on) echo hint >/sys/module/hwswap/parameters/mode ;;
	engine-off) echo off >/sys/module/hwswap/parameters/mode ;;
	esac
}

# run ORDER COUNT ROUNDS FOLIOS: a line of RUNS
run() {
	grants on || return 1
	allocator_bench empty "$1" "$2" "$3" || return 1
	for percent in 50 10; do
		# An engine keeps free clusters back, so swap is filled by the kernel's own search.
		grants off "$1" && echo "fill $4 $SEED $percent $1" >$BENCH && grants on || return 1
		allocator_bench "$((100 - percent))" "$1" "$2" "$3" || return 1
		# Nothing but single pages is free. An oracle has no place to name.
		if [ "$1$percent" = 010 ] && [ ! "$KNOWN" ]; then
			echo "$FAILS" | while read -r large calls; do
				allocator_bench fail "$large" "$calls" || exit 1
			done || return 1
		fi
		echo drop >$BENCH || return 1
	done
	[ "$GRANTS" != engine ] || verify
	grants off "$1"
}

if [ "$LARGE_SEARCH" != 0 ]; then
	echo "$LARGE_SEARCH" >/sys/kernel/mm/swap/large_search && echo 1 >/sys/kernel/mm/swap/any_order || exit 1
fi
for SEED in $SEEDS; do
	swap_on 0 1 2 3 || exit 1
	if [ "$GRANTS" = engine ]; then
		insmod /lib/modules/hwswap.ko mode=hint || exit 1
		grep -q '^attached' /sys/kernel/debug/hwswap/state || exit 1
		insmod /lib/modules/hwswap_simclock.ko period_us="$BENCH_TICK_US" || exit 1
	else
		GAP_NS=0
	fi
	echo "$RUNS" | while read -r order count rounds folios; do
		run "$order" "$count" "$rounds" "$folios" || exit 1
	done || exit 1
	[ "$GRANTS" != engine ] || { rmmod hwswap_simclock && rmmod hwswap; } || exit 1
	swapctl off /dev/ram0 /dev/ram1 /dev/ram2 /dev/ram3 || exit 1
done
echo "@done"
