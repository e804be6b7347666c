# SPDX-License-Identifier: Apache-2.0
"""The client of the workload with Redis, with a server in its place that can be told to be wrong."""

import contextlib
import json
import os
import subprocess
import threading
from pathlib import Path

import programs
import pytest

SOURCE = Path(__file__).parents[2] / "sim/guest/redis/redisload.c"


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """Return the client, compiled for this machine."""
    path = tmp_path_factory.mktemp("redisload") / "redisload"
    subprocess.run(["gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-o", path, SOURCE], check=True)
    return path


class Server(threading.Thread):
    """As much of a server as the client asks for, behind two named pipes."""

    def __init__(self, folder: Path, spoil: int = 0, status: str = "ok", refuse: bytes = b""):
        """Make the pipes. `spoil` is the GET whose value is changed; `refuse` a command that fails."""
        super().__init__(daemon=True)
        self.requests, self.replies = folder / "requests", folder / "replies"
        self.spoil, self.status, self.refuse = spoil, status, refuse
        self.commands: list[bytes] = []
        os.mkfifo(self.requests)
        os.mkfifo(self.replies)

    def run(self):
        """Answer until the client ends."""
        values: dict[bytes, bytes] = {}
        gets = saves = 0
        with self.requests.open("rb") as requests, self.replies.open("wb", buffering=0) as replies:
            while line := requests.readline():
                words = line.split()
                if line.startswith(b"*"):
                    words = []
                    for _ in range(int(line[1:])):
                        words.append(requests.read(int(requests.readline()[1:])))
                        requests.readline()
                self.commands.append(words[0])
                answer = b"+OK\r\n"
                if words[0] == self.refuse:
                    answer = b"-ERR no\r\n"
                elif words[0] == b"SET":
                    values[words[1]] = words[2]
                elif words[0] == b"GET":
                    gets += 1
                    value = values[words[1]]
                    if gets == self.spoil:
                        value = value[:-1] + b"?"
                    answer = b"$%d\r\n%s\r\n" % (len(value), value)
                elif words[0] == b"INFO":
                    saves += 1  # under way when first asked
                    text = f"rdb_bgsave_in_progress:{saves % 2}\r\nrdb_last_bgsave_status:{self.status}\r\n".encode()
                    answer = b"$%d\r\n%s\r\n" % (len(text), text)
                elif words[0] == b"SHUTDOWN":
                    return
                # The client has sent more than it reads when it ends with an error.
                with contextlib.suppress(BrokenPipeError):
                    replies.write(answer)


def run(program, server, *more):
    server.start()
    done = programs.run(program, server.requests, server.replies, 200, 300, 7, *more, timeout=60)
    server.join(10)
    return done


def test_all_is_filled_saved_read_and_verified(program, tmp_path):
    server = Server(tmp_path)
    done = run(program, server)
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert figures["wrong"] == 0
    assert figures["gets"] + figures["sets"] == 200 + 2 * 300 + 200
    assert server.commands.count(b"GET") == figures["gets"]
    assert server.commands.count(b"SET") == figures["sets"]
    assert server.commands.count(b"BGSAVE") == 2
    assert server.commands.count(b"INFO") == 4
    assert server.commands[-1] == b"SHUTDOWN"


def test_the_same_is_done_where_nothing_is_saved(program, tmp_path):
    (tmp_path / "saved").mkdir()
    saved = run(program, Server(tmp_path / "saved"))
    server = Server(tmp_path)
    done = run(program, server, "nosave")
    assert (done.returncode, done.stdout) == (0, saved.stdout), done.stderr
    assert not {b"BGSAVE", b"INFO"} & set(server.commands)


def test_one_wrong_byte_is_counted_and_fails(program, tmp_path):
    done = run(program, Server(tmp_path, spoil=100))
    assert done.returncode == 1
    assert json.loads(done.stdout)["wrong"] == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"refuse": b"BGSAVE"}, "redisload: the server says: -ERR no"),
        ({"refuse": b"GET"}, "redisload: the server says: -ERR no"),
        ({"status": "err"}, "redisload: the server could not save"),
    ],
)
def test_a_server_that_cannot_is_an_error(program, tmp_path, options, message):
    server = Server(tmp_path, **options)
    done = run(program, server)
    assert done.returncode == 1
    assert done.stderr.strip() == message
