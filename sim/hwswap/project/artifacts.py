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


QEMU = Artifact("HWSWAP_QEMU", paths.BUILD / "qemu/qemu-system-x86_64")
"""A QEMU that has vfio-user-pci (`make setup`)."""
KERNEL = Artifact("HWSWAP_KERNEL", paths.BUILD / "kernel/bzImage")
"""The patched kernel's boot image (`make kernel`)."""
KERNEL_UNPATCHED = Artifact("HWSWAP_KERNEL_UNPATCHED", paths.BUILD / "kernel/unpatched/bzImage")
"""Linux as it is, but for the bench of its allocator (`make kernel`)."""
KERNEL_6_12 = Artifact("HWSWAP_KERNEL_6_12", paths.BUILD / "kernel-6.12/bzImage")
"""Linux 6.12 as it is, to compare with (`make kernel-6.12`)."""
INITRAMFS = Artifact("HWSWAP_INITRAMFS", paths.BUILD / "guest/initramfs.cpio.gz")
"""The guest's initramfs with workloads and modules (`make guest`)."""
DEVICE_GRANTS = Artifact("HWSWAP_DEVICE_GRANTS", paths.BUILD / "model-driver/hwswap-device")
"""Server of the Verilated engine as a PCI device, with all that the driver uses (`make model-driver`)."""
DEVICE_GRANTS_ONLY = Artifact("HWSWAP_DEVICE_GRANTS_ONLY", paths.BUILD / "model-grants-only/hwswap-device")
"""The same for an engine of grants alone, without a core (`make model-grants-only`)."""
