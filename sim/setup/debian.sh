# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Packages of Debian 13 and its backports, whatever the host is. Sourced after lib.sh, never run.

# debian_root VARIANT HOOK DIRECTORY [OPTION...]: unpacks a Debian 13 root into DIRECTORY, with OPTIONs of tar. HOOK is
# a shell command that runs when the packages of VARIANT (see mmdebstrap(1)) are in and the backports are known; "$1" in
# it is the root's directory. As an archive in between, all files become the caller's, also from a user namespace.
# The backports come from the root's own source line with the suite changed, so that its mirror is used for both.
debian_root() {
	local variant=$1 hook=$2 directory=$3 mode=unshare
	shift 3
	[ "$(id -u)" != 0 ] || mode=root
	command -v mmdebstrap >/dev/null || die "mmdebstrap is missing: run sim/setup/apt-packages first."
	# shellcheck disable=SC2016  # $1 is the hook's own argument
	mmdebstrap --quiet --mode="$mode" --variant="$variant" --format=tar \
		--customize-hook='sed -n "s/^\(deb .*\) trixie main.*/\1 trixie-backports main/p" "$1/etc/apt/sources.list" \
			>"$1/etc/apt/sources.list.d/backports.list"' \
		--customize-hook='APT_CONFIG=$MMDEBSTRAP_APT_CONFIG apt-get -q update' \
		--customize-hook="$hook" \
		trixie - |
		tar -C "$directory" -x --no-same-owner "$@" ||
		die "the private Debian 13 root could not be made: see the lines above (network? as a user that is not root," \
			"mmdebstrap needs user namespaces and the package uidmap)."
}

# install_root DIRECTORY PACKAGES: makes DIRECTORY/root, a Debian 13 with the PACKAGES, or words of apt-get install.
# /proc is mounted meanwhile, as some packages' scripts read it. Pages, translations and Perl stay out of the archive:
# that is half of the root.
install_root() {
	mkdir "$1/root"
	# shellcheck disable=SC2016  # $1 is the hook's own argument
	debian_root minbase \
		'mountpoint -q "$1/proc" || mount -t proc proc "$1/proc"
		DEBIAN_FRONTEND=noninteractive chroot "$1" apt-get -q -y --no-install-recommends install '"$2"'
		umount -q "$1/proc" || true' "$1/root" \
		--exclude='./dev/*' --exclude='./proc/*' --exclude='./usr/share/doc/*' --exclude='./usr/share/man/*' \
		--exclude='./usr/share/locale/*' --exclude='./usr/share/zoneinfo/*' --exclude='./usr/share/perl*' \
		--exclude='./usr/share/info/*' --exclude='./var/cache/*' --exclude='./var/lib/apt/*'
}
