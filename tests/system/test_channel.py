# SPDX-License-Identifier: Apache-2.0
"""Commands reach the guest whole, or are sent again, which is counted."""

from collections.abc import Callable

import pytest
from hwswap.guest.qemu import Guest, GuestError, Machine
from hwswap.project import retries


class Lossy:
    """A channel that loses some of what is sent, a number of times."""

    def __init__(self, channel, lose: Callable[[bytes], bytes], times: int) -> None:
        """Takes the place of a channel."""
        self._channel, self._lose, self.times = channel, lose, times

    def sendall(self, data: bytes) -> None:
        """Send what is not lost."""
        self._channel.sendall(self._lose(data) if self.times > 0 else data)
        self.times -= 1

    def __getattr__(self, name: str):
        """All else is the channel's."""
        return getattr(self._channel, name)


LOSSES = {
    "all but its end": lambda data: data[-2:],
    "its beginning": lambda data: data[5:],
    "its middle": lambda data: data[:9] + data[12:],
    "its end": lambda data: data[:-4] + b"\n",
}


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory):
    """A guest without an engine."""
    with Guest(Machine(), log=tmp_path_factory.mktemp("channel") / "kernel.log") as guest:
        yield guest


@pytest.mark.parametrize("lose", LOSSES.values(), ids=LOSSES)
def test_a_command_of_which_a_part_is_lost_is_sent_again(guest: Guest, lose, monkeypatch, capsys) -> None:
    monkeypatch.setattr(guest, "_channel", Lossy(guest._channel, lose, 2))
    with retries.Collection(apart=True) as tried:
        assert guest.run("echo one; echo two").check().split() == ["one", "two"]
    assert tried.counts == {"command sent to a guest": 2}
    assert capsys.readouterr().err.count("sent again: 18 echo one; echo two") == 2


def test_a_channel_that_always_loses_something_is_an_error(guest: Guest, monkeypatch) -> None:
    monkeypatch.setattr(guest, "_channel", Lossy(guest._channel, LOSSES["its middle"], 99))
    with (
        retries.Collection(apart=True) as tried,
        pytest.raises(GuestError, match="did not arrive whole in the guest, 5 times"),
    ):
        guest.run("echo one; echo two")
    assert tried.counts == {"command sent to a guest": 4}


def test_lines_and_letters_of_all_kinds(guest: Guest) -> None:
    assert guest.run("echo  'a  b'\necho 'ä'").check() == "a  b\nä\n"
    assert guest.run("  echo '  c'; false").code == 1
