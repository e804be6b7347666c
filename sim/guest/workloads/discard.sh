# SPDX-License-Identifier: Apache-2.0
# machine: cpus=1
# Folios of 4 kB, 64 kB and 2 MB on two discarding devices (null_blk) of different priorities: clusters wait on the
# discard list, are discarded, and come back; one swapoff with pages on the device. Less than half of 192 MB is in use.
# Not of equal priority: two equals whose free slots all wait for a discard make the kernel go round between them.
insmod /lib/modules/null_blk.ko nr_devices=2 gb=1 memory_backed=1 discard=1
swapctl make -s 96m /dev/nullb0
swapctl make -s 96m /dev/nullb1
swapctl on -d -p 5 /dev/nullb0
swapctl on -d -p 3 /dev/nullb1

swapload --size 20m --limit 8m --folio 4k --rounds 1 --seed "$SEED" || exit 1
swapload --size 40m --limit 16m --folio 64k --access random --rounds 2 --seed "$((SEED + 1))" || exit 1
swapload --size 56m --limit 24m --folio 2m --rounds 2 --seed "$((SEED + 2))" || exit 1
swapload --processes 2 --size 10m --limit 10m --folio 64k --rounds 0 --seed "$((SEED + 3))" &
middle=$!
swapload --size 12m --limit 6m --folio 4k --access random --rounds 1 --seed "$((SEED + 4))" || exit 1
swapctl off /dev/nullb1
swapctl on -d -p 7 /dev/nullb1
swapload --size 16m --limit 8m --folio 512k --rounds 2 --seed "$((SEED + 5))" || exit 1
kill $middle
wait $middle || exit 1
swapctl off /dev/nullb0 /dev/nullb1
