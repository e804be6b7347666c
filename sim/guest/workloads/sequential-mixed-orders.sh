# SPDX-License-Identifier: Apache-2.0
# Folios of 4 kB, 64 kB and 2 MB written in sequence, first one kind after the other, then all at once, on two equal
# devices, one with a higher priority and bad pages, and one with a lower priority; then a swapoff with pages on it.
# At most 90 of 212 MB of swap are in use.
swapctl make -b 77,600,601,602,2048 /dev/ram0
swapctl make /dev/ram1
swapctl make /dev/ram2
swapctl make -s 20m /dev/ram3
swapctl on -p 7 /dev/ram3
swapctl on -p 5 /dev/ram0
swapctl on -p 5 /dev/ram1
swapctl on -p 3 /dev/ram2

swapload --size 24m --limit 8m --folio 4k --rounds 2 --seed "$SEED" || exit 1
swapload --size 48m --limit 16m --folio 64k --rounds 3 --seed "$SEED" || exit 1
swapload --size 64m --limit 32m --folio 2m --rounds 2 --seed "$SEED" || exit 1
swapload --size 14m --limit 6m --folio 4k --rounds 0 --seed "$((SEED + 1))" &
small=$!
swapload --size 24m --limit 10m --folio 64k --rounds 0 --seed "$((SEED + 2))" &
middle=$!
swapload --size 48m --limit 24m --folio 2m --rounds 1 --seed "$((SEED + 3))" || exit 1
swapctl off /dev/ram3
swapload --size 40m --limit 24m --folio 2m --rounds 1 --seed "$((SEED + 4))" || exit 1
kill $small $middle
wait $small || exit 1
wait $middle || exit 1
swapctl off /dev/ram0 /dev/ram1 /dev/ram2
