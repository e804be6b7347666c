# SPDX-License-Identifier: Apache-2.0

BAD=/sys/kernel/config/nullb/nullb0/badblocks
# sectors SLOT: of a page
sectors() { echo "$(($1 * 8))-$(($1 * 8 + 7))"; }

# Page by page: another report has the effect of one error on pages that are read with it.
echo 0 >/proc/sys/vm/page-cluster
nullb 0 64 && on /dev/nullb0 && group max || exit 1
holder victim 1024 in_group && holder other 1024 in_group || exit 1
tell victim "fill 1"
tell other "fill 2"
tell victim out
tell other out
reclaim 64m
equal "the page is in swap" 0 "$(ask victim slot 500 | cut -d' ' -f1)"
bad=$(sectors "$(ask victim slot 500 | cut -d' ' -f2)")
echo "+$bad" >$BAD
equal "its process gets SIGBUS" "right 0 wrong 0 killed 1" "$(ask victim check 500 1)"
equal "it finds its pages far away" "right 256 wrong 0 killed 0" "$(ask victim check 0 256)"
equal "and all others that can be read" "right 1023 wrong 0 killed 1" "$(ask victim check)"
equal "another process finds all of its pages" "right 1024 wrong 0 killed 0" "$(ask other check)"
equal "a page that was written anew is right" "right 1 wrong 0 killed 0" \
	"$(tell victim "fill 3 499 1" "out 499 1"; ask victim check 499 1)"

reclaim 64m
check "swapoff with an unreadable page in use" swapctl off /dev/nullb0
equal "no slot is left" "0 0" "$(meminfo SwapTotal) $(meminfo SwapFree)"
equal "that page is lost, and no other" "right 1023 wrong 0 killed 1" "$(ask victim check)"
equal "another process still finds all" "right 1024 wrong 0 killed 0" "$(ask other check)"
tell victim end
tell other end

# The same, but the process ends before swapoff.
echo "-$bad" >$BAD
on /dev/nullb0 && holder third 512 in_group || exit 1
tell third "fill 1" out
reclaim 64m
echo "+$(sectors "$(ask third slot 100 | cut -d' ' -f2)")" >$BAD
tell third check end
check "no slot is left behind by a process that had an unreadable page" swapctl off /dev/nullb0
