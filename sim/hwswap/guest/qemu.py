# SPDX-License-Identifier: Apache-2.0
"""A Linux guest in QEMU, with or without the engine plugged in: boots it, runs commands in it, watches its log."""

import base64
import json
import re
import shutil
import socket
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from subprocess import Popen
from types import TracebackType
from typing import Self

from hwswap.guest import initramfs, kernel_log
from hwswap.guest.machine import Machine
from hwswap.guest.qmp import Qmp
from hwswap.project import artifacts, processes
from hwswap.rtl.device_server import EngineServer

_PCI = "/sys/bus/pci/devices/*"
_PORTS = 4
"""PCIe ports; an engine that takes a dead one's place is plugged into the next."""
_ENDED = re.compile(rb"\n@@rc (\d+)\n")
_READY = re.compile(rb"\n@@ready (\S+)\n")
_AGAIN = b"\n@@again\n"
_TIMES = 5
"""The most times that a command is sent that arrives in part (sim/guest/init)."""


class GuestError(RuntimeError):
    """The guest did not boot, died, or its kernel complained."""


@dataclass(frozen=True)
class CompletedCommand:
    """A command that ran in the guest: its output (both streams) and its exit code."""

    command: str
    output: str
    code: int

    def check(self) -> str:
        """Return the output; raise GuestError when the exit code is not 0."""
        if self.code:
            raise GuestError(f"in the guest, `{self.command}` ended with code {self.code}:\n{self.output}")
        return self.output


@dataclass
class Guest:
    """A context manager: boots on entry, and ends every process it started on exit."""

    machine: Machine = field(default_factory=Machine)
    engine: EngineServer | None = None
    """Started and stopped by the guest, unless it runs already."""
    _: KW_ONLY
    beside: Sequence[str] = ()
    """QEMU's devices that share the engine's first slot, as further functions."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Added to the initramfs, path -> content; executable."""
    job: str | None = None
    """A shell script that runs at boot without waiting for the host; see wait_job()."""
    log: Path | None = None
    """The file for the kernel log; by default in the guest's own temporary folder."""
    kernel: artifacts.Artifact = artifacts.KERNEL
    """The kernel that boots; one without the hooks cannot load the driver's modules."""
    base: artifacts.Artifact = artifacts.INITRAMFS
    """Workloads, and the driver's modules, which have to be of this kernel's configuration."""
    boot_timeout: float = 120.0
    patience: float = 1.0
    """Factor on every time-out; a kernel that checks itself is slow."""
    permits: str = ""
    """A regular expression of lines of the kernel log that are provoked: they mean no trouble."""

    def __post_init__(self) -> None:
        """Begin with nothing that runs."""
        self._qemu: Popen[bytes] | None = None
        self._channel: socket.socket | None = None
        self._qmp: Qmp | None = None
        self._buffer = b""
        self._sent, self._times = b"", 0
        self._log_seen = 0
        self._owns_engine = False
        self._port = 0
        self.release = ""

    # Life cycle

    def __enter__(self) -> Self:
        """Boot."""
        self.folder = Path(tempfile.mkdtemp(prefix="hwswap-"))
        self.log = self.log or self.folder / "kernel.log"
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self.log.write_bytes(b"")
        try:
            if self.engine and not self.engine.process:
                self.engine.start()
                self._owns_engine = True
            self._start_qemu()
            self._wait_ready()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End everything; complain about trouble in the kernel log unless something else went wrong before."""
        try:
            if kind is None:
                self.check_log()
        finally:
            self.close()

    def close(self) -> None:
        """End QEMU and an engine that the guest started, and remove the temporary folder."""
        for connection in (self._qmp, self._channel):
            if connection:
                connection.close()
        self._qmp = self._channel = None
        if self._qemu:
            processes.stop(self._qemu, 5)
            self._qemu = None
            assert self.log
            (self.folder / "qemu.log").replace(self.log.with_name(f"{self.log.stem}.qemu.log"))
        if self.engine and self._owns_engine:
            self.engine.stop()
            self._owns_engine = False
        shutil.rmtree(self.folder, ignore_errors=True)

    def _initrd(self) -> Path:
        base = self.base.path()
        extra = {path.lstrip("/"): (0o755, content) for path, content in self.files.items()}
        if self.job is not None:
            extra["job"] = (0o755, self.job.encode())
        if not extra:
            return base
        path = self.folder / "initramfs.cpio.gz"
        # The kernel unpacks archive after archive; each starts at a multiple of 4 bytes.
        first = base.read_bytes()
        path.write_bytes(first + bytes(-len(first) % 4) + initramfs.archive(extra))
        return path

    def _start_qemu(self) -> None:
        machine = self.machine
        outbox = self.folder / "outbox"
        with outbox.open("wb") as file:
            file.truncate(machine.outbox_mb << 20)
        arguments = [
            "console=ttyS0 panic=-1 nokaslr norandmaps",
            f"brd.rd_nr={machine.disks} brd.rd_size={machine.disk_mb << 10}",
            machine.kernel_arguments,
        ]
        command: list[str | Path] = [artifacts.QEMU.path(), "-nodefaults", "-no-user-config", "-display", "none"]
        command += ["-machine", "q35" if machine.nodes > 1 else "q35,memory-backend=ram", "-m", f"{machine.memory_mb}M"]
        command += machine.node_arguments()
        # The engine reads and writes the guest's memory, so it has to be a file that can be shared.
        command += ["-object", f"memory-backend-memfd,id=ram,size={machine.memory_mb}M,share=on"]
        # Without the random number instructions a run can be repeated. A clock that counts instructions counts each
        # round of a repeated store: to clear a page takes 512 of words, and would take 4,096 of bytes.
        processor = "max,-rdrand,-rdseed" + ",-erms,-fsrm" * machine.icount
        command += ["-cpu", processor, "-smp", f"{machine.cpus},sockets={machine.nodes}", "-seed", "1"]
        command += ["-rtc", "base=2026-01-01T00:00:00,clock=vm"]
        if machine.icount:
            command += ["-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off"]
        else:
            command += ["-accel", f"tcg,thread={'single' if machine.in_turn else 'multi'}"]
            # At boot the kernel waits for ticks by counting cycles, and panics when a busy host is late with them.
            arguments.append("no_timer_check")
        command += ["-kernel", self.kernel.path(), "-initrd", self._initrd()]
        command += ["-append", " ".join(arguments).strip()]
        command += ["-chardev", f"file,id=log,path={self.log},append=on", "-serial", "chardev:log"]
        command += ["-chardev", f"socket,id=channel,path={self.folder / 'channel'},server=on,wait=on"]
        command += ["-serial", "chardev:channel", "-qmp", f"unix:{self.folder / 'qmp'},server=on,wait=off"]
        command += ["-drive", f"if=none,id=outbox,format=raw,file={outbox}", "-device", "virtio-blk-pci,drive=outbox"]
        for port in range(_PORTS):
            command += ["-device", f"pcie-root-port,id=port{port},chassis={port + 1},slot={port + 1}"]
        if self.engine:
            command += ["-device", json.dumps(self._device())]
        for number, device in enumerate(self.beside, 1):
            command += ["-device", f"{device},bus=port0,addr=0.{number}"]
        self._qemu = processes.start(command, self.folder / "qemu.log")
        self._channel = self._connect("channel")
        self._channel.settimeout(0.2)
        self._qmp = Qmp(self._connect("qmp"))

    def _device(self) -> dict[str, object]:
        assert self.engine
        address = {"type": "unix", "path": str(self.engine.socket)}
        place = {"id": f"engine{self._port}", "bus": f"port{self._port}", "multifunction": bool(self.beside)}
        # A write that lets the simulated engine run has to end before the guest goes on, and may take long.
        manners = {"x-no-posted-writes": True, "x-msg-timeout": 60000}
        return {"driver": "vfio-user-pci", **place, **manners, "socket": address}

    def _connect(self, name: str) -> socket.socket:
        deadline = time.monotonic() + 30
        while True:
            connection = socket.socket(socket.AF_UNIX)
            try:
                connection.connect(str(self.folder / name))
                return connection
            except (FileNotFoundError, ConnectionRefusedError):
                connection.close()
                self._check_qemu()
                if time.monotonic() > deadline:
                    raise GuestError(f"QEMU made no socket {name}") from None
                time.sleep(0.02)

    def _wait_ready(self) -> None:
        self.release = self._await(_READY, self.boot_timeout, "booting").group(1).decode()

    # Commands

    def run(self, command: str, timeout: float = 120.0) -> CompletedCommand:
        """Run a shell command (several lines are allowed) and wait at most `timeout` seconds for its end."""
        line = command
        if "\n" in command or not command.isascii():
            line = f"echo {base64.b64encode(command.encode()).decode()} | base64 -d | sh"
        self._send(line)
        return self._finish(command, timeout)

    def wait_job(self, timeout: float, on_line: Callable[[str], None] | None = None) -> CompletedCommand:
        """Wait for the end of the job script; `on_line` sees each line of its output as it comes."""
        return self._finish("/job", timeout, on_line)

    def _finish(self, what: str, timeout: float, on_line: Callable[[str], None] | None = None) -> CompletedCommand:
        match = self._await(_ENDED, timeout, f"`{what}`", on_line)
        return CompletedCommand(what, self._before.decode(errors="replace"), int(match.group(1)))

    def _send(self, line: str) -> None:
        assert self._channel
        self._buffer = b""
        self._sent, self._times = f"{len(line)} {line}\n".encode(), 1
        self._channel.sendall(self._sent)

    def _send_again(self) -> None:
        """Send the last command again: it did not arrive whole, and was not run."""
        assert self._channel
        if self._times == _TIMES:
            raise GuestError(f"a command did not arrive whole in the guest, {_TIMES} times: {self._sent.decode()}")
        self._times += 1
        text = self._sent.decode().strip()
        warnings.warn(f"part of a command was lost on its way to the guest, it is sent again: {text}", stacklevel=2)
        self._channel.sendall(self._sent)

    def _await(
        self, pattern: re.Pattern[bytes], timeout: float, what: str, on_line: Callable[[str], None] | None = None
    ) -> re.Match[bytes]:
        """Read the channel until the pattern; leave the text before it in _before, the rest in _buffer."""
        assert self._channel
        timeout *= self.patience
        deadline = time.monotonic() + timeout
        shown = 0
        while True:
            # Not only at its end: programs in the background write to the channel, too.
            if _AGAIN in self._buffer:
                self._buffer = self._buffer.replace(_AGAIN, b"", 1)
                self._send_again()
            match = pattern.search(self._buffer)
            end = match.start() if match else self._buffer.rfind(b"\n") + 1
            if on_line:
                for line in self._buffer[shown:end].splitlines():
                    on_line(line.decode(errors="replace"))
                shown = max(shown, end)
            if match:
                self._before, self._buffer = self._buffer[: match.start()], self._buffer[match.end() - 1 :]
                self.check_log()
                return match
            try:
                data = self._channel.recv(65536)
                if not data:
                    self._check_qemu()
                    raise GuestError(f"the guest ended during {what}:\n{self._log_tail()}")
                self._buffer += data
            except TimeoutError:
                self.check_log()
                self._check_qemu()
                if self.engine and self.engine.process:
                    self.engine.check()
            if time.monotonic() > deadline:
                raise GuestError(
                    f"{what} took longer than {timeout:.0f} s; output so far:\n"
                    f"{self._buffer.decode(errors='replace')[-2000:]}\nkernel log:\n{self._log_tail()}"
                )

    # Watching

    def kernel_log(self) -> str:
        """The kernel log so far."""
        assert self.log
        return self.log.read_text(errors="replace").replace("\r", "")

    def check_log(self) -> None:
        """Raise GuestError when a new line of the kernel log means trouble."""
        assert self.log
        with self.log.open("rb") as file:
            file.seek(self._log_seen)
            new = file.read()
        whole = new[: new.rfind(b"\n") + 1]
        self._log_seen += len(whole)
        for line in kernel_log.troubles(whole.decode(errors="replace")):
            if self.permits and re.search(self.permits, line):
                continue
            time.sleep(1)  # the lines that explain it follow
            text = self.kernel_log()
            raise GuestError(f"the guest's kernel complained:\n{text[max(0, text.find(line.strip()) - 500) :][:6000]}")

    def _log_tail(self) -> str:
        assert self.log
        return processes.tail(self.log, 30)

    def _check_qemu(self) -> None:
        if self._qemu and self._qemu.poll() is not None:
            raise GuestError(
                f"QEMU ended with code {self._qemu.returncode}:\n{processes.tail(self.folder / 'qemu.log')}\n"
                f"{self._log_tail()}"
            )

    def trace(self, events: Sequence[str], on: bool) -> None:
        """Have QEMU write these events into its log, or no more."""
        assert self._qmp
        for name in events:
            self._qmp.execute("trace-event-set-state", name=name, enable=on)

    # Files

    def fetch(self, path: str, timeout: float = 120.0) -> bytes:
        """Bring a file of the guest here, through the outbox disk."""
        size = int(self.run(f"wc -c <{path}").check())
        if size > self.machine.outbox_mb << 20:
            raise GuestError(f"{path} has {size} bytes, more than the outbox of {self.machine.outbox_mb} MB holds")
        self.run(f"dd if={path} of=/dev/vda bs=1M conv=fsync 2>/dev/null", timeout).check()
        with (self.folder / "outbox").open("rb") as file:
            return file.read(size)

    def outbox_text(self) -> str:
        """The text that the guest itself wrote to the outbox disk, up to the first zero byte."""
        return (self.folder / "outbox").read_bytes().partition(b"\0")[0].decode()

    # The engine

    def kill_engine(self) -> None:
        """SIGKILL for the engine: the guest reads all ones from then on."""
        assert self.engine
        self.engine.kill()

    def restart_engine(self) -> None:
        """Take the dead engine's PCI device away from the guest, and plug a new engine into the next port.

        QEMU 11.1 cannot connect a device to its server again, and ends when one whose server is dead is to be
        unplugged: so the dead one stays in its port, and only the guest forgets it.
        """
        assert self.engine and self._qmp
        if self._port + 1 == _PORTS:
            raise GuestError(f"the guest has {_PORTS} ports for engines, and all were used")
        self.run(f"for d in {_PCI}; do grep -q 0x5357 $d/device && echo 1 >$d/remove; done; true").check()
        self.engine.start()
        self._owns_engine = True
        self._port += 1
        self._qmp.execute("device_add", **self._device())

    # Resets

    def reboot(self) -> None:
        """Reboot from within, and wait until the guest is up again."""
        self._send("reboot -f")
        self._wait_ready()

    def reset(self) -> None:
        """Press the reset button, and wait until the guest is up again."""
        assert self._qmp
        self._buffer = b""
        self._qmp.execute("system_reset")
        self._wait_ready()
