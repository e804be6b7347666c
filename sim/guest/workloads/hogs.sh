# SPDX-License-Identifier: Apache-2.0
# machine: cpus=4
# Sequential and random hogs with folios of 4 kB, 64 kB, 512 kB and 2 MB at once from four CPUs, first on four equal
# devices, then on two pairs of different priority, with a swapoff and a swapon under load.
for disk in 0 1 2 3; do
	swapctl make /dev/ram$disk
	swapctl on /dev/ram$disk
done

hogs() {
	swapload --processes 2 --size 8m --limit 8m --folio 4k --access random --rounds 1 --seed "$(($1 + 1))" &
	first=$!
	swapload --processes 2 --size 14m --limit 14m --folio 64k --access random --rounds 2 --seed "$(($1 + 2))" &
	second=$!
	swapload --size 24m --limit 12m --folio 512k --rounds 2 --seed "$(($1 + 3))" &
	third=$!
	swapload --size 32m --limit 16m --folio 2m --rounds 2 --seed "$(($1 + 4))" &
	fourth=$!
}

waiting() {
	for process in $first $second $third $fourth; do
		wait $process || exit 1
	done
}

hogs "$SEED"
sleep 1
swapctl off /dev/ram2
swapctl on /dev/ram2
waiting
swapctl off /dev/ram0 /dev/ram1
swapctl on -p 5 /dev/ram0
swapctl on -p 5 /dev/ram1
hogs "$((SEED + 10))"
waiting
swapctl off /dev/ram0 /dev/ram1 /dev/ram2 /dev/ram3
