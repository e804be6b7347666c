# SPDX-License-Identifier: Apache-2.0
# machine: cpus=1 disk_mb=16
# Up to 95 % of 60 MB of swap on devices of different and equal priority in use: devices fill up and return, order 0
# steals, large folios fail, and slots that only the swap cache holds are reclaimed.
for disk in 0 1 2 3; do
	swapctl make /dev/ram$disk
done
swapctl on -p 9 /dev/ram0
swapctl on -p 5 /dev/ram1
swapctl on -p 5 /dev/ram2
swapctl on /dev/ram3

swapload --size 22m --limit 4m --folio 64k --rounds 2 --seed "$SEED" || exit 1
swapfrag --size 30m --free 40 --seed "$((SEED + 1))" >/tmp/frag &
frag=$!
until grep -q ready /tmp/frag; do
	kill -0 $frag || exit 1
	sleep 0.1
done
swapload --size 26m --limit 4m --folio 4k --access random --rounds 2 --seed "$((SEED + 2))" || exit 1
swapload --size 36m --limit 10m --folio 64k --access strided --rounds 2 --seed "$((SEED + 3))" || exit 1
swapload --size 34m --limit 16m --folio 2m --rounds 1 --seed "$((SEED + 4))" || exit 1
kill $frag
wait $frag || exit 1
swapload --size 54m --limit 8m --folio 64k --access random --rounds 1 --seed "$((SEED + 5))" || exit 1
swapctl off /dev/ram0 /dev/ram1 /dev/ram2 /dev/ram3
