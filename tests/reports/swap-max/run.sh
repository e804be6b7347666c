# SPDX-License-Identifier: Apache-2.0

BESIDE=/sys/fs/cgroup/beside
zero() { [ "$(cat "$GROUP"/memory.swap.current)" = 0 ]; }
refused_times() { awk '$1 == "max" { print $2 }' "$GROUP"/memory.swap.events; }
ended() { ! kill -0 "$1" 2>/dev/null; }

on /dev/ram0 -p 5 && on /dev/ram1 -p 5 && group max || exit 1
mkdir $BESIDE
echo 8m >"$GROUP"/memory.swap.max
(echo 0 >$BESIDE/cgroup.procs && exec swapmix --sizes 4k,64k --fill 16m --churn 64m --seed 5) >/tmp/beside &
beside=$!

right "every byte is right where two thirds of the pages could not go out" \
	in_group swapfrag --size 24m --free 0 --no-hold
within "the limit was met" 1 1000000000 "$(refused_times)"
within "and not passed" 4194304 8388608 "$(cat "$GROUP"/memory.swap.peak)"
check "the group owes nothing when it has ended" until_true 20 zero
before=$(refused_times)
right "every byte is right with large folios, too" \
	in_group swapmix --sizes 4k,64k --fill 24m --churn 48m --seed 3
within "they met the limit, too" $((before + 1)) 1000000000 "$(refused_times)"
within "and did not pass it" 4194304 8388608 "$(cat "$GROUP"/memory.swap.peak)"
check "the group owes nothing after them" until_true 20 zero

# Lowered below what is in use, and raised again, while the group holds what grants steered it to.
holder low 4096 in_group || exit 1
tell low "fill 1"
within "a holder fills the limit" 1900 2048 "$(ask low out)"
echo 1m >"$GROUP"/memory.swap.max
equal "with the limit below what is used, every page is right" "right 4096 wrong 0 killed 0" "$(ask low check)"
echo 8m >"$GROUP"/memory.swap.max
tell low end
check "the group owes nothing after that" until_true 20 zero

until_true 60 ended $beside
wait $beside
check "every byte of the group beside it is right" verified /tmp/beside
check "the group can be removed" rmdir "$GROUP"
check "no slot is left behind" until_true 20 swap_is_empty
check "swapoff" swapctl off /dev/ram0 /dev/ram1
