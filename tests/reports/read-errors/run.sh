#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=dash source=tests/reports/lib.sh
. /reports/lib.sh

BAD=/sys/kernel/config/nullb/nullb0/badblocks
# sectors SLOT: of a page
sectors() { echo "$(($1 * 8))-$(($1 * 8 + 7))"; }
evict() { echo 64m >$GROUP/memory.reclaim 2>/dev/null; }

# Page by page: what one error does to pages that are read with it is another report.
echo 0 >/proc/sys/vm/page-cluster
nullb 0 64 && on /dev/nullb0 && group max || exit 1
holder victim 1024 in_group && holder other 1024 in_group || exit 1
ask victim fill 1 >/dev/null
ask other fill 2 >/dev/null
ask victim out >/dev/null
ask other out >/dev/null
evict
equal "the page is in swap" 0 "$(ask victim slot 500 | cut -d' ' -f1)"
bad=$(sectors "$(ask victim slot 500 | cut -d' ' -f2)")
echo "+$bad" >$BAD
equal "its process gets SIGBUS" "right 0 wrong 0 killed 1" "$(ask victim check 500 1)"
equal "it finds its pages far away" "right 256 wrong 0 killed 0" "$(ask victim check 0 256)"
equal "and all others that can be read" "right 1023 wrong 0 killed 1" "$(ask victim check)"
equal "another process finds all of its pages" "right 1024 wrong 0 killed 0" "$(ask other check)"
equal "a page that was written anew is right" "right 1 wrong 0 killed 0" \
	"$(ask victim fill 3 499 1 >/dev/null; ask victim out 499 1 >/dev/null; ask victim check 499 1)"

evict
check "swapoff with an unreadable page in use" swapctl off /dev/nullb0
equal "no slot is left" "0 0" "$(meminfo SwapTotal) $(meminfo SwapFree)"
equal "that page is lost, and no other" "right 1023 wrong 0 killed 1" "$(ask victim check)"
equal "another process still finds all" "right 1024 wrong 0 killed 0" "$(ask other check)"
ask victim end >/dev/null
ask other end >/dev/null

# The same, but the process ends before swapoff.
echo "-$bad" >$BAD
on /dev/nullb0 && holder third 512 in_group || exit 1
ask third fill 1 >/dev/null
ask third out >/dev/null
evict
echo "+$(sectors "$(ask third slot 100 | cut -d' ' -f2)")" >$BAD
ask third check >/dev/null
ask third end >/dev/null
check "no slot is left behind by a process that had an unreadable page" swapctl off /dev/nullb0
