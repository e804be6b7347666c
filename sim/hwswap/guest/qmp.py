# SPDX-License-Identifier: Apache-2.0
"""The small part of QEMU's machine protocol that plugging a device in and out needs."""

import json
import socket
from typing import Any


class Qmp:
    """A connection to QEMU's control socket."""

    def __init__(self, connection: socket.socket) -> None:
        """Leave the negotiation mode of a new connection; every answer has to come within 30 seconds."""
        self._socket = connection
        self._socket.settimeout(30)
        self._lines = self._socket.makefile("r")
        self._read()  # the greeting
        self.execute("qmp_capabilities")

    def _read(self) -> dict[str, Any]:
        try:
            line = self._lines.readline()
        except TimeoutError as error:
            raise RuntimeError("QEMU does not answer") from error
        if not line:
            raise RuntimeError("QEMU closed its control socket")
        return json.loads(line)

    def execute(self, command: str, **arguments: Any) -> Any:
        """Run one command and return its answer."""
        self._socket.sendall(json.dumps({"execute": command, "arguments": arguments}).encode() + b"\n")
        while True:
            message = self._read()
            if "error" in message:
                raise RuntimeError(f"{command}: {message['error']['desc']}")
            if "return" in message:  # anything else is an event
                return message["return"]

    def close(self) -> None:
        """Close the connection."""
        self._lines.close()
        self._socket.close()
