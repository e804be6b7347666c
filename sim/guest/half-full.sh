# SPDX-License-Identifier: Apache-2.0
# Functions for guests that measure a swapoff: a device that is partly full of what processes hold, and its switching
# off, timed. Wanted: DISK, the device, on already; SIZE_MB, its size; SEED; BEFORE, a command to run before a swapoff.
GROUP=/sys/fs/cgroup/half

# half PERCENT: puts the device's size into swap, frees so much of it at random, leaves nothing in the swap cache
half() {
	if [ ! -d $GROUP ]; then
		echo +memory >/sys/fs/cgroup/cgroup.subtree_control && mkdir $GROUP || return 1
	fi
	sh -c "echo \$\$ >$GROUP/cgroup.procs; exec swapfrag --size $((SIZE_MB - 1))m --free $1 --seed $SEED" >/tmp/half &
	process=$!
	until grep -q ready /tmp/half; do
		kill -0 $process || return 1
		sleep 0.1
	done
	# It says that less was there to reclaim than was asked for.
	echo "${SIZE_MB}m" >$GROUP/memory.reclaim 2>/dev/null
	sync
	sleep 0.2
}

# now: nanoseconds of guest time
now() {
	awk '$1 == "now" { printf "%.0f", $3 * 1000000000 }' /sys/kernel/tracing/per_cpu/cpu0/stats
}

# reads: guest time, pages swapped in since boot, the device's own counters
reads() {
	echo "$(now) $(awk '$1 == "pswpin" { print $2 }' /proc/vmstat) $(cat "/sys/block/${DISK##*/}/stat")"
}

# measured PERCENT LABEL...: half, then a swapoff, told of in lines that begin with the label
measured() {
	half "$1" || return 1
	shift
	${BEFORE:-:} || return 1
	echo "$* before $(reads)"
	swapctl off "$DISK" || return 1
	echo "$* after $(reads)"
	kill $process
	wait $process || return 1
	tail -n 1 /tmp/half | sed "s/^/@load /"
	swapctl on "$DISK"
}
