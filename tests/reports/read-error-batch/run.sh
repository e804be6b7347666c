# SPDX-License-Identifier: Apache-2.0

nullb 0 64 && on /dev/nullb0 && group max && holder victim 1024 in_group || exit 1
tell victim "fill 1" out
reclaim 64m
slot=$(ask victim slot 500 | cut -d' ' -f2)
echo "+$((slot * 8))-$((slot * 8 + 7))" >/sys/kernel/config/nullb/nullb0/badblocks
equal "the unreadable page gets SIGBUS" "right 0 wrong 0 killed 1" "$(ask victim check 500 1)"
equal "no other does" "right 1023 wrong 0 killed 1" "$(ask victim check)"
reclaim 64m
check "swapoff" swapctl off /dev/nullb0
equal "it loses that page, and no other" "right 1023 wrong 0 killed 1" "$(ask victim check)"
tell victim end
equal "no slot is left" "0 0" "$(meminfo SwapTotal) $(meminfo SwapFree)"
