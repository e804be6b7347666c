# SPDX-License-Identifier: Apache-2.0
"""Where the built things that a guest is made of are found."""

import os
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
BUILD = REPOSITORY / "build"


class MissingError(Exception):
    """Something that has to be built or installed first is not there; the text says what to do."""


@dataclass(frozen=True)
class Artifact:
    """One built file: the environment variable that overrides its place, the place, and the make target."""

    variable: str
    place: str
    target: str

    def path(self) -> Path:
        """Returns where the file is; raises MissingError when it is not there."""
        path = Path(os.environ.get(self.variable) or BUILD / self.place)
        if not path.exists():
            raise MissingError(f"{path} is missing; run `make {self.target}`, or set {self.variable}")
        return path


QEMU = Artifact("HWSWAP_QEMU", "qemu/qemu-system-x86_64", "setup")
KERNEL = Artifact("HWSWAP_KERNEL", "kernel/bzImage", "kernel")
INITRAMFS = Artifact("HWSWAP_INITRAMFS", "guest/initramfs.cpio.gz", "guest")
DEVICE = Artifact("HWSWAP_DEVICE", "model/hwswap-device", "model")
REPLAY = Artifact("HWSWAP_REPLAY", "model/hwswap-replay", "model")
