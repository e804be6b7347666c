# SPDX-License-Identifier: Apache-2.0

nullb 0 64 rotational=1 irqmode=2 completion_nsec=20000 && on /dev/nullb0 || exit 1
equal "it rotates" 1 "$(cat /sys/block/nullb0/queue/rotational)"
right "eight processes with folios of 64 kB: every byte is right" \
	swapload --processes 8 --size 3m --limit 8m --folio 64k --access random
within "many went out" 200 100000 "$(($(folios 64 swpout) + $(folios 64 swpout_fallback)))"
equal "none was split, with more than half of the device free" 0 "$(folios 64 swpout_fallback)"
right "eight processes with single pages: every byte is right" \
	swapload --processes 8 --size 2m --limit 8m --access random --seed 5
swapload --processes 4 --size 4m --limit 8m --folio 64k --access random --seed 6 >/tmp/large &
swapload --processes 4 --size 3m --limit 6m --access random --seed 7 >/tmp/small
wait $!
check "both at once: every byte of folios is right" verified /tmp/large
check "both at once: every byte of pages is right" verified /tmp/small
check "swapoff" swapctl off /dev/nullb0
