# SPDX-License-Identifier: Apache-2.0
# The guest's side of the driver's part of `make bench-table`: what a large folio costs in each mode, and what swap
# tables take. Everything it prints is read by hwswap.bench.driver. From the host: KERNEL, which is patched, or
# unpatched: then there is only the bench; RUNS, "order count" a line; MEMORY_MB, the device whose tables are looked at;
# FILLS, sizes in MB; FREES, percentages; SEED.
MODE=/sys/module/hwswap/parameters
ENGINE=/sys/kernel/debug/hwswap
. /allocator-bench

# looks: how often the kernel has looked whether the engine has written words
looks() {
	before=$seen
	seen=$(awk '$1 == "fill_looks" { print $2 }' $ENGINE/stats 2>/dev/null) || seen=0
}

# bench NAME: every order, and how often was looked meanwhile
bench() {
	echo "@phase $1 running the allocator's bench: $1"
	echo "$RUNS" | while read -r order count; do
		allocator_bench "$1" "$order" "$count" looks || exit 1
		looks
		echo "@looks $((${seen:-0} - ${before:-0}))"
	done
}

# engine_mode MODE
engine_mode() {
	echo "$1" >$MODE/mode || return 1
	settle
}

# tables NAME: what swap tables and a tree take now
tables() {
	sed "s/^/@tables $1 /" /sys/kernel/debug/hwswap_tablebench
}

# held NAME MB PERCENT: what they take while so many MB are in swap, but for so many per cent of the pages
held() {
	swapfrag --size "$2m" --free "$3" --seed "$SEED" >/tmp/held &
	process=$!
	until grep -q ready /tmp/held; do
		kill -0 $process || return 1
		sleep 0.1
	done
	tables "$1 $2 $3"
	kill $process
	wait $process
}

if [ "$KERNEL" = unpatched ]; then
	swapctl make -s "${MEMORY_MB}m" /dev/ram0 && swapctl on /dev/ram0 && swap_on 1 2 3 || exit 1
	bench unpatched || exit 1
	swapctl off /dev/ram0 /dev/ram1 /dev/ram2 /dev/ram3 || exit 1
	echo "@done"
	exit
fi

insmod /lib/modules/hwswap_tablebench.ko clusters=$((MEMORY_MB / 2)) || exit 1
swapctl make -s "${MEMORY_MB}m" /dev/ram0 && swapctl on /dev/ram0 || exit 1
echo "@phase memory filling and emptying a swap device"
for size in $FILLS; do
	held fill "$size" 0 || exit 1
done
largest=${FILLS##* }
for percent in $FREES; do
	held empty "$largest" "$percent" || exit 1
done

swap_on 1 2 3 || exit 1
bench stock || exit 1
insmod /lib/modules/hwswap_testbackend.ko fill_order=0 fill_verify=n || exit 1
bench tuned || exit 1
rmmod hwswap_testbackend || exit 1
insmod /lib/modules/hwswap.ko mode=off || exit 1
insmod /lib/modules/hwswap_simclock.ko period_us="$BENCH_TICK_US" || exit 1
# One look takes about 7 instructions; so a look at a register comes every 160 ns, which is as far as it lets the
# simulated engine run.
echo 24 >$MODE/trusted_looks
echo 0 >$MODE/trusted_min_order
engine_mode hint && bench hint || exit 1
engine_mode trusted && bench trusted || exit 1
echo n >$MODE/trusted_verify
bench believed || exit 1
echo off >$MODE/mode
swapctl off /dev/ram0 /dev/ram1 /dev/ram2 /dev/ram3 || exit 1
rmmod hwswap_simclock && rmmod hwswap || exit 1
echo "@done"
