# SPDX-License-Identifier: Apache-2.0

A=/sys/fs/cgroup/a
B=/sys/fs/cgroup/b
GROUP=$A group max && GROUP=$B group max || exit 1
current() { cat "$1/memory.current"; }
swapped() { cat "$1/memory.swap.current"; }
stat() { awk -v name="$2" '$1 == name { print $2 }' "$1/memory.stat"; }
owes_nothing() { [ "$(swapped "$1")" = 0 ]; }

on /dev/ram0 || exit 1
GROUP=$A
holder moved 2048 in_group || exit 1
tell moved "fill 1"
equal "all pages go out" 2048 "$(ask moved out)"
within "their group is charged for the slots" $((2000 * 4096)) $((2060 * 4096)) "$(swapped $A)"
cat $A/cgroup.procs >$B/cgroup.procs
equal "read by a process in another group, they are right" "right 2048 wrong 0 killed 0" "$(ask moved check)"
within "the group that swapped them out is charged for them" $((1900 * 4096)) $((2400 * 4096)) "$(current $A)"
within "the other group is not" 0 $((400 * 4096)) "$(current $B)"
equal "nor is it for slots" 0 "$(swapped $B)"

# The group that swapped them out is gone when they are read.
equal "all go out again" 2048 "$(ask moved out)"
check "their group can be removed" rmdir $A
equal "they are right when it is gone" "right 2048 wrong 0 killed 0" "$(ask moved check)"
tell moved "fill 2" end
check "nobody owes slots" until_true 20 swap_is_empty
check "the other group owes nothing" until_true 20 owes_nothing $B
swapctl off /dev/ram0

# Slots of two groups by turns, as both page out on the one CPU: readahead for one reads pages of the other.
nullb 0 32 && on /dev/nullb0 && GROUP=$A group max || exit 1
echo false >/sys/kernel/mm/swap/vma_ra_enabled
holder one 128 in_group || exit 1
# shellcheck disable=SC2034  # in_group has it
GROUP=$B
holder two 128 in_group || exit 1
tell one "fill 1"
tell two "fill 2"
for page in $(seq 0 127); do
	tell one "out $page 1"
	tell two "out $page 1"
done
GROUP=$A reclaim 8m
GROUP=$B reclaim 8m
equal "every page of one group is right" "right 128 wrong 0 killed 0" "$(ask two check)"
# Beside its 128 pages each has a few of its own program.
within "what was read ahead is the other group's" $((64 * 4096)) $((190 * 4096)) "$(stat $A swapcached)"
within "and not charged to the reader" 0 $((190 * 4096)) "$(stat $B swapcached)"
