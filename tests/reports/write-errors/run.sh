# SPDX-License-Identifier: Apache-2.0

BAD=/sys/kernel/config/nullb/nullb0/badblocks
nullb 0 64 && on /dev/nullb0 && group max || exit 1
# A quarter of the device, so that every cluster there has pages that cannot be written, 2 MB to 18 MB.
echo "+4096-36863" >$BAD
holder first 6144 in_group || exit 1
tell first "fill 1" out
within "errors were met" 1 100000 "$(logged 'Write-error on swap-device')"
equal "every page is right" "right 6144 wrong 0 killed 0" "$(ask first check)"
tell first "fill 2" out
equal "every page is right after a second try" "right 6144 wrong 0 killed 0" "$(ask first check)"
echo "-4096-36863" >$BAD
tell first "fill 3" out
reclaim 64m
within "all can go out once the device can be written" 6000 6144 "$(ask first out)"
equal "every page is right then" "right 6144 wrong 0 killed 0" "$(ask first check)"
tell first end
check "every byte of another process is right" swapfrag --size 16m --free 50 --no-hold
check "swapoff" swapctl off /dev/nullb0
equal "no slot is left" "0 0" "$(meminfo SwapTotal) $(meminfo SwapFree)"
