# SPDX-License-Identifier: Apache-2.0
"""Writes an initramfs: a newc cpio archive, compressed by gzip or not, the same bytes for the same content."""

import argparse
import gzip
import stat
import struct
import sys
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

Content = bytes | str | tuple[int, int]
"""The content of an entry: a file's bytes, a symbolic link's target, or a character device's numbers."""

CONSOLE = (5, 1)
"""Numbers of /dev/console, which the kernel opens for /init before devtmpfs is mounted."""


def _entry(inode: int, mode: int, name: str, data: bytes, device: tuple[int, int] = (0, 0)) -> bytes:
    """One newc entry: 110 bytes of ASCII header, the name, the data, each padded to 4 bytes."""
    path = name.encode() + b"\0"
    # inode, mode, uid, gid, links, mtime, size, major, minor, rmajor, rminor, name size, checksum
    fields = (inode, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(path), 0)
    header = b"070701" + b"".join(b"%08X" % field for field in fields)
    head = header + path
    return head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4)


def archive(files: Mapping[str, tuple[int, Content]], compress: bool = True) -> bytes:
    """Pack entries given as path -> (permission bits, content); the folders above them are made."""
    folders = {str(parent) for path in files for parent in PurePosixPath(path).parents} - {".", "/"}
    parts = [_entry(i, stat.S_IFDIR | 0o755, name, b"") for i, name in enumerate(sorted(folders), 1)]
    for i, (path, (mode, content)) in enumerate(sorted(files.items()), len(parts) + 1):
        if isinstance(content, str):
            parts.append(_entry(i, stat.S_IFLNK | mode, path, content.encode()))
        elif isinstance(content, tuple):
            parts.append(_entry(i, stat.S_IFCHR | mode, path, b"", content))
        else:
            parts.append(_entry(i, stat.S_IFREG | mode, path, content))
    parts.append(_entry(0, 0, "TRAILER!!!", b""))
    whole = b"".join(parts)
    # The kernel wants a further archive after this one to start at a multiple of 4 bytes once unpacked.
    whole += bytes(-len(whole) % 512)
    return gzip.compress(whole, compresslevel=6, mtime=0) if compress else whole


def kernel_modules(kernel: Path) -> dict[str, bytes]:
    """Return the own modules of a kernel, by the path of its boot image, as files for a guest."""
    return {f"lib/modules/{path.name}": path.read_bytes() for path in sorted((kernel.parent / "modules").glob("*.ko"))}


def base(init: Path, busybox: Path, programs: Path, modules: Path | None, early: str = "") -> bytes:
    """The guest's own initramfs: /init, busybox, every program and module of the two folders.

    `early` names modules, in order, that /init loads before anything else.
    """
    files: dict[str, tuple[int, Content]] = {
        "init": (0o755, init.read_bytes()),
        "bin/busybox": (0o755, busybox.read_bytes()),
        "bin/sh": (0o777, "busybox"),
        "dev/console": (0o600, CONSOLE),
        "lib/modules/early": (0o644, early.encode()),
    }
    for program in sorted(programs.iterdir()):
        files[f"bin/{program.name}"] = (0o755, program.read_bytes())
    for module in sorted(modules.glob("**/*.ko")) if modules else ():
        files[f"lib/modules/{module.name}"] = (0o644, module.read_bytes())
    return archive(files)


def is_static(program: bytes) -> bool:
    """Say whether an ELF64 program runs without a dynamic linker: it has no PT_INTERP program header."""
    if program[:5] != b"\x7fELF\x02":
        return False
    (offset,) = struct.unpack_from("<Q", program, 0x20)
    size, count = struct.unpack_from("<HH", program, 0x36)
    return all(struct.unpack_from("<I", program, offset + i * size)[0] != 3 for i in range(count))


def main() -> int:
    """Command line: writes the archive from a busybox, a folder of programs and a folder of modules."""
    parser = argparse.ArgumentParser(prog="python -m hwswap.initramfs", description=main.__doc__)
    parser.add_argument("--init", type=Path, required=True, help="the script that becomes /init")
    parser.add_argument("--busybox", type=Path, default=Path("/bin/busybox"), help="a static busybox")
    parser.add_argument("--programs", type=Path, required=True, help="folder of static programs for /bin")
    parser.add_argument("--modules", type=Path, help="folder of kernel modules for /lib/modules")
    parser.add_argument("--early", default="", help="modules to load first, in order")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    for path in (options.init, options.busybox, options.programs):
        if not path.exists():
            print(f"initramfs: {path} is missing; build it first (`make guest` does)", file=sys.stderr)
            return 1
    if not is_static(options.busybox.read_bytes()):
        print(f"initramfs: {options.busybox} is no static program; install busybox-static", file=sys.stderr)
        return 1
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_bytes(base(options.init, options.busybox, options.programs, options.modules, options.early))
    return 0


if __name__ == "__main__":
    sys.exit(main())
