# SPDX-License-Identifier: Apache-2.0
"""The kernels that experiments are done on, and a script that runs on one of them in a guest."""

from dataclasses import dataclass
from pathlib import Path

from hwswap.guest.qemu import Guest, GuestError, Machine
from hwswap.project import artifacts, paths

SCRIPTS = paths.ROOT / "sim/guest"
LOGS = paths.REPORTS / "kernel"
BOOT_S, JOB_S = 600, 7200


@dataclass(frozen=True)
class Kernel:
    """A kernel without patches, but for the bench of the allocator in 7.3."""

    name: str
    release: str
    """The beginning of its release."""

    image: artifacts.Artifact


LINUX_6_12 = Kernel("Linux 6.12", "6.12.", artifacts.KERNEL_6_12)
"""Before swap tables, before nonfull clusters came before free ones, with priorities that fall by themselves."""

LINUX_7_3 = Kernel("Linux 7.3", "7.3.", artifacts.KERNEL_UNPATCHED)
KERNELS = (LINUX_6_12, LINUX_7_3)


def run(kernel: Kernel, machine: Machine, script: str, variables: dict[str, str]) -> list[list[str]]:
    """Run a script of sim/guest at a guest's boot.

    Args:
        kernel: the kernel that boots.
        machine: the guest's machine.
        script: its name.
        variables: for it; no value has an apostrophe.

    Returns:
        The lines of its output that begin with @, without that and split at blanks.

    Raises:
        GuestError: it failed, another kernel came up, or the kernel complained.
    """
    job = "".join(f"{name}='{value}'\n" for name, value in variables.items()) + f". /{script}\n"
    log: Path = LOGS / f"experiments-{Path(script).stem}-{kernel.release}log"
    files = {script: (SCRIPTS / script).read_bytes()}
    with Guest(machine, files=files, job=job, log=log, kernel=kernel.image, boot_timeout=BOOT_S) as guest:
        if not guest.release.startswith(kernel.release):
            raise GuestError(f"{kernel.image.path()} is Linux {guest.release}, not {kernel.name}")
        output = guest.wait_job(JOB_S).check()
    if "@done" not in output:
        raise GuestError(f"{script} on {kernel.name} did not come to its end:\n{output[-1500:]}")
    return [line[1:].split() for line in output.splitlines() if line.startswith("@")]
