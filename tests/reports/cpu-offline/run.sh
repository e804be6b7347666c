# SPDX-License-Identifier: Apache-2.0

CPUS=/sys/devices/system/cpu
# blink SEED: takes CPUs 1 to 3 off and on again, so that one is away most of the time
blink() {
	while [ ! -f /tmp/stop ]; do
		for cpu in 1 3 2; do
			echo 0 >$CPUS/cpu$cpu/online || echo "off $cpu" >>/tmp/stuck
			sleep 0.2
			echo 1 >$CPUS/cpu$cpu/online || echo "on $cpu" >>/tmp/stuck
		done
		echo blink >>/tmp/blinked
	done
}

for disk in 0 1 2; do on /dev/ram$disk -p 5 || exit 1; done
swapload --rounds 0 --processes 3 --size 12m --limit 12m --folio 64k --access random >/tmp/large &
large=$!
swapload --rounds 0 --processes 2 --size 8m --limit 6m --access random --seed 7 >/tmp/small &
small=$!
: >/tmp/stuck
blink &
blinking=$!
failed=0
for round in $(seq 15); do
	disk=/dev/ram$((round % 3))
	swapctl off $disk && swapctl on -p 5 $disk || failed=$((failed + 1))
done
touch /tmp/stop
wait $blinking
equal "each of 15 swapoffs and swapons succeeded" 0 $failed
equal "each CPU went and came" "" "$(cat /tmp/stuck)"
within "often" 2 10000 "$(wc -l </tmp/blinked)"
kill $large $small
wait $large $small
check "every byte of large folios is right" verified /tmp/large
check "every byte of single pages is right" verified /tmp/small
check "no slot is left behind" until_true 20 swap_is_empty
check "all devices go" swapctl off /dev/ram0 /dev/ram1 /dev/ram2
