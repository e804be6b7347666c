#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# kernel.sh ARCH SOURCE OUT WORK PATCHES FRAGMENT...: builds Linux for ARCH, the guest's x86 or the SoC's riscv.
#
# SOURCE is only read; WORK is a folder for the build, 3 GB, removed at the end. PATCHES is a folder with the series for
# Linux 7.3, or empty: SOURCE as it is, of any version. The FRAGMENTs of configuration are over tinyconfig; of an option
# that is there twice the last value counts. UNPATCHED="PATCH...": SOURCE with these alone is built first, and the
# series from its objects, as few files differ.
#
# Leaves in OUT
#   bzImage      the kernel; Image for riscv
#   config       its configuration; with no patches that is all
#   unpatched/   both of SOURCE with UNPATCHED alone
#   modules/     its own modules
#   tree/        what external modules are built against: make -C OUT/tree M=... modules
#   sysroot/     riscv only: the kernel's own small C library (nolibc) and its headers, for programs without another one
# Nothing in OUT remembers where it was made: the folder can be moved.
set -euo pipefail

# Progress is shown; all else is output of a set-up's step (lib.sh).
say() { printf 'kernel: %s\n' "$*" >&"${SETUP_PROGRESS:-1}"; }
die() {
	printf 'kernel: error: %s\n' "$*" >&2
	exit 1
}

export ARCH=$1
source=$(readlink -f "$2") out=$(readlink -f "$3") work=$4 patches=$5 fragments=("${@:6}") jobs=${JOBS:-$(nproc)}
cross='' image=bzImage
[ "$ARCH" = x86 ] || cross=riscv64-linux-gnu- image=Image

rm -rf "$work"
mkdir -p "$work/source" "$work/build" "$out/modules"

say "copying the source"
[ -f "$source/mm/swapfile.c" ] || die "$source is not a Linux source tree."
# Hard links where they can be had: patch puts a new file in the place of the old one, and the build is elsewhere (O=).
# A real copy takes minutes to make, and to remove on a disk with discards.
if [ -e "$source/.git" ] || ! cp -al "$source/." "$work/source" 2>/dev/null; then
	rm -rf "$work/source"
	mkdir "$work/source"
	tar -C "$source" --exclude=./.git --exclude=./.pc -cf - . | tar -C "$work/source" -xf -
fi
version=$(make -s -C "$work/source" kernelversion)
[ -z "$patches" ] || [[ $version = 7.3.* ]] ||
	die "the source is Linux $version; the patches are for 7.3: give a source tree of 7.3.4."

touched=()
# over_source PATCH...: makes WORK's source SOURCE with these patches over it; no other file is newer than before.
over_source() {
	local file patch
	for file in "${touched[@]}"; do
		rm -f "$work/source/$file"
		# No link: make goes by the time of a file.
		[ ! -f "$source/$file" ] || cp "$source/$file" "$work/source/$file"
	done
	for patch; do
		say "patch ${patch##*/}"
		patch --quiet --strip=1 --fuzz=0 --directory="$work/source" <"$patch" ||
			die "${patch##*/} does not apply to Linux $version: use 7.3.4."
		mapfile -t -O "${#touched[@]}" touched < <(sed -n 's|^+++ b/||p' "$patch")
	done
}

ccache=
! command -v ccache >/dev/null || ccache='ccache '
# The same kernel from the same source: no time, host or user in it.
export KBUILD_BUILD_TIMESTAMP=@0 KBUILD_BUILD_VERSION=1 KBUILD_BUILD_USER=hwswap KBUILD_BUILD_HOST=localhost
kernel_make() {
	make --no-print-directory -C "$work/source" O="$work/build" CROSS_COMPILE="$cross" CC="$ccache${cross}gcc" \
		HOSTCC="${ccache}gcc" "$@"
}

# configure FRAGMENT...: without a series, which brings some, options that this Linux does not have are left out.
configure() {
	say "configuring Linux $version"
	kernel_make -s tinyconfig
	awk -F= '/^CONFIG_/ { value[$1] = $0 } END { for (name in value) print value[name] }' "$@" | sort >"$work/fragment"
	if [ -z "$series" ]; then
		grep -rhE --include='Kconfig*' '^[[:space:]]*(menu)?config ' "$work/source" |
			sed 's/.*config \([^ ]*\).*/CONFIG_\1/' >"$work/known"
		awk -F= 'NR == FNR { known[$1]; next } $1 in known' "$work"/{known,fragment} >"$work/fragment.known"
		say "without $(comm -23 "$work"/fragment{,.known} | tr '\n' ' ')"
		mv "$work"/fragment{.known,}
	fi
	(cd "$work/source" && scripts/kconfig/merge_config.sh -m -O "$work/build" "$work/build/.config" "$work/fragment") \
		>"$work/merge.log" || die "the configuration fragments cannot be merged: see $work/merge.log."
	kernel_make -s olddefconfig
	while read -r line; do
		case $line in
		*=n) ! grep -q "^${line%=n}=" "$work/build/.config" || die "the configuration did not take $line." ;;
		*) grep -qxF "$line" "$work/build/.config" || die "the configuration did not take $line." ;;
		esac
	done <"$work/fragment"
}

# build FOLDER TARGET...: the kernel and its configuration go to FOLDER
build() {
	local started=$SECONDS log=$work/build.log running
	say "building Linux $version for $ARCH with $jobs jobs (minutes; less with a warm ccache)"
	kernel_make -j"$jobs" "${@:2}" >"$log" 2>&1 &
	running=$!
	# shellcheck disable=SC2064 # of this build
	trap "kill $running 2>/dev/null || true" EXIT
	while kill -0 "$running" 2>/dev/null; do
		sleep 5
		if (((SECONDS - started) % 30 < 5)); then
			say "$((SECONDS - started)) s, $(grep -cE '^ +(CC|AS)' "$log" || true) files"
		fi
	done
	if ! wait "$running"; then
		grep -E 'error|Error|warning: ' "$log" | tail -n 20 >&2
		tail -n 5 "$log" >&2
		die "the build of Linux $version failed; the whole log: $log"
	fi
	trap - EXIT
	mkdir -p "$1"
	cp "$work/build/arch/$ARCH/boot/$image" "$1/$image"
	cp "$work/build/.config" "$1/config"
	say "Linux $version is in $1 ($((SECONDS - started)) s)"
}

if [ -n "${UNPATCHED:-}" ]; then
	read -ra alone <<<"$UNPATCHED"
	over_source "${alone[@]}"
	series='' configure "${fragments[@]}"
	build "$out/unpatched" "$image"
fi
over_source ${patches:+"$patches"/*.patch}
series=$patches configure "${fragments[@]}"
build "$out" "$image" modules
if [ -z "$patches" ]; then
	rm -rf "$work"
	exit
fi

say "checking our files at warning level 1"
# Those that the patches given have: not all, if these are not the whole series.
checked=()
for object in swapfile swap_state swap_grants swap_alloc_bench; do
	[ ! -f "$work/source/mm/$object.c" ] || checked+=("mm/$object.o")
done
kernel_make -s W=1 "${checked[@]}" >"$work/warnings.log" 2>&1 ||
	die "see $work/warnings.log."
! grep -E 'warning: ' "$work/warnings.log" >&2 || die "the patched files have compiler warnings (above)."

say "collecting"
find "$work/build" -name '*.ko' -exec cp {} "$out/modules/" \;
# Where CC and HOSTCC differ it makes the programs of the build for the other architecture, to build modules there; ours
# are built here.
# shellcheck disable=SC2016 # srctree is expanded by make
kernel_make -s run-command \
	KBUILD_RUN_COMMAND="CC= HOSTCC= \$(srctree)/scripts/package/install-extmod-build $out/tree" \
	>"$work/extmod.log" 2>&1 ||
	die "what external modules need could not be collected: see $work/extmod.log."
if [ "$ARCH" = riscv ]; then
	make --no-print-directory -s -C "$work/source/tools/include/nolibc" OUTPUT="$out/" headers >"$work/nolibc.log" 2>&1 ||
		die "the kernel's C library could not be collected: see $work/nolibc.log."
	kernel_make -s headers >"$work/headers.log" 2>&1 ||
		die "the headers for programs could not be collected: see $work/headers.log."
	(cd "$work/build/usr/include" && find . -name '*.h' -exec cp --parents -t "$out/sysroot/include" {} +)
fi
rm -rf "$work"
