# SPDX-License-Identifier: Apache-2.0

# all_out NAME PAGES: whether so many are in swap. Once all slots are in use no allocation looks at the device, and a
# worker has to take back slots that only the swap cache holds: attempts before that fail, unpatched, too.
all_out() { [ "$(ask "$1" out)" -ge "$2" ]; }

# Not synchronous: pages read back stay in the swap cache. A rotating one reclaims by another way.
for rotational in 0 1; do
	nullb $rotational 64 rotational=$rotational irqmode=2 completion_nsec=20000 && on /dev/nullb$rotational || exit 1
	cached=cached$rotational
	holder $cached 7936 || exit 1
	tell $cached "fill 1" out check
	within "rotational=$rotational: the swap cache holds half of swap" 28000 33000 "$(meminfo SwapCached)"
	rest=rest$rotational
	holder $rest 14336 || exit 1
	tell $rest "fill 1" out
	check "rotational=$rotational: 56 of 64 MB can be paged out then, but for 256 kB" until_true 20 \
		all_out $rest $((14336 - 64))
	equal "rotational=$rotational: every byte of these is right" "right 14336 wrong 0 killed 0" "$(ask $rest check)"
	tell $rest end
	equal "rotational=$rotational: every byte of what was cached is right" "right 7936 wrong 0 killed 0" \
		"$(ask $cached check)"
	tell $cached end
	swapctl off /dev/nullb$rotational
done
