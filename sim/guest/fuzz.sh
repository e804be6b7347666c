# SPDX-License-Identifier: Apache-2.0
# The guest's side of `make fuzz`. From the host: CASES, the names of the traces in /cases. The first that differs ends
# it. A kernel with the tracepoints also says how many clusters it took off each kind of list.
EVENT=events/swap/swap_cluster_isolate
LISTS="1:free 2:nonfull 3:frag"
cd /sys/kernel/tracing || exit 1
if [ -d $EVENT ]; then
	for list in $LISTS; do
		# Only the counters are wanted: the oldest events may be overwritten.
		mkdir "instances/${list#*:}" && cd "instances/${list#*:}" || exit 1
		echo 16 >buffer_size_kb && echo "flag == ${list%:*} && cluster >= 0" >$EVENT/filter || exit 1
		echo 1 >$EVENT/enable || exit 1
		cd ../..
	done
fi
for case in $CASES; do
	swapscript "/cases/$case" >/tmp/said
	ended=$?
	sed "s/^/@case $case /" /tmp/said
	# 1: the kernel's answer is another, which is a result; all else is none.
	[ $ended = 0 ] || [ $ended = 1 ] || exit $ended
	[ $ended = 0 ] || break
done
[ -d $EVENT ] || exit 0
for list in $LISTS; do
	sed -n "s/^\(entries\|overrun\): */@taken ${list#*:} /p" "instances/${list#*:}"/per_cpu/cpu*/stats
done
