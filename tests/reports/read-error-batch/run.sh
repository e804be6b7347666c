#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=dash source=tests/reports/lib.sh
. /reports/lib.sh

nullb 0 64 && on /dev/nullb0 && group max && holder victim 1024 in_group || exit 1
ask victim fill 1 >/dev/null
ask victim out >/dev/null
echo 64m >$GROUP/memory.reclaim 2>/dev/null
slot=$(ask victim slot 500 | cut -d' ' -f2)
echo "+$((slot * 8))-$((slot * 8 + 7))" >/sys/kernel/config/nullb/nullb0/badblocks
equal "the unreadable page gets SIGBUS" "right 0 wrong 0 killed 1" "$(ask victim check 500 1)"
equal "no other does" "right 1023 wrong 0 killed 1" "$(ask victim check)"
echo 64m >$GROUP/memory.reclaim 2>/dev/null
check "swapoff" swapctl off /dev/nullb0
equal "it loses that page, and no other" "right 1023 wrong 0 killed 1" "$(ask victim check)"
ask victim end >/dev/null
equal "no slot is left" "0 0" "$(meminfo SwapTotal) $(meminfo SwapFree)"
