# SPDX-License-Identifier: Apache-2.0
# The guest's side of `make fuzz`. From the host: CASES, the names of the traces in /cases. The first that differs ends
# it.
for case in $CASES; do
	swapscript "/cases/$case" >/tmp/said
	ended=$?
	sed "s/^/@case $case /" /tmp/said
	# 1: the kernel's answer is another, which is a result; all else is none.
	[ $ended = 0 ] || [ $ended = 1 ] || exit $ended
	[ $ended = 0 ] || break
done
