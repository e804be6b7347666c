# SPDX-License-Identifier: Apache-2.0
"""Commands reach the guest whole, or are sent again, which is counted."""

from collections.abc import Callable
from unittest.mock import Mock

import pytest
from hwswap.guest.qemu import Guest, GuestError, Machine


def lossy(channel, lose: Callable[[bytes], bytes], times: int) -> Mock:
    """Return a channel in the place of another that loses some of what is sent, a number of times."""
    losses = iter([lose] * times)
    return Mock(wraps=channel, sendall=lambda data: channel.sendall(next(losses, bytes)(data)))


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
def test_a_command_of_which_a_part_is_lost_is_sent_again(guest: Guest, lose, monkeypatch) -> None:
    monkeypatch.setattr(guest, "_channel", lossy(guest._channel, lose, 2))
    with pytest.warns(UserWarning, match="sent again: 18 echo one; echo two") as warned:
        assert guest.run("echo one; echo two").check().split() == ["one", "two"]
    assert len(warned) == 2


def test_a_channel_that_always_loses_something_is_an_error(guest: Guest, monkeypatch) -> None:
    monkeypatch.setattr(guest, "_channel", lossy(guest._channel, LOSSES["its middle"], 99))
    with (
        pytest.warns(UserWarning) as warned,
        pytest.raises(GuestError, match="did not arrive whole in the guest, 5 times"),
    ):
        guest.run("echo one; echo two")
    assert len(warned) == 4


def test_lines_and_letters_of_all_kinds(guest: Guest) -> None:
    assert guest.run("echo  'a  b'\necho 'ä'").check() == "a  b\nä\n"
    assert guest.run("  echo '  c'; false").code == 1
