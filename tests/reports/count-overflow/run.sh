# SPDX-License-Identifier: Apache-2.0

# The count in a table's word ends at 14; higher counts are kept elsewhere.
on /dev/ram0 && holder all 1024 || exit 1
for sharers in 1 13 14 15 16 100; do
	tell all "fill $sharers" out "fork $sharers"
	equal "each of $sharers children finds all pages" $sharers "$(ask all children)"
	equal "so does the parent, after $sharers children" "right 1024 wrong 0 killed 0" "$(ask all check)"
done
tell all "fill 200" out "fork 40"
swapctl off /dev/ram0
equal "each of 40 children finds all pages after swapoff" 40 "$(ask all children)"
on /dev/ram0 || exit 1
tell all out "fork 40" drop children end
check "no slot is left behind" until_true 20 swap_is_empty
