# SPDX-License-Identifier: Apache-2.0
# The common part of the reports. The guest's busybox sh reads it before run.sh. Each check is one line, "holds: ..." or
# "fails: ...", in any case.

DEBUG=/sys/kernel/debug/hwswap
GROUP=/sys/fs/cgroup/report
HUGEPAGES=/sys/kernel/mm/transparent_hugepage

holds() { echo "holds: $*"; }
fails() { echo "fails: $*"; }

# check TEXT COMMAND...: whether the command succeeds
check() {
	local text=$1
	shift
	# In this shell, so that the command can wait for processes that this shell began.
	if "$@" >/tmp/said 2>&1; then holds "$text"; else fails "$text: '$*' ended with $? ($(tail -n 1 /tmp/said))"; fi
}

# refused TEXT ERROR COMMAND...: whether the command fails, and says ERROR
refused() {
	local text=$1 error=$2 said
	shift 2
	if said=$("$@" 2>&1); then
		fails "$text: '$*' succeeded"
	elif echo "$said" | grep -qi -- "$error"; then
		holds "$text"
	else
		fails "$text: '$*' said '$said', not '$error'"
	fi
}

# equal TEXT EXPECTED FOUND
equal() { if [ "$2" = "$3" ]; then holds "$1"; else fails "$1: $3, not $2"; fi; }

# within TEXT LEAST MOST FOUND
within() { if [ "$4" -ge "$2" ] && [ "$4" -le "$3" ]; then holds "$1"; else fails "$1: $4, not $2 to $3"; fi; }

# figure NAME NUMBER: a figure that report.toml compares between kernels (`same`)
figure() { echo "figure: $1 $2"; }

# until_true SECONDS COMMAND...: waits until the command succeeds
until_true() {
	local left=$(($1 * 5))
	shift
	until "$@"; do
		[ $((left -= 1)) -gt 0 ] || return 1
		sleep 0.2
	done
}

# --- Swap areas

# le32 NUMBER...: as the words of a header
le32() {
	local word
	for word; do
		# shellcheck disable=SC2059  # made to be a format
		printf "$(printf '\\%03o\\%03o\\%03o\\%03o' $((word & 255)) $((word >> 8 & 255)) $((word >> 16 & 255)) \
			$((word >> 24 & 255)))"
	done
}

# header AREA LAST_PAGE [BAD_PAGE...]: writes a header that says so, true or not (`swapctl make` writes true ones)
header() {
	local area=$1 last=$2
	shift 2
	{
		head -c 1024 /dev/zero
		le32 1 "$last" $#
		head -c 500 /dev/zero
		le32 "$@"
		head -c 4096 /dev/zero
	} | head -c 4086 >/tmp/header
	printf SWAPSPACE2 >>/tmp/header
	dd if=/tmp/header of="$area" bs=4096 conv=notrunc,fsync 2>/dev/null
}

# on AREA [OPTION...]: makes a swap area and switches it on; options are those of `swapctl on`
on() {
	local area=$1
	shift
	swapctl make "$area" && swapctl on "$@" "$area"
}

# on_and_off PROCESS LEAST AREA PRIORITY [OPTION...]: switches an area on and off again until a process ends, and checks
# that this succeeds, LEAST times or more
on_and_off() {
	local process=$1 least=$2 area=$3 failed=0 offs=0
	shift 3
	while kill -0 "$process" 2>/dev/null; do
		swapctl on -p "$@" "$area" || failed=$((failed + 1))
		sleep 0.2
		swapctl off "$area" || failed=$((failed + 1))
		offs=$((offs + 1))
	done
	equal "each swapoff beside it succeeds" 0 $failed
	within "there were some" "$least" 1000000 $offs
}

# on_disk DEVICE SLOT COUNT: a sum of the data there; not of the page cache's copy, which swap goes around
on_disk() {
	echo 3 >/proc/sys/vm/drop_caches
	dd if="$1" bs=4096 skip="$2" count="$3" 2>/dev/null | md5sum
}

# nullb NUMBER MB [ATTRIBUTE=VALUE...]: makes /dev/nullbNUMBER of so many MB, which keeps data written to it.
# Attributes are of configfs: discard=1, rotational=1, irqmode=2, completion_nsec=20000.
nullb() {
	local folder=/sys/kernel/config/nullb/nullb$1 size=$2 each
	shift 2
	[ -d /sys/module/null_blk ] || insmod /lib/modules/null_blk.ko nr_devices=0 || return 1
	[ -d /sys/kernel/config/nullb ] || mount -t configfs config /sys/kernel/config || return 1
	mkdir "$folder" || return 1
	for each in "size=$size" memory_backed=1 "$@" power=1; do
		echo "${each#*=}" >"$folder/${each%%=*}" || return 1
	done
}

# swap_file DISK SIZE [BLOCK]: makes /tmp/diskDISK/swap, of a size such as 64m, on ext2 on /dev/ramDISK
swap_file() {
	mkdir -p "/tmp/disk$1" && mke2fs -b "${3:-4096}" "/dev/ram$1" >/dev/null 2>&1 &&
		mount -t ext2 "/dev/ram$1" "/tmp/disk$1" && swapctl make -s "$2" "/tmp/disk$1/swap"
}

# scattered_file: makes a swap file of 32 MB, /tmp/disk0/swap, in the holes between others on ext2 on /dev/ram0; the
# others end where the disk does
scattered_file() {
	local number=0
	mkdir -p /tmp/disk0 && mke2fs -b 4096 /dev/ram0 >/dev/null 2>&1 && mount -t ext2 /dev/ram0 /tmp/disk0 || return 1
	while dd if=/dev/urandom of=/tmp/disk0/file$number bs=512k count=1 2>/dev/null; do number=$((number + 1)); done
	while [ $((number -= 2)) -ge 0 ] && [ $number -ge 2 ]; do rm /tmp/disk0/file$number; done
	sync
	swapctl make -s 32m /tmp/disk0/swap && md5sum /tmp/disk0/file* >/tmp/files
}
# files_same: whether the other files are as they were; files_same_anew: when their disk was unmounted and mounted again
files_same() {
	sync
	echo 3 >/proc/sys/vm/drop_caches
	md5sum -s -c /tmp/files
}
files_same_anew() { umount /tmp/disk0 && mount -t ext2 /dev/ram0 /tmp/disk0 && files_same; }

# --- Counters

# meminfo NAME: kB
meminfo() { awk -v name="$1:" '$1 == name { print $2 }' /proc/meminfo; }
# vmstat NAME
vmstat() { awk -v name="$1" '$1 == name { print $2 }' /proc/vmstat; }
# used AREA: kB in use by /proc/swaps; nothing when it is off
used() { awk -v name="$1" '$1 == name { print $4 }' /proc/swaps; }
# swap_is_empty: whether all slots are free but those of the swap cache, where an exit leaves a page that is locked
swap_is_empty() {
	echo "of $(meminfo SwapTotal) kB $(meminfo SwapFree) are free, the swap cache has $(meminfo SwapCached)"
	[ $(($(meminfo SwapTotal) - $(meminfo SwapFree))) -le "$(meminfo SwapCached)" ]
}
# logged TEXT: how many lines of the kernel log have it
logged() { dmesg | grep -c -- "$1"; }
# folios SIZE_KB NAME: a counter of folios of that size, as swpout, swpout_fallback
folios() { cat "$HUGEPAGES/hugepages-$1kB/stats/$2"; }

# --- Memory, paged out and verified

# group [LIMIT]: makes the control group $GROUP, with a limit of memory such as 16m
group() {
	echo +memory >/sys/fs/cgroup/cgroup.subtree_control && mkdir -p $GROUP && echo "${1:-max}" >$GROUP/memory.max
}

# in_group COMMAND...: runs it there
in_group() { sh -c "echo \$\$ >$GROUP/cgroup.procs && exec \"\$@\"" sh "$@"; }

# reclaim SIZE: takes so much memory from the group, or all there is
reclaim() { echo "$1" >$GROUP/memory.reclaim 2>/dev/null; }

# right TEXT COMMAND...: checks that a load verified something, and found every byte right; its output is in /tmp/load
right() {
	local text=$1
	shift
	"$@" >/tmp/load
	check "$text" verified /tmp/load
}

# verified FILE: whether the load that wrote this output verified something, and every byte was right
verified() {
	tail -n 1 "$1" | grep -q '"mismatches": *0\b' && ! tail -n 1 "$1" | grep -q '"verified_bytes": *0\b' &&
		! tail -n 1 "$1" | grep -q '"died": *[1-9]'
}

# hold NAME SIZE [OPTION...]: writes so much and pages it out (swapfrag), and keeps it there until let_go NAME
hold() {
	local name=$1 size=$2
	shift 2
	# Not the output of an earlier one of this name, which is there until the new one opens it.
	rm -f "/tmp/$name.out"
	swapfrag --size "$size" --free 0 "$@" >"/tmp/$name.out" 2>&1 &
	echo $! >"/tmp/$name.pid"
	until_true 120 grep -q -e ready -e : "/tmp/$name.out" && grep -q ready "/tmp/$name.out"
}

# let_go NAME: ends the holder that hold began; whether every byte was right
let_go() {
	kill "$(cat "/tmp/$1.pid")" && wait "$(cat "/tmp/$1.pid")"
	grep -q '"done"' "/tmp/$1.out" && verified "/tmp/$1.out"
}

# holder NAME PAGES [COMMAND...]: starts `pages` (tests/reports/pages.c) with so many, by a command such as in_group
holder() {
	local name=$1 count=$2
	shift 2
	"$@" pages "$name" "$count" >"/tmp/$name.out" 2>&1 &
	until_true 20 [ -p "/tmp/$name.ask" ]
}

# ask NAME COMMAND...: has the holder carry out a command, and prints its answer
ask() {
	local name=$1
	shift
	echo "$*" >"/tmp/$name.ask"
	cat "/tmp/$name.said"
}

# tell NAME COMMAND...: has the holder carry out one command after the other, and prints nothing
tell() {
	local name=$1 each
	shift
	for each; do ask "$name" "$each" >/dev/null; done
}

# --- The driver

driver_attached() { grep -q ^attached $DEBUG/state; }

# driver_on MODE: loads it; modes that need the engine wait for it
driver_on() {
	insmod /lib/modules/hwswap.ko "mode=$1" || return 1
	[ "$1" = off ] || until_true 60 driver_attached
}

# driver_holds MODE: checks, at the end of a report, that the engine is there and agrees with the kernel's tables
driver_holds() {
	if [ "$1" != off ]; then
		check "the engine is attached: $(cat $DEBUG/state)" driver_attached
		equal "what the engine is told is what the tables say" "differences 0" \
			"$(tail -n 1 $DEBUG/verify | cut -d' ' -f3-)"
	fi
}
