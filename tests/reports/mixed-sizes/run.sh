# SPDX-License-Identifier: Apache-2.0

SIZES="16 32 64 128"

# placed: folios of each size that went out whole and those that were split, together
placed() {
	for size in $SIZES; do
		echo "$size $(($(folios "$size" swpout) + $(folios "$size" swpout_fallback)))"
	done
}
# paged: the same, by the program that wrote them
paged() {
	for size in $SIZES; do
		echo "$size $(sed -n 's/.*"paged_out_'"$size"'":\([0-9]*\).*/\1/p' /tmp/load)"
	done
}
split() { for size in $SIZES; do folios "$size" swpout_fallback; done | awk '{ sum += $1 } END { print sum }'; }

on /dev/ram0 || exit 1
# The work of hours: five sizes come and go, while the mix changes, on swap that is 85 % full.
right "every byte of the mix is right" swapmix --fill 40m --churn 120m --seed 12
equal "the kernel counts each folio once" "$(paged)" "$(placed)"
figure split "$(split)"
check "no slot of the mix is left behind" until_true 20 swap_is_empty

# Alone, folios of 64 kB fit: the mix's slots are free.
before=$(folios 64 swpout_fallback)
right "every byte of large folios is right" swapmix --sizes 64k --fill 40m --churn 80m --seed 13
equal "none is split" "$before" "$(folios 64 swpout_fallback)"

# In the reporter's manner: they go out again and again over single pages that leave holes.
rounds_right=0
for round in 0 1 2 3; do
	swapload --size 16m --limit 6m --folio 64k --access random --seed "$round" >/tmp/large &
	swapload --size 8m --limit 6m --access random --seed "$((100 + round))" >/tmp/small
	wait $!
	verified /tmp/large && verified /tmp/small && rounds_right=$((rounds_right + 1))
done
equal "every byte of four rounds is right" 4 "$rounds_right"
out=$(($(folios 64 swpout) + $(folios 64 swpout_fallback)))
within "many large folios went out" 500 100000 "$out"
equal "none of them is split either" "$before" "$(folios 64 swpout_fallback)"
check "no slot is left behind" until_true 20 swap_is_empty
check "swapoff" swapctl off /dev/ram0
equal "nothing is left" "0 0" "$(meminfo SwapTotal) $(meminfo SwapFree)"
