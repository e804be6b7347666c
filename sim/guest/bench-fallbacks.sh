# SPDX-License-Identifier: Apache-2.0
# The guest's side of `make bench-offload`: how many large folios are split on their way out under a churn of all sizes.
# Everything it prints is read by hwswap.bench.fallbacks. From the host: DISKS, "NUMBER:PRIORITY" of the RAM disks that
# are swap; FILLS, "PERCENT MB CHURN_MB" a line; SIZES of folios, kB; PLACEMENTS: linux, or indexed and open, by the
# engine in software, or, with engine- before them, by the simulated one; PERIOD_US and ENGINE_PERIOD_US; SEED.
THP=/sys/kernel/mm/transparent_hugepage
OPEN=/sys/kernel/mm/swap/grants_open
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

# grants_on PLACEMENT: who gives grants, and how; the module's name is in $module, and empty if it is nobody
grants_on() {
	module=
	case $1 in
	linux) return ;;
	*open) echo 1 >$OPEN || return 1 ;;
	esac
	case $1 in
	engine-*)
		module=hwswap
		insmod /lib/modules/hwswap.ko mode=hint open="$(cat $OPEN)" || return 1
		grep -q '^attached' /sys/kernel/debug/hwswap/state || return 1
		insmod /lib/modules/hwswap_simclock.ko period_us="$ENGINE_PERIOD_US"
		;;
	*)
		module=hwswap_softgrants
		insmod /lib/modules/hwswap_softgrants.ko first=1 period_us="$PERIOD_US" placement="$1"
		;;
	esac
}

# grants_off
grants_off() {
	[ $module != hwswap ] || rmmod hwswap_simclock || return 1
	rmmod $module && echo 0 >$OPEN
}

for placement in $PLACEMENTS; do
	echo "$FILLS" | while read -r percent size churn; do
		swaps on || exit 1
		grants_on "$placement" || exit 1
		counts | sed "s/^/@count $placement $percent before /"
		swapmix --sizes "$MIX" --fill "${size}m" --churn "${churn}m" --seed "$SEED" >/tmp/mix || exit 1
		sed "s/^/@mix $placement $percent /" /tmp/mix
		counts | sed "s/^/@count $placement $percent after /"
		if [ "$module" ]; then
			sed "s/^/@stats $placement $percent /" /sys/kernel/debug/$module/stats
			sed "s/^/@verify $placement $percent /" /sys/kernel/debug/$module/verify
			grants_off || exit 1
		fi
		swaps off || exit 1
	done || exit 1
done
echo "@done"
