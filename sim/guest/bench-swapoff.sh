# SPDX-License-Identifier: Apache-2.0
# The guest's side of the driver's part of `make bench-table`: swapoff of a half-full device whose reads take time.
# From the host: CLUSTERS, the values of vm.page-cluster; NSEC, what a request takes; SIZE_MB, the device; SEED.
DISK=/dev/nullb0
. /half-full

# swapoff FIXED CLUSTER
swapoff() {
	echo "$1" >/sys/kernel/mm/swap/swapoff_ra_fixed
	echo "$2" >/proc/sys/vm/page-cluster
	measured 50 @swapoff "$1" "$2"
}

insmod /lib/modules/null_blk.ko nr_devices=1 gb=1 memory_backed=1 irqmode=2 completion_nsec="$NSEC" || exit 1
echo false >/sys/kernel/mm/swap/vma_ra_enabled
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
