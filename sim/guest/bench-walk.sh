# SPDX-License-Identifier: Apache-2.0
# The guest's side of `make bench-offload PART=walk`: what a large folio costs at the worst. Swap is full of 64 kB
# folios, and one slot of each cluster is free: all clusters are among those that have room, and none has any for 64 kB.
# What it prints is read by hwswap.bench.walk. From the host: SIZES, GiB of swap; LARGE_SEARCH, 0 on a kernel without
# wide searches.
BENCH=/sys/kernel/debug/swap_alloc_bench
SWAP=/sys/kernel/mm/swap

# call NAME GIB COUNT: so many folios of 64 kB
call() {
	echo "4 $3 0" >$BENCH && sed "s/^/@walk $1 $2 /" $BENCH
}

# words COUNT WORD: the operation, so many times, to the allocator's script
words() {
	printf '%b' "$2" >/tmp/words
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do
		cat /tmp/words /tmp/words >/tmp/twice && mv /tmp/twice /tmp/words || return 1
	done
	i=0
	while [ $i -lt "$1" ]; do
		dd if=/tmp/words bs=32768 count=1 >&3 2>/dev/null || return 1
		i=$((i + 4096))
	done
}

for gib in $SIZES; do
	insmod /lib/modules/null_blk.ko nr_devices=1 gb="$gib" bs=4096 memory_backed=1 || exit 1
	swapctl make /dev/nullb0 && swapctl on /dev/nullb0 || exit 1
	exec 3<>/sys/kernel/debug/swap_alloc_script
	# Operation 1: allocate, of order 4. Some more than there is room for.
	words $((gib * 16384)) '\0004\0000\0000\0000\0000\0000\0000\0020' || exit 1
	head -c $((gib * 4096)) /walk-frees | dd bs=32768 >&3 2>/dev/null || exit 1
	call nonfull "$gib" 1 || exit 1
	call again "$gib" 100 || exit 1
	if [ "$LARGE_SEARCH" != 0 ]; then
		echo "$LARGE_SEARCH" >$SWAP/large_search && echo 1 >$SWAP/any_order || exit 1
		call wide "$gib" 100 || exit 1
		echo 0 >$SWAP/large_search && echo 0 >$SWAP/any_order || exit 1
	fi
	exec 3>&-
	swapctl off /dev/nullb0 && rmmod null_blk || exit 1
done
echo "@done"
