# SPDX-License-Identifier: Apache-2.0
# The guest's side of `make bench-offload PART=walk`: the highest cost of a large folio. Swap is full of 64 kB
# folios, and one slot of each cluster is free: all clusters are among those that have room, and none has any for 64 kB.
# Its output is read by hwswap.bench.walk. From the host: SIZES, GiB of swap; LARGE_SEARCH, 0 on a kernel without
# wide searches; /walk-allocations and /walk-frees, operations of the allocator's script.
BENCH=/sys/kernel/debug/swap_alloc_bench
SWAP=/sys/kernel/mm/swap

# call NAME GIB COUNT: so many folios of 64 kB
call() {
	echo "4 $3 0" >$BENCH && sed "s/^/@walk $1 $2 /" $BENCH
}

for gib in $SIZES; do
	swapctl make -s "${gib}g" /dev/ram0 && swapctl on /dev/ram0 || exit 1
	exec 3<>/sys/kernel/debug/swap_alloc_script
	# Some more than there is room for.
	for _ in $(seq $((4 * gib))); do
		dd if=/walk-allocations bs=32768 >&3 2>/dev/null || exit 1
	done
	head -c $((gib * 4096)) /walk-frees | dd bs=32768 >&3 2>/dev/null || exit 1
	call nonfull "$gib" 1 || exit 1
	call again "$gib" 100 || exit 1
	if [ "$LARGE_SEARCH" != 0 ]; then
		echo "$LARGE_SEARCH" >$SWAP/large_search && echo 1 >$SWAP/any_order || exit 1
		call wide "$gib" 100 || exit 1
		echo 0 >$SWAP/large_search && echo 0 >$SWAP/any_order || exit 1
	fi
	exec 3>&-
	swapctl off /dev/ram0 || exit 1
done
echo "@done"
