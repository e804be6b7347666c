# SPDX-License-Identifier: Apache-2.0

# The first slot, both sides of two borders of clusters, all of the fifth cluster, the last slot.
BAD="1 511 512 1023 1024 $(seq 2048 2559) 4095"

# bad_sums DISK: sums of their content
bad_sums() {
	local slot
	for slot in 1 511 512 1023 1024 4095; do on_disk "$1" $slot 1; done
	on_disk "$1" 2048 512
}

dd if=/dev/urandom of=/dev/ram0 bs=4096 count=4096 conv=fsync 2>/dev/null
bad_sums /dev/ram0 >/tmp/before
used_before=$(on_disk /dev/ram0 2 509)
# shellcheck disable=SC2086  # a list
header /dev/ram0 4095 $BAD
check "518 bad pages in odd places" swapctl on /dev/ram0
equal "all others can be used" $(((4095 - 518) * 4)) "$(meminfo SwapTotal)"
check "all others are filled" hold fill 13m
within "nearly all are in use" 13000 14308 "$(used /dev/ram0)"
bad_sums /dev/ram0 >/tmp/after
check "nothing was written to bad pages" cmp /tmp/before /tmp/after
check "the slots between them are written" [ "$used_before" != "$(on_disk /dev/ram0 2 509)" ]
check "every byte is right" let_go fill
check "folios of 64 kB go around them" swapload --size 12m --limit 4m --folio 64k --rounds 1
swapctl off /dev/ram0

while read -r text pages; do
	# shellcheck disable=SC2086  # a list
	header /dev/ram1 4095 $pages
	refused "a bad page that cannot be: $(echo "$text" | tr _ ' ')" "invalid argument" swapctl on /dev/ram1
done <<-END
	slot_0 0
	twice 7 8 7
	after_the_last_slot 4096
	far_away 4294967295
	more_than_a_header_holds $(seq -s ' ' 100 737)
END
header /dev/ram1 10 1 2 3 4 5 6 7 8 9 10
refused "an area of bad pages alone" "invalid argument" swapctl on /dev/ram1
header /dev/ram1 4095
check "the same device without bad pages" swapctl on /dev/ram1
