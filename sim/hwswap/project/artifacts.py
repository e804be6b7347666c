# SPDX-License-Identifier: Apache-2.0
"""The built things that a guest is made of; an environment variable of each can name another one."""

import os
from dataclasses import dataclass
from pathlib import Path

from hwswap.project import paths


@dataclass(frozen=True)
class Artifact:
    """A built file: the environment variable that overrides its place, and the place."""

    variable: str
    place: Path

    def path(self) -> Path:
        """Return where the file is; stops with one sentence when it is not there."""
        return paths.need(Path(os.environ.get(self.variable) or self.place))


QEMU = Artifact("HWSWAP_QEMU", paths.QEMU)
KERNEL = Artifact("HWSWAP_KERNEL", paths.KERNEL_IMAGE)
KERNEL_UNPATCHED = Artifact("HWSWAP_KERNEL_UNPATCHED", paths.KERNEL_UNPATCHED_IMAGE)
KERNEL_6_12 = Artifact("HWSWAP_KERNEL_6_12", paths.KERNEL_6_12_IMAGE)
KERNEL_TUNED = Artifact("HWSWAP_KERNEL_TUNED", paths.KERNEL_TUNED_IMAGE)
KERNEL_LOCKSTAT = Artifact("HWSWAP_KERNEL_LOCKSTAT", paths.KERNEL_LOCKSTAT_IMAGE)
KERNEL_UNPATCHED_LOCKSTAT = Artifact("HWSWAP_KERNEL_UNPATCHED_LOCKSTAT", paths.KERNEL_UNPATCHED_LOCKSTAT_IMAGE)
INITRAMFS = Artifact("HWSWAP_INITRAMFS", paths.INITRAMFS)
INITRAMFS_LOCKSTAT = Artifact("HWSWAP_INITRAMFS_LOCKSTAT", paths.INITRAMFS_LOCKSTAT)
DEVICE_GRANTS = Artifact("HWSWAP_DEVICE_GRANTS", paths.DEVICE_GRANTS)
DEVICE_GRANTS_ONLY = Artifact("HWSWAP_DEVICE_GRANTS_ONLY", paths.DEVICE_GRANTS_ONLY)
REPLAY = Artifact("HWSWAP_REPLAY", paths.REPLAY)
