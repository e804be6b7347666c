# SPDX-License-Identifier: Apache-2.0
# records: readahead
# Faults in sequence, at random and with strides on two equal devices with a queue (null_blk), where the cluster
# readahead works, with pages read ahead in powers of two from 1 to 512. Then swapoff under load, with adaptive windows
# and with those of a fixed size.
insmod /lib/modules/null_blk.ko nr_devices=2 gb=1 memory_backed=1
echo false >/sys/kernel/mm/swap/vma_ra_enabled
swapctl make -s 12m /dev/nullb0
swapctl make -s 11m /dev/nullb1
swapctl on -p 5 /dev/nullb0
swapctl on -p 5 /dev/nullb1

for cluster in 3 0 1 2 4 5 6 9 8 7; do
	echo $cluster >/proc/sys/vm/page-cluster
	swapload --size 8m --limit 4m --rounds 1 --seed "$SEED" || exit 1
	swapload --size 6m --limit 3m --access random --rounds 1 --seed "$((SEED + cluster))" || exit 1
	swapload --size 6m --limit 3m --access strided --stride "$((2 * cluster + 1))" --rounds 1 --seed "$SEED" || exit 1
done
# Processes that take turns.
echo 3 >/proc/sys/vm/page-cluster
swapload --processes 2 --size 5m --limit 4m --rounds 1 --seed "$SEED" || exit 1

for fixed in false true; do
	echo $fixed >/sys/kernel/mm/swap/swapoff_ra_fixed
	swapload --size 10m --limit 3m --access random --rounds 0 --seed "$SEED" >/tmp/load &
	load=$!
	sleep 0.1
	swapctl off /dev/nullb0
	kill $load
	wait $load || exit 1
	swapctl on -p 5 /dev/nullb0
done
swapctl off /dev/nullb0 /dev/nullb1
