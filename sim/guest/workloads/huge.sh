# SPDX-License-Identifier: Apache-2.0
# machine: cpus=2 disk_mb=12
# Many short processes with folios of 2 MB on swap that single slots leave no empty cluster of: order 9 fails, on one
# device and then on the next, and sometimes finds the one cluster that just got empty.
for disk in 0 1 2 3; do
	swapctl make /dev/ram$disk
	swapctl on /dev/ram$disk
done
swapfrag --size 36m --free 50 --seed "$SEED" >/tmp/frag &
frag=$!
until grep -q ready /tmp/frag; do
	kill -0 $frag || exit 1
	sleep 0.1
done
round=0
while [ $round -lt 30 ]; do
	swapload --processes 2 --size 6m --limit 4m --folio 2m --rounds 1 --seed "$((SEED + round))" &
	one=$!
	swapload --size 6m --limit 4m --folio 64k --access random --rounds 1 --seed "$((SEED + 100 + round))" || exit 1
	wait $one || exit 1
	round=$((round + 1))
done
kill $frag
wait $frag || exit 1
swapctl off /dev/ram0 /dev/ram1 /dev/ram2 /dev/ram3
