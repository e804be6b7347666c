# SPDX-License-Identifier: Apache-2.0
# machine: cpus=2 disks=2 disk_mb=8 memory_mb=768
# A few seconds of everything small: folios of 4 kB, 64 kB and 2 MB at once from two CPUs on two small devices, which
# fill up and return. For checks that have to be quick.
swapctl make /dev/ram0
swapctl make /dev/ram1
swapctl on -p 5 /dev/ram0
swapctl on /dev/ram1
swapload --size 6m --limit 3m --folio 64k --access random --rounds 1 --seed "$SEED" &
first=$!
swapload --size 6m --limit 3m --folio 4k --access random --rounds 1 --seed "$((SEED + 1))" || exit 1
wait $first || exit 1
swapload --size 12m --limit 4m --folio 2m --rounds 1 --seed "$((SEED + 2))" || exit 1
swapctl off /dev/ram0 /dev/ram1
