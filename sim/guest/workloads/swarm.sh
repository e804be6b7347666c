# SPDX-License-Identifier: Apache-2.0
# machine: cpus=4
# A swarm of short processes: each takes a little more memory than its group may have, and ends, with folios of 4 kB or
# 64 kB, so that their slots are freed in runs by exit rather than slot by slot.
for disk in 0 1; do
	swapctl make /dev/ram$disk
	swapctl on /dev/ram$disk
done
round=0
while [ $round -lt 24 ]; do
	case $((round % 3)) in
	0) folio=4k ;;
	1) folio=64k ;;
	2) folio=16k ;;
	esac
	swapload --processes 4 --size 2m --limit 5m --folio $folio --access random --seed "$((SEED + round))" &
	one=$!
	swapload --processes 3 --size 3m --limit 5m --folio 4k --seed "$((SEED + 50 + round))" || exit 1
	wait $one || exit 1
	round=$((round + 1))
done
swapctl off /dev/ram0 /dev/ram1
