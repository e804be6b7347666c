# SPDX-License-Identifier: Apache-2.0
# Random and strided access with folios of 4 kB to 512 kB on four equal devices, while half of the slots of a first
# region, chosen at random, are in use. At most 110 of 256 MB of swap are in use.
for disk in 0 1 2 3; do
	swapctl make /dev/ram$disk
	swapctl on /dev/ram$disk
done

swapfrag --size 70m --seed "$SEED" >/tmp/frag &
frag=$!
until grep -q ready /tmp/frag; do
	kill -0 $frag || exit 1
	sleep 0.1
done
swapload --processes 2 --size 10m --limit 12m --access random --folio 4k --rounds 2 --seed "$((SEED + 1))" &
small=$!
swapload --size 16m --limit 8m --access strided --folio 16k --rounds 2 --seed "$((SEED + 2))" &
middle=$!
swapload --size 24m --limit 12m --access random --folio 64k --rounds 3 --seed "$((SEED + 3))" || exit 1
wait $small || exit 1
wait $middle || exit 1
swapload --size 24m --limit 12m --access random --folio 512k --rounds 2 --seed "$((SEED + 4))" || exit 1
kill $frag
wait $frag || exit 1
swapload --size 24m --limit 14m --access random --folio 64k --rounds 2 --seed "$((SEED + 5))" || exit 1
swapctl off /dev/ram0 /dev/ram1 /dev/ram2 /dev/ram3
