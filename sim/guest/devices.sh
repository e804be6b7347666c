# SPDX-License-Identifier: Apache-2.0
# The guest's side of the experiment `devices`: how much of four equal swap devices is in use, by how they are chosen.
# Everything it prints is read by hwswap.experiments.devices. From the host: CASES, "NAME KIND PRIORITY MB" a line, where
# KIND is ram (RAM disks, on no node) or node (device N on node N), PRIORITY a number or default, and MB what each CPU
# has in swap; DISK_MB; SEED.

CPUS=$(nproc)
NULLB=/sys/kernel/config/nullb

# devices KIND: makes them, and leaves their names in $devices
devices() {
	devices=
	for number in 0 1 2 3; do
		if [ "$1" = ram ]; then
			devices="$devices /dev/ram$number"
			continue
		fi
		folder=$NULLB/nullb$number
		mkdir $folder
		echo "$DISK_MB" >$folder/size
		echo 1 >$folder/memory_backed
		echo $number >$folder/home_node
		echo 1 >$folder/power || return 1
		devices="$devices /dev/nullb$number"
	done
}

# load MB: each CPU has so much in swap; the processes that hold it are in $holders
load() {
	holders=
	cpu=0
	while [ $cpu -lt "$CPUS" ]; do
		taskset -c $cpu swapfrag --size "$1m" --free 0 --seed "$((SEED + cpu))" >"/tmp/load$cpu" &
		holders="$holders $!"
		cpu=$((cpu + 1))
	done
	for cpu in $(seq 0 $((CPUS - 1))); do
		until grep -q ready "/tmp/load$cpu"; do sleep 0.2; done
	done
}

mkdir -p /sys/kernel/config
grep -q configfs /proc/mounts || mount -t configfs config /sys/kernel/config
echo "@nodes $(ls -d /sys/devices/system/node/node* 2>/dev/null | wc -l)"
echo "$CASES" | while read -r name kind priority mb; do
	devices "$kind" || exit 1
	for device in $devices; do
		swapctl make "$device" || exit 1
		if [ "$priority" = default ]; then
			swapctl on "$device" || exit 1
		else
			swapctl on -p "$priority" "$device" || exit 1
		fi
	done
	load "$mb"
	sed -n "2,\$s|^|@swaps $name |p" /proc/swaps
	kill $holders
	wait $holders
	sed -n "/done/s|^|@held $name |p" /tmp/load*
	# shellcheck disable=SC2086  # devices is a list
	swapctl off $devices || exit 1
done || exit 1
echo "@done"
