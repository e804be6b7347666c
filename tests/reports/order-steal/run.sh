# SPDX-License-Identifier: Apache-2.0

# sums: folios of all sizes that went out whole, and those that were split
sums() {
	cat "$HUGEPAGES"/hugepages-*kB/stats/swpout | awk '{ sum += $1 } END { printf "%d ", sum }'
	cat "$HUGEPAGES"/hugepages-*kB/stats/swpout_fallback | awk '{ sum += $1 } END { print sum }'
}

# 8703 slots. Folios of 64 kB take nearly all, in clusters of their order, and every second one is given back.
on /dev/ram0 || exit 1
echo always >"$HUGEPAGES"/hugepages-64kB/enabled
holder large 8192 || exit 1
tell large "fill 1"
equal "folios of 64 kB fill the device" 8192 "$(ask large out)"
within "nearly all went out as such" 500 512 "$(folios 64 swpout)"
for first in $(seq 0 32 8191); do
	tell large "drop $first 16"
done
equal "half of the slots are free" $(((8703 - 4096) * 4)) "$(meminfo SwapFree)"

for size in "$HUGEPAGES"/hugepages-*kB/enabled; do echo never >"$size"; done
before=$(sums)
holder small 4607 || exit 1
tell small "fill 2"
within "single pages take the free slots, to the last ones" 4592 4607 "$(ask small out)"
within "the device is full" 0 60 "$(meminfo SwapFree)"
equal "no large folio went out meanwhile, and none was split" "$before" "$(sums)"
equal "every single page is right" "right 4607 wrong 0 killed 0" "$(ask small check)"
equal "all can be written" 4607 "$(ask small fill 3)"
within "and go out once more" 4592 4607 "$(ask small out)"
tell small end

echo always >"$HUGEPAGES"/hugepages-64kB/enabled
before=$(folios 64 swpout_fallback)
holder again 4096 || exit 1
tell again "fill 4"
equal "folios of 64 kB find their places again" 4096 "$(ask again out)"
equal "and none is split" "$before" "$(folios 64 swpout_fallback)"
equal "every page of the first ones is right" "right 4096 wrong 0 killed 0" "$(ask large check)"
tell large end
tell again end
check "no slot is left behind" until_true 20 swap_is_empty
