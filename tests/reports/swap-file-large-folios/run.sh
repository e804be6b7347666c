# SPDX-License-Identifier: Apache-2.0

value() { sed -n 's/.*"'"$1"'": \([0-9]*\).*/\1/p' /tmp/found; }
swap_file 0 80m && swapctl on /tmp/disk0/swap || exit 1
swapextents --folios 1024 --small /tmp/disk0/swap >/tmp/found
equal "read page by page, no page is wrong" 0 "$(value wrong)"
swapextents --folios 1024 /tmp/disk0/swap >/tmp/found
cat /tmp/found
within "pages that lie in line are read as large folios" 512 1024 "$(value in_line)"
equal "no page of a large folio is wrong" 0 "$(value wrong)"
check "swapoff" swapctl off /tmp/disk0/swap
