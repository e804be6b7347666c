# SPDX-License-Identifier: Apache-2.0
# The guest's side of `make demo`: the same load in each mode, then fragmented. Everything it prints is read by
# hwswap.bench.demo; lines that start with @ say what follows. From the host: SEED; FORM: all, the demo; unpatched,
# its loads and benches on a kernel without hooks, tracepoints and driver; short, as far as the bench in mode off, with
# a small load; /record-on and /record-off, which start and end a recording of the swap tracepoints.
THP=/sys/kernel/mm/transparent_hugepage
MODE=/sys/module/hwswap/parameters/mode
ENGINE=/sys/kernel/debug/hwswap
ALLOCATIONS=/sys/kernel/tracing/instances/allocations
. /allocator-bench

# Guest time between two steps of the simulated engine under load: short, as a real engine refills its rings all the
# time. For the bench they are longer.
LOAD_TICK_US=100

# count_allocations 1|0: allocations that found slots are counted by their event, in a buffer that nobody reads. Off for
# the bench: an event costs instructions.
count_allocations() {
	[ "$FORM" != unpatched ] || return 0
	[ -d $ALLOCATIONS ] || mkdir $ALLOCATIONS || return 1
	echo 'nr > 0' >$ALLOCATIONS/events/swap/swap_slots_alloc/filter || return 1
	echo "$1" >$ALLOCATIONS/events/swap/swap_slots_alloc/enable
}

# counters PHASE before|after
counters() {
	echo "@counters $1 $2"
	grep -E '^(pswpin|pswpout) ' /proc/vmstat
	for size in 64 2048; do
		for counter in swpout swpout_fallback; do
			echo "${counter}_$size $(cat "$THP/hugepages-${size}kB/stats/$counter")"
		done
	done
	if [ "$FORM" != unpatched ]; then
		grep -E '^[a-z0-9_]+ [0-9]+$' "$ENGINE/stats"
		# Those in the buffer, and those that were written over.
		awk '/^(entries|overrun):/ { sum += $2 } END { print "allocations " sum }' $ALLOCATIONS/per_cpu/cpu*/stats
	fi
	echo "@end"
}

# load PHASE PERCENT: processes with 4 kB, 64 kB and 2 MB folios at the same time; PERCENT scales their size
load() {
	swapload --processes 2 --size "$((8 * $2 / 100))m" --limit "$((8 * $2 / 100))m" --folio 4k \
		--access random --rounds 2 --seed "$SEED" >/tmp/load1 &
	first=$!
	swapload --processes 2 --size "$((24 * $2 / 100))m" --limit "$((24 * $2 / 100))m" --folio 64k \
		--access random --rounds 2 --seed "$((SEED + 1))" >/tmp/load2 &
	second=$!
	swapload --size "$((48 * $2 / 100))m" --limit "$((24 * $2 / 100))m" --folio 2m \
		--access sequential --rounds 2 --seed "$((SEED + 2))" >/tmp/load3
	code=$?
	wait $first || code=1
	wait $second || code=1
	sed "s/^/@load $1 /" /tmp/load1 /tmp/load2 /tmp/load3
	return $code
}

# engine_mode MODE TICK_US: the mode, and the pace of the simulated engine; nothing without a driver
engine_mode() {
	if [ "$FORM" = unpatched ]; then
		settle
		return
	fi
	echo off >$MODE || return 1
	rmmod hwswap_simclock || return 1
	insmod /lib/modules/hwswap_simclock.ko period_us="$2" || return 1
	echo "$1" >$MODE || return 1
	settle
}

# phase NAME MODE PERCENT
phase() {
	echo "@phase $1 running the load in mode $2"
	engine_mode "$2" $LOAD_TICK_US || return 1
	count_allocations 1 || return 1
	counters "$1" before
	load "$1" "$3" || return 1
	settle
	counters "$1" after
	count_allocations 0 || return 1
	if [ "$2" != off ]; then
		echo "@verify $1 $(grep ^clusters $ENGINE/verify)"
	fi
}

# bench NAME MODE: the allocator alone, orders 0, 4 and 9
bench() {
	echo "@phase $1 running the bench in mode $2"
	engine_mode "$2" "$BENCH_TICK_US" || return 1
	allocator_bench "$1" 0 2000 && allocator_bench "$1" 4 300 && allocator_bench "$1" 9 32
}

# fragment PHASE: all of swap is written, half of the slots are freed at random
fragment() {
	echo "@phase $1 fragmenting: all of swap is written, half of the slots are freed at random"
	total=$(awk '$1 == "SwapFree:" { print int($2 / 1024) }' /proc/meminfo)
	swapfrag --size "$((total - 1))m" --seed "$SEED" >/tmp/fragment &
	fragment=$!
	until grep -q ready /tmp/fragment; do
		kill -0 $fragment || return 1
		sleep 0.1
	done
}

# fragment_end PHASE: the rest of it is read once more
fragment_end() {
	kill $fragment
	wait $fragment || return 1
	tail -n 1 /tmp/fragment | sed "s/^/@load $1 /"
}

if [ "$FORM" = unpatched ]; then
	swap_on 0 1 2 3 || exit 1
	phase unpatched off 100 || exit 1
	bench unpatched off || exit 1
	fragment fragment-unpatched || exit 1
	phase fragmented-unpatched off 50 || exit 1
	bench fragmented-unpatched off || exit 1
	fragment_end fragment-unpatched || exit 1
	swapctl off /dev/ram0 /dev/ram1 /dev/ram2 /dev/ram3 || exit 1
	echo "@done"
	exit
fi

insmod /lib/modules/hwswap.ko mode=off || exit 1
insmod /lib/modules/hwswap_simclock.ko period_us=$LOAD_TICK_US || exit 1
echo "@tick load $LOAD_TICK_US"
echo "@tick bench $BENCH_TICK_US"
. /record-on
swap_on 0 1 2 3 || exit 1

if [ "$FORM" = short ]; then
	phase off off 25 || exit 1
	. /record-off
	bench off off || exit 1
	echo "@done"
	exit
fi

phase off off 100 || exit 1
. /record-off
phase hint hint 100 || exit 1
bench off off || exit 1
bench hint hint || exit 1

echo off >$MODE
fragment fragment || exit 1
phase fragmented-off off 50 || exit 1
phase fragmented-hint hint 50 || exit 1
bench fragmented-off off || exit 1
bench fragmented-hint hint || exit 1
echo "@verify end $(grep ^clusters $ENGINE/verify)"
fragment_end fragment || exit 1

echo "@phase end switching off swap and the driver, bringing the trace out"
swapctl off /dev/ram0 /dev/ram1 /dev/ram2 /dev/ram3 || exit 1
rmmod hwswap_simclock || exit 1
rmmod hwswap || exit 1
cat /sys/kernel/tracing/trace >/dev/vda || exit 1
sync
echo "@done"
