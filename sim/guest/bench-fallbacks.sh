# SPDX-License-Identifier: Apache-2.0
# The guest's side of `make bench-offload`: how many large folios are split on their way out under a churn of all sizes.
# Everything it prints is read by hwswap.bench.fallbacks. From the host: DISKS, "NUMBER:PRIORITY" of the RAM disks that
# are swap; RUNS, "PLACEMENT PERCENT MB CHURN_MB" a line; SIZES of folios, kB; LARGE_SEARCH; PERIOD_US and
# ENGINE_PERIOD_US; SEED. Placements: linux; devices, wide-N and wide, which look into more clusters; indexed and open,
# by the engine in software, or, with engine- before them, by the simulated one.
THP=/sys/kernel/mm/transparent_hugepage
SWAP=/sys/kernel/mm/swap
MIX=$(echo "$SIZES" | sed 's/ /k,/g')k

# swaps on|off: all disks
swaps() {
	for each in $DISKS; do
		disk=${each%:*}
		if [ "$1" = on ]; then
			swapctl make /dev/ram"$disk" && swapctl on -p "${each#*:}" /dev/ram"$disk" || return 1
		else
			swapctl off /dev/ram"$disk" || return 1
		fi
	done
}

# counts: of each size, folios swapped out whole and those that had to be split
counts() {
	for size in $SIZES; do
		[ "$size" -gt 4 ] || continue
		folder=$THP/hugepages-${size}kB/stats
		echo "$size $(cat "$folder/swpout") $(cat "$folder/swpout_fallback")"
	done
}

# ticks: the time that the system has run for itself, in ticks of user space
ticks() {
	awk '/^cpu / { print $4 }' /proc/stat
}

# placement_on PLACEMENT: the kernel's switches, and who gives grants; the module is in $module, empty if there is none
placement_on() {
	module=
	case $1 in
	wide-*) echo "${1#*-}" >$SWAP/large_search || return 1 ;;
	devices | wide) echo "$LARGE_SEARCH" >$SWAP/large_search || return 1 ;;
	esac
	case $1 in
	wide* | *open) echo 1 >$SWAP/any_order || return 1 ;;
	esac
	case $1 in
	engine-*)
		module=hwswap
		insmod /lib/modules/hwswap.ko mode=hint open="$(cat $SWAP/any_order)" || return 1
		grep -q '^attached' /sys/kernel/debug/hwswap/state || return 1
		insmod /lib/modules/hwswap_simclock.ko period_us="$ENGINE_PERIOD_US"
		;;
	indexed | open)
		module=hwswap_softgrants
		insmod /lib/modules/hwswap_softgrants.ko first=1 period_us="$PERIOD_US" placement="$1"
		;;
	esac
}

placement_off() {
	[ "$module" != hwswap ] || rmmod hwswap_simclock || return 1
	[ ! "$module" ] || rmmod "$module" || return 1
	echo 0 >$SWAP/large_search && echo 0 >$SWAP/any_order
}

echo "$RUNS" | while read -r placement percent size churn; do
	swaps on || exit 1
	placement_on "$placement" || exit 1
	counts | sed "s/^/@count $placement $percent before /"
	echo "@ticks $placement $percent before $(ticks)"
	swapmix --sizes "$MIX" --fill "${size}m" --churn "${churn}m" --seed "$SEED" >/tmp/mix || exit 1
	echo "@ticks $placement $percent after $(ticks)"
	counts | sed "s/^/@count $placement $percent after /"
	sed "s/^/@mix $placement $percent /" /tmp/mix
	[ ! "$module" ] || sed "s/^/@verify $placement $percent /" /sys/kernel/debug/$module/verify
	placement_off || exit 1
	swaps off || exit 1
done || exit 1
echo "@done"
