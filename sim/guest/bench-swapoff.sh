# SPDX-License-Identifier: Apache-2.0
# The guest's side of the driver's part of `make bench-table`: swapoff of a half-full device whose reads take time.
# From the host: CLUSTERS, the values of vm.page-cluster; NSEC, what a request takes; SIZE_MB, the device; SEED.
DISK=/dev/nullb0
STAT=/sys/block/nullb0/stat
GROUP=/sys/fs/cgroup/half

# half: puts the device's size into swap, frees every other page at random, leaves nothing in the swap cache
half() {
	sh -c "echo \$\$ >$GROUP/cgroup.procs; exec swapfrag --size $((SIZE_MB - 1))m --free 50 --seed $SEED" >/tmp/half &
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

# swapoff FIXED CLUSTER
swapoff() {
	echo "$1" >/sys/kernel/mm/swap/swapoff_ra_fixed
	echo "$2" >/proc/sys/vm/page-cluster
	half || return 1
	echo "@swapoff $1 $2 before $(now) $(awk '$1 == "pswpin" { print $2 }' /proc/vmstat) $(cat $STAT)"
	swapctl off $DISK || return 1
	echo "@swapoff $1 $2 after $(now) $(awk '$1 == "pswpin" { print $2 }' /proc/vmstat) $(cat $STAT)"
	kill $process
	wait $process || return 1
	tail -n 1 /tmp/half | sed "s/^/@load /"
	swapctl on $DISK
}

insmod /lib/modules/null_blk.ko nr_devices=1 gb=1 memory_backed=1 irqmode=2 completion_nsec="$NSEC" || exit 1
echo false >/sys/kernel/mm/swap/vma_ra_enabled
echo +memory >/sys/fs/cgroup/cgroup.subtree_control && mkdir $GROUP || exit 1
swapctl make -s "${SIZE_MB}m" $DISK && swapctl on $DISK || exit 1
# The first one ever does more than the others.
swapoff false 3 >/dev/null || exit 1
for cluster in $CLUSTERS; do
	for fixed in false true; do
		echo "@phase swapoff page_cluster $cluster, fixed windows: $fixed"
		swapoff $fixed "$cluster" || exit 1
	done
done
echo "@done"
