# SPDX-License-Identifier: Apache-2.0
# The guest's side of the experiment `devices`: how much of four equal swap devices is in use. Everything it prints is
# read by hwswap.experiments.devices. From the host: KIND, ram (RAM disks, on no node) or node (device N on node N);
# PRIORITY, a number or default; MB, each CPU's share of swap; DISK_MB; SEED.

NULLB=/sys/kernel/config/nullb
CPUS=$(seq 0 $(($(nproc) - 1)))

# device NUMBER: makes it, and says its name
device() {
	if [ "$KIND" = ram ]; then
		echo "/dev/ram$1"
		return
	fi
	mkdir "$NULLB/nullb$1" && cd "$NULLB/nullb$1" || return 1
	echo "$DISK_MB" >size && echo 1 >memory_backed && echo "$1" >home_node && echo 1 >power || return 1
	echo "/dev/nullb$1"
}

[ "$KIND" = ram ] || mount -t configfs config /sys/kernel/config || exit 1
[ "$PRIORITY" = default ] && priority= || priority="-p $PRIORITY"
for number in 0 1 2 3; do
	device=$(device $number) || exit 1
	# shellcheck disable=SC2086  # none, or an option and its value
	swapctl make "$device" && swapctl on $priority "$device" || exit 1
done

holders=
for cpu in $CPUS; do
	taskset -c "$cpu" swapfrag --size "${MB}m" --free 0 --seed "$((SEED + cpu))" >"/tmp/load$cpu" &
	holders="$holders $!"
done
for cpu in $CPUS; do
	until grep -q ready "/tmp/load$cpu"; do sleep 0.2; done
done
set -- /sys/devices/system/node/node[0-9]*
echo "@nodes $#"
sed -n '2,$s/^/@swaps /p' /proc/swaps
# shellcheck disable=SC2086  # a list
kill $holders
# shellcheck disable=SC2086  # a list
wait $holders
sed -n '/done/s/^/@held /p' /tmp/load*
echo "@done"
