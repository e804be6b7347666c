# SPDX-License-Identifier: Apache-2.0
# The guest's side of `make witness`. From the host: DRIVER, whether the driver is loaded, in mode off, or no; SCENES,
# how many there are.
# /scenes/N/areas has a line for each device, "DISK BYTES PRIORITY ROTATING BAD", where - stands for none;
# /scenes/N/script is for the program `witness`, and /tmp/N its output.
SIZES=/sys/kernel/mm/transparent_hugepage
COUNTERS="pswpin|pswpout|pgscan_kswapd|pgsteal_kswapd|pgscan_direct|swap_ra|nr_swapcached|pgscan_khugepaged"

# areas FILE: switches the devices on
areas() {
	while read -r disk bytes priority rotating bad; do
		echo "$rotating" >"/sys/block/ram$disk/queue/rotational" || return 1
		[ "$bad" = - ] && bad= || bad="-b $bad"
		[ "$priority" = - ] && priority= || priority="-p $priority"
		# shellcheck disable=SC2086  # none, or an option and its value
		swapctl make $bad -s "$bytes" "/dev/ram$disk" && swapctl on $priority "/dev/ram$disk" || return 1
	done <"$1"
}

# counters: the kernel's counters of swap, a line each
counters() {
	grep -E "^($COUNTERS) " /proc/vmstat
	for size in "$SIZES"/hugepages-*kB; do
		for name in swpout swpout_fallback; do
			[ -f "$size/stats/$name" ] && echo "${size##*/}/$name $(cat "$size/stats/$name")"
		done
	done
}

# An anonymous folio is of the largest size that fits between two holes of the program's memory.
for size in "$SIZES"/hugepages-*kB; do
	[ ! -f "$size/enabled" ] || echo always >"$size/enabled" || exit 1
done
echo always >"$SIZES/enabled" || exit 1
# Folios made large in the background, or read in, would use swap beside the script.
echo 0 >"$SIZES/khugepaged/max_ptes_swap" || exit 1
echo 0 >"$SIZES/khugepaged/max_ptes_none" || exit 1
echo 4000000000 >"$SIZES/khugepaged/scan_sleep_millisecs" || exit 1
echo 1000000 >/proc/sys/vm/max_map_count || exit 1
[ "$DRIVER" = no ] || insmod /lib/modules/hwswap.ko mode=off || exit 1
counters | sed 's/^/@before /'
scene=0
while [ $scene -lt "$SCENES" ]; do
	areas /scenes/$scene/areas || exit 1
	witness /scenes/$scene/script /tmp/$scene >/tmp/ended || exit 1
	sed "s/^/@scene $scene /" /tmp/ended
	swapctl off $(awk '{ print "/dev/ram" $1 }' /scenes/$scene/areas) || exit 1
	scene=$((scene + 1))
done
counters | sed 's/^/@after /'
[ "$DRIVER" = no ] || cat /sys/module/hwswap/parameters/mode | sed 's/^/@mode /'
