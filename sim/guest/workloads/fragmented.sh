# SPDX-License-Identifier: Apache-2.0
# machine: cpus=1 disk_mb=12
# Folios of 4 kB, 16 kB, 64 kB and 2 MB at once on 47 MB of swap that is nearly full: large orders walk over clusters
# that have no room for them and fail, order 0 steals, devices fill up and return.
for disk in 0 1 2 3; do
	swapctl make /dev/ram$disk
done
swapctl on -p 5 /dev/ram0
swapctl on -p 5 /dev/ram1
swapctl on /dev/ram2
swapctl on /dev/ram3

swapload --size 14m --limit 3m --folio 64k --access random --rounds 0 --seed "$SEED" &
first=$!
swapload --size 10m --limit 3m --folio 16k --access strided --rounds 0 --seed "$((SEED + 1))" &
second=$!
swapload --size 12m --limit 3m --folio 2m --rounds 0 --seed "$((SEED + 2))" &
third=$!
swapload --size 18m --limit 4m --folio 4k --access random --rounds 4 --seed "$((SEED + 3))" || exit 1
kill $first $second $third
for process in $first $second $third; do
	wait $process || exit 1
done
swapctl off /dev/ram0 /dev/ram1 /dev/ram2 /dev/ram3
