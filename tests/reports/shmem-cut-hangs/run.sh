# SPDX-License-Identifier: Apache-2.0

# cut BYTES: whether a file of 256 kB in swap is cut to so many within 10 seconds
cut() {
	shmem cut "$1" &
	process=$!
	until_true 10 sh -c "! kill -0 $process" && wait $process
}

on /dev/ram0 || exit 1
check "a cut at a page's border, no folio is large" cut 69632
echo always >"$HUGEPAGES"/hugepages-64kB/shmem_enabled || exit 1
check "a cut at a large folio's border" cut 65536
check "a cut in a page within a large folio" cut 69633
check "a cut at a page's border within a large folio" cut 69632
