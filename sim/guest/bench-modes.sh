# SPDX-License-Identifier: Apache-2.0
# The guest's side of the driver's part of `make bench-table`: what a swapoff takes in each mode, and by the threshold
# from which on the engine is asked; what a search takes, the engine's and software's. From the host: CONFIGURATIONS,
# "MODE scan_min_clusters" a line; FREES, percentages; NSEC, what a request takes; SIZE_MB, the
# device; SEARCHES, "MB SLOTS" of devices that are searched, a line each, the first two by the engine as well;
# SOFTWARE_S and ENGINE_S, for how many seconds; TICK_US, how often the engine is told the time then; SEED.
DISK=/dev/nullb0
PARAMETERS=/sys/module/hwswap/parameters
STATS=/sys/kernel/debug/hwswap/stats
BENCH=/sys/kernel/debug/swap_alloc_bench
BACKEND=hwswap_testbackend
. /half-full

# device MB: the device, with so much of it swap
device() {
	if grep -q "^$DISK " /proc/swaps; then
		swapctl off $DISK || return 1
	fi
	swapctl make -s "$1m" $DISK && swapctl on $DISK
}

# tick MICROSECONDS: how often the engine is told the time. Often costs the host much, so that is for what is measured
tick() {
	if [ -d /sys/module/hwswap_simclock ]; then
		rmmod hwswap_simclock || return 1
	fi
	insmod /lib/modules/hwswap_simclock.ko period_us="$1"
}

# begin: the device is half full; its swapoff is measured
begin() {
	tick "$TICK_US" && echo 1 >$STATS
}

# engine MODE
engine() {
	echo "$1" >$PARAMETERS/mode || return 1
	sleep 0.1
}

# counted NAME...: counters of the driver, in this order
counted() {
	for name in "$@"; do
		awk -v name="$name" '$1 == name { printf "%s ", $2 }' $STATS
	done
}

# What is looked at while a swapoff runs is looked at by the shell alone, as a process takes as long as some searches.

# asked: how often the backend was, so how many pairs of rounds a swapoff has made: one with it, one without
asked() {
	read -r seen </sys/module/$BACKEND/parameters/searches
}

# searched: the driver's counters of searches, and of what they have found
searched() {
	seen=
	while read -r name value; do
		case $name in
		used_right | used_wrong | searches_used | searches_nothing | searches_busy | searches_failed)
			seen="$seen $name=$value"
			;;
		esac
	done <$STATS
}

# moment: nanoseconds of guest time
moment() {
	while read -r name _ value; do
		if [ "$name" = now ]; then
			nsec=${value%.*}${value#*.}000
		fi
	done </sys/kernel/tracing/per_cpu/cpu0/stats
}

# fill SLOTS: so many slots in use, from the first one on, and a random half of them freed; the others are nobody's
fill() {
	echo "fill $1 $SEED" >$BENCH || return 1
	held=$(awk -v disk=$DISK '$1 == disk { print $4 / 4 }' /proc/swaps)
}

# spin SECONDS LOOK WHAT: what a swapoff that finds these slots again and again has done, in a short time and in a
# longer one; the difference is without what it takes to look
spin() {
	swapctl off $DISK &
	process=$!
	sleep 0.01
	moment
	"$2"
	first="$nsec $seen"
	sleep 0.005
	moment
	"$2"
	second="$nsec $seen"
	sleep "$1"
	moment
	"$2"
	echo "@search $3 $held first $first"
	echo "@search $3 $held second $second"
	echo "@search $3 $held third $nsec $seen"
	echo drop >$BENCH || return 1
	wait $process && swapctl on $DISK
}

insmod /lib/modules/null_blk.ko nr_devices=1 gb=1 memory_backed=1 irqmode=2 completion_nsec="$NSEC" || exit 1
echo false >/sys/kernel/mm/swap/vma_ra_enabled
echo 3 >/proc/sys/vm/page-cluster

# Asked, it finds nothing, so software searches twice: once in its place, once as it does in every other round.
insmod /lib/modules/$BACKEND.ko fill_order=10 || exit 1
echo nothing >/sys/module/$BACKEND/parameters/lie || exit 1
echo "$SEARCHES" | while read -r size slots; do
	echo "@phase search a swapoff that searches $size MB: software"
	device "$size" && fill "$slots" && spin "$SOFTWARE_S" asked "software $size $slots" || exit 1
done || exit 1
rmmod $BACKEND || exit 1

insmod /lib/modules/hwswap.ko mode=off && tick 1000 || exit 1
echo 1 >$PARAMETERS/scan_min_clusters
echo "$SEARCHES" | head -n 2 | while read -r size slots; do
	echo "@phase search a swapoff that searches $size MB: the engine"
	device "$size" && fill "$slots" && engine scan && tick "$TICK_US" || exit 1
	spin "$ENGINE_S" searched "engine $size $slots" || exit 1
	tick 1000 && engine off || exit 1
done || exit 1

device "$SIZE_MB" || exit 1
# shellcheck disable=SC2034  # used by measured
BEFORE=begin
# The first one ever does more than the others.
measured 50 >/dev/null || exit 1
for free in $FREES; do
	echo "$CONFIGURATIONS" | while read -r mode clusters; do
		echo "@phase mode swapoff in mode $mode, scan_min_clusters $clusters"
		echo "$clusters" >$PARAMETERS/scan_min_clusters || exit 1
		tick 1000 && engine "$mode" || exit 1
		measured "$free" @mode "$mode" "$clusters" "$free" || exit 1
		echo "@counted $(counted searches_used searches_busy timeouts)"
	done || exit 1
done
engine off && swapctl off $DISK || exit 1
rmmod hwswap_simclock && rmmod hwswap || exit 1
echo "@done"
