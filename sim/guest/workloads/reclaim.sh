# SPDX-License-Identifier: Apache-2.0
# machine: cpus=2
# Devices with a queue (null_blk), whose pages stay in the swap cache when they are read back: with more than half of
# 96 MB in use, slots that only the cache holds are reclaimed in scans, and full clusters before fragments are tried.
insmod /lib/modules/null_blk.ko nr_devices=2 gb=1 memory_backed=1
swapctl make -s 48m /dev/nullb0
swapctl make -s 48m /dev/nullb1
swapctl on /dev/nullb0
swapctl on /dev/nullb1

swapfrag --size 36m --free 30 --seed "$SEED" >/tmp/frag &
frag=$!
until grep -q ready /tmp/frag; do
	kill -0 $frag || exit 1
	sleep 0.1
done
swapload --processes 2 --size 12m --limit 12m --folio 4k --access random --rounds 1 --seed "$((SEED + 1))" &
small=$!
swapload --size 28m --limit 12m --folio 64k --access random --rounds 2 --seed "$((SEED + 2))" || exit 1
wait $small || exit 1
swapload --size 40m --limit 16m --folio 2m --rounds 2 --seed "$((SEED + 3))" || exit 1
swapload --size 44m --limit 16m --folio 64k --rounds 1 --seed "$((SEED + 4))" || exit 1
kill $frag
wait $frag || exit 1
swapctl off /dev/nullb0 /dev/nullb1
