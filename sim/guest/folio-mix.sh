# SPDX-License-Identifier: Apache-2.0
# The guest's side of the experiment `fallbacks`: how many large folios of each size are split on their way out under a
# mix of all sizes. Everything it prints is read by hwswap.experiments.fallbacks. From the host: LOADS, "NAME COMMAND" a
# line, where COMMAND is a swapmix with its arguments; SIZES, in kB.

# counts: of each size, folios swapped out whole and those that had to be split
counts() {
	for size in $SIZES; do
		folder=/sys/kernel/mm/transparent_hugepage/hugepages-${size}kB/stats
		echo "$size $(cat "$folder/swpout") $(cat "$folder/swpout_fallback")"
	done
}

swapctl make /dev/ram0 || exit 1
echo "$LOADS" | while read -r name command; do
	swapctl on /dev/ram0 || exit 1
	counts | sed "s/^/@before $name /"
	$command >/tmp/mix || exit 1
	counts | sed "s/^/@after $name /"
	sed "s/^/@mix $name /" /tmp/mix
	swapctl off /dev/ram0 || exit 1
done || exit 1
echo "@done"
