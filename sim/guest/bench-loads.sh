# SPDX-License-Identifier: Apache-2.0
# The guest's side of `hwswap bench loads`: each load in turn, several times, each on swap that is new. Everything it
# prints is read by hwswap.loads. From the host: COLUMN: unpatched, or a mode of the driver; LOADS: their names,
# in /loads; RUNS; SEED; SCALE: percent of the loads' sizes; SWAP_MB: of all four disks together; TICK_US: guest time
# between two steps of the simulated engine.
THP=/sys/kernel/mm/transparent_hugepage
DISKS="0 1 2 3"

# mb N: so many megabytes, scaled
mb() {
	echo "$(($1 * SCALE * 1024 / 100))k"
}

# limited SIZE COMMAND...: in a memory group that is kept to that size. Not by memory.max: programs that touch all of
# their memory at once, and again, are killed there, as reclaim finds it all in use.
limited() {
	group=/sys/fs/cgroup/load
	[ -d $group ] || mkdir $group || return 1
	echo +memory >/sys/fs/cgroup/cgroup.subtree_control
	echo "$1" >$group/memory.high || return 1
	shift
	sh -c 'echo 0 >/sys/fs/cgroup/load/cgroup.procs && exec "$@"' limited "$@"
}

# counters LOAD RUN before|after
counters() {
	echo "@counters $1 $2 $3"
	grep -E '^(pswpin|pswpout|swap_ra|swap_ra_hit) ' /proc/vmstat
	for size in 16 32 64 128 256 512 1024 2048; do
		for counter in swpout swpout_fallback; do
			echo "${counter}_$size $(cat "$THP/hugepages-${size}kB/stats/$counter")"
		done
	done
	grep -E '^(usage_usec|user_usec|system_usec) ' /sys/fs/cgroup/cpu.stat
	[ ! -d /sys/kernel/debug/hwswap ] || grep -E '^[a-z0-9_]+ [0-9]+$' /sys/kernel/debug/hwswap/stats
	echo "@end"
}

case $COLUMN in
unpatched) ;;
*)
	insmod /lib/modules/hwswap.ko mode="$COLUMN" || exit 1
	insmod /lib/modules/hwswap_simclock.ko period_us="$TICK_US" || exit 1
	;;
esac
for load in $LOADS; do
	run=0
	while [ $run -lt "$RUNS" ]; do
		echo "@phase $load, run $((run + 1)) of $RUNS"
		for disk in $DISKS; do
			swapctl make /dev/ram$disk && swapctl on /dev/ram$disk || exit 1
		done
		counters "$load" $run before
		(
			SEED=$((SEED + 1000 * run))
			. /loads/"$load"
		) >/tmp/said || { cat /tmp/said; exit 1; }
		counters "$load" $run after
		sed "s/^/@load $load $run /" /tmp/said
		[ ! -d /sys/kernel/debug/hwswap ] || sed "s/^/@verify $load $run /" /sys/kernel/debug/hwswap/verify
		for disk in $DISKS; do
			swapctl off /dev/ram$disk || exit 1
		done
		run=$((run + 1))
	done
done
case $COLUMN in
unpatched) ;;
*) rmmod hwswap_simclock && rmmod hwswap || exit 1 ;;
esac
echo "@done"
