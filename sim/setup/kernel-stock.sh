#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# kernel-stock.sh SOURCE OUT FRAGMENT...: builds a Linux to compare with as its source tree has it, without a patch.
#
# Leaves in OUT
#   bzImage      the kernel
#   config       its configuration: tinyconfig and the fragments
#   dropped      options of the fragments that this Linux does not have, one a line
# Environment: JOBS (default: all processors), KERNEL_WORK (an empty folder for the build, 3 GB; default: OUT/work).
set -euo pipefail

jobs=${JOBS:-$(nproc)}

say() { printf 'kernel: %s\n' "$*"; }
die() {
	printf 'kernel: error: %s\n' "$*" >&2
	exit 1
}

[ $# -ge 3 ] || die "usage: kernel-stock.sh SOURCE OUT FRAGMENT..."
source=$(readlink -f "$1")
out=$(cd "$2" && pwd)
fragments=("${@:3}")
work=${KERNEL_WORK:-$out/work}
[ -f "$source/mm/swapfile.c" ] || die "$source is not a Linux source tree."

rm -rf "$work"
mkdir -p "$work"
# The same kernel from the same source: no time, host or user in it.
export ARCH=x86 KBUILD_BUILD_TIMESTAMP=@0 KBUILD_BUILD_USER=hwswap KBUILD_BUILD_HOST=localhost
ccache=
! command -v ccache >/dev/null || ccache='ccache '
kernel_make() {
	make --no-print-directory -C "$source" O="$work" CC="${ccache}gcc" HOSTCC="${ccache}gcc" "$@"
}
version=$(make -s -C "$source" kernelversion)

# Of an option that is there twice the last value counts; one that no Kconfig file has, this Linux does not know.
: >"$out/dropped"
while read -r line; do
	name=${line%%=*}
	if grep -rqxE --include='Kconfig*' "[[:space:]]*(menu)?config ${name#CONFIG_}[[:space:]]*" "$source"; then
		printf '%s\n' "$line"
	else
		printf '%s\n' "$name" >>"$out/dropped"
	fi
done < <(awk -F= '/^CONFIG_/ { value[$1] = $0 } END { for (name in value) print value[name] }' "${fragments[@]}" |
	sort) >"$work/fragment"

say "configuring Linux $version"
kernel_make -s tinyconfig
(cd "$source" && scripts/kconfig/merge_config.sh -m -O "$work" "$work/.config" "$work/fragment") >"$work/merge.log" ||
	die "the configuration fragments cannot be merged: see $work/merge.log."
kernel_make -s olddefconfig
while read -r line; do
	case $line in
	*=n) ! grep -q "^${line%=n}=" "$work/.config" || die "the configuration did not take $line." ;;
	*) grep -qxF "$line" "$work/.config" || die "the configuration did not take $line." ;;
	esac
done <"$work/fragment"

say "building Linux $version with $jobs jobs (6 minutes on two cores, less with a warm ccache)"
started=$SECONDS
if ! kernel_make -j"$jobs" bzImage >"$work/build.log" 2>&1; then
	grep -E 'error|Error' "$work/build.log" | tail -n 20 >&2
	die "the build of Linux $version failed; the whole log: $work/build.log"
fi
cp "$work/arch/x86/boot/bzImage" "$out/bzImage"
cp "$work/.config" "$out/config"
rm -rf "$work"
say "Linux $version is in $out ($((SECONDS - started)) s); without $(tr '\n' ' ' <"$out/dropped")"
