# SPDX-License-Identifier: Apache-2.0
"""Where everything that `make` builds is found. In build/ these are links into the cache, see sim/setup/build."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
"""Top of the repository."""

BUILD = ROOT / "build"
"""Derived files; removed by `make clean`."""

REPORTS = BUILD / "reports"
"""JUnit XML, logs and the demo's JSON."""

RTL = BUILD / "rtl" / "HwSwap.sv"
"""The engine's Verilog (`make verilog`)."""

REPLAY = BUILD / "model" / "hwswap-replay"
"""Replayer of operations on the Verilated engine (`make model`)."""

REPLAY_WAVES = BUILD / "model-wave" / "hwswap-replay"
"""The replayer that can keep waves (`make regress WAVES=1`)."""

REPLAY_COVERAGE = BUILD / "model-coverage" / "hwswap-replay"
"""The replayer that counts lines and toggles (`make coverage`)."""

DEVICE_GRANTS = BUILD / "model-driver" / "hwswap-device"
"""Server of the Verilated engine, with marks and grants and all else the driver uses, as a PCI device
(`make model-driver`)."""

DEVICE_GRANTS_ONLY = BUILD / "model-grants-only" / "hwswap-device"
"""The same for an engine of marks and grants alone, without a core (`make model-grants-only`)."""

QEMU = BUILD / "qemu" / "qemu-system-x86_64"
"""A QEMU that has vfio-user-pci (`make setup`)."""

KERNEL = BUILD / "kernel"
"""The kernel as built (`make kernel`)."""

KERNEL_IMAGE = KERNEL / "bzImage"
"""The patched kernel's boot image (`make kernel`)."""

KERNEL_UNPATCHED_IMAGE = BUILD / "kernel-unpatched" / "bzImage"
"""Linux as it is, but for the bench of its allocator (`make kernel-unpatched`)."""

KERNEL_6_12_IMAGE = BUILD / "kernel-6.12" / "bzImage"
"""Linux 6.12 as it is, to compare with (`make kernel-6.12`)."""

KERNEL_TUNED_IMAGE = BUILD / "kernel-tuned" / "bzImage"
"""The patched kernel with swap tables written and searched by ranges (`make kernel-tuned`)."""

KERNEL_LOCKSTAT_IMAGE = BUILD / "kernel-lockstat" / "bzImage"
"""The patched kernel with lock statistics (`make bench-locks`)."""

KERNEL_UNPATCHED_LOCKSTAT_IMAGE = BUILD / "kernel-unpatched-lockstat" / "bzImage"
"""The unpatched kernel with lock statistics (`make bench-locks`)."""

MODULES = BUILD / "modules"
"""Folder with hwswap.ko and hwswap_simclock.ko (`make modules`)."""

INITRAMFS = BUILD / "guest" / "initramfs.cpio.gz"
"""The guest's initramfs with workloads and modules (`make guest`)."""

INITRAMFS_LOCKSTAT = BUILD / "guest-lockstat" / "initramfs.cpio.gz"
"""The same with modules for the kernel with lock statistics (`make bench-locks`)."""

REDIS = BUILD / "redis"
"""Folder with redis-server, its libraries and its client, for the guest (`make redis`)."""

TARGETS = {
    "rtl": "verilog",
    "model": "model",
    "model-large": "model-large",
    "model-wide": "model-wide",
    "model-driver": "model-driver",
    "model-grants-only": "model-grants-only",
    "qemu": "setup",
    "kernel": "kernel",
    "kernel-unpatched": "kernel-unpatched",
    "kernel-6.12": "kernel-6.12",
    "kernel-tuned": "kernel-tuned",
    "kernel-lockstat": "bench-locks",
    "kernel-unpatched-lockstat": "bench-locks",
    "guest-lockstat": "bench-locks",
    "modules": "modules",
    "guest": "guest",
    "redis": "redis",
    "kernel-debug": "test-debug",
    "modules-debug": "test-debug",
    "guest-debug": "test-debug",
    "proof-rtl": "formal",
    "rtl-mutants": "mutate",
    "mutants": "mutate",
    "model-mutants": "mutate",
}
"""Which make target makes which folder of build/."""


def need(path: Path) -> Path:
    """Return `path`, or stop with one sentence that says which make target makes it."""
    if not path.exists():
        folder = path.relative_to(BUILD).parts[0] if path.is_relative_to(BUILD) else ""
        raise SystemExit(f"{path} is missing: run `make {TARGETS.get(folder, 'setup')}` first.")
    return path


def cache() -> Path:
    """Folder that keeps slow results between clones: HWSWAP_CACHE, or hwswap/ in the user's cache directory."""
    user = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("HWSWAP_CACHE") or Path(user) / "hwswap")
