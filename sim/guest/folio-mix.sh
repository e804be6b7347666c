# SPDX-License-Identifier: Apache-2.0
# The guest's side of the experiment `fallbacks`: how many large folios of each size are split on their way out under
# their mix. Everything it prints is read by hwswap.experiments.fallbacks. From the host: MIX, swapmix with its
# arguments; SIZES, in kB.

# counts: of each size, folios swapped out whole and those that had to be split
counts() {
	for size in $SIZES; do
		folder=/sys/kernel/mm/transparent_hugepage/hugepages-${size}kB/stats
		echo "$size $(cat "$folder/swpout") $(cat "$folder/swpout_fallback")"
	done
}

swapctl make /dev/ram0 && swapctl on /dev/ram0 || exit 1
counts | sed "s/^/@before /"
$MIX >/tmp/mix || exit 1
counts | sed "s/^/@after /"
sed "s/^/@mix /" /tmp/mix
swapctl off /dev/ram0 || exit 1
echo "@done"
