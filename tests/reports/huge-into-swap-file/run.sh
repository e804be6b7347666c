# SPDX-License-Identifier: Apache-2.0

outs() { echo $(($(vmstat thp_swpout) + $(folios 64 swpout))); }
scattered_file && swapctl on /tmp/disk0/swap || exit 1
before=$(outs)
right "every byte of folios of 2 MB is right" swapload --folio 2m --size 24m --limit 10m --rounds 2
within "they had to be split" 1 100000 "$(vmstat thp_swpout_fallback)"
# Read back page by page: large folios that are read from a file are another report.
swapmix --sizes 64k --fill 2m --churn 1m >/dev/null
echo never >"$HUGEPAGES"/hugepages-64kB/enabled
equal "none went out whole" "$before" "$(outs)"
within "nor did those of 64 kB" 1 100000 "$(folios 64 swpout_fallback)"
check "swapoff" swapctl off /tmp/disk0/swap
check "the other files are as they were" files_same
check "they are after the file system was mounted anew" files_same_anew
check "no slot is left" swap_is_empty
