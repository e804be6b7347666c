# SPDX-License-Identifier: Apache-2.0
# machine: cpus=2
# Folios of 4 kB to 2 MB from two CPUs on a rotating device (null_blk) between a faster and a slower RAM disk, so that
# the CPUs' own places and the rotating device's shared one are both in use. At most 60 of 128 MB are in use.
insmod /lib/modules/null_blk.ko nr_devices=1 gb=1 memory_backed=1 rotational=1
swapctl make -s 16m /dev/ram0
swapctl make -s 64m /dev/nullb0
swapctl make -s 48m /dev/ram1
swapctl on -p 7 /dev/ram0
swapctl on -p 5 /dev/nullb0
swapctl on -p 3 /dev/ram1

swapload --processes 2 --size 12m --limit 8m --folio 4k --access random --rounds 1 --seed "$SEED" &
small=$!
swapload --size 24m --limit 8m --folio 64k --rounds 2 --seed "$((SEED + 1))" || exit 1
wait $small || exit 1
swapload --processes 2 --size 16m --limit 12m --folio 512k --access random --rounds 2 --seed "$((SEED + 2))" || exit 1
swapload --size 40m --limit 20m --folio 2m --rounds 1 --seed "$((SEED + 3))" || exit 1
swapctl off /dev/nullb0
swapload --size 16m --limit 8m --folio 4k --rounds 1 --seed "$((SEED + 4))" || exit 1
swapctl off /dev/ram0 /dev/ram1
