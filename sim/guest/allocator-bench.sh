# SPDX-License-Identifier: Apache-2.0
# The allocator's bench, for guests: `make demo` and `make bench-offload` run it in one way, so that their figures can
# be compared. It calls the allocator directly; no event of the allocator may be enabled meanwhile.
BENCH=/sys/kernel/debug/swap_alloc_bench

# Guest time between two steps of the simulated engine, when there is one. A step interrupts any program, and its cost
# counts for the call that it hits; like this it hits less than one call in a hundred, and stays out of the 99th
# percentile.
BENCH_TICK_US=200

# Guest time between two calls of the bench, a page, where there is a simulated engine: the grants in a ring last
# from step to step.
GAP_NS=20000

# settle: until the engine, if there is one, has had guest time to follow
settle() {
	sync
	sleep 0.05
}

# swap_on DISK...: RAM disks as swap, in this order
swap_on() {
	for disk in "$@"; do
		swapctl make /dev/ram"$disk" && swapctl on /dev/ram"$disk" || return 1
	done
}

# allocator_bench NAME ORDER COUNT [ROUNDS]: prints the cost of a call as lines "@bench NAME GAP_NS JSON". With
# KNOWN=known places are known beforehand.
allocator_bench() {
	gap=$((GAP_NS << $2))
	[ $gap -le 1000000 ] || gap=1000000
	# The first run of an order asks for its ring; the next ones do not cost that.
	echo "$2 2 $gap" >$BENCH || return 1
	settle
	echo "${KNOWN:-} $2 $3 $gap ${4:-1}" >$BENCH || return 1
	sed "s/^/@bench $1 $gap /" $BENCH
}
