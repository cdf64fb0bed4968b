"""How many bytes wake a reader: many while they pour, one when they trickle."""

import asyncio
import errno
import socket
import sys
from typing import Any

import pytest

from cockpit.kube.transport import LUMP_BYTES, LUMP_FROM_BYTES, SocketBuffer
from tests.waiting import until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is asked of the kernel")
PATIENCE_SECONDS = 60.0


class Played(asyncio.BaseTransport):
    """A transport and its socket in one."""

    def __init__(self, *, can: bool = True) -> None:
        super().__init__()
        self.asked: list[int] = []
        self._can = can

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self if name == "socket" else default

    def setsockopt(self, level: int, option: int, value: int) -> None:
        assert (level, option) == (socket.SOL_SOCKET, socket.SO_RCVLOWAT)
        if not self._can:
            raise OSError(errno.EBADF, "closed")
        self.asked.append(value)


async def test_a_trickle_asks_for_nothing() -> None:
    line = Played()
    lumps = SocketBuffer(line)
    for _ in range(100):
        lumps.came(LUMP_FROM_BYTES - 1)
    assert line.asked == []


async def test_what_pours_comes_in_lumps_and_then_in_bytes_again() -> None:
    line = Played()
    lumps = SocketBuffer(line)
    lumps.came(LUMP_FROM_BYTES)
    lumps.came(LUMP_BYTES)
    assert line.asked == [LUMP_BYTES]
    await until(lambda: line.asked == [LUMP_BYTES, 1])
    lumps.came(10)
    assert line.asked == [LUMP_BYTES, 1]
    lumps.came(LUMP_BYTES)
    await until(lambda: line.asked == [LUMP_BYTES, 1, LUMP_BYTES, 1])


async def test_after_the_end_nothing_is_asked() -> None:
    line = Played()
    lumps = SocketBuffer(line)
    lumps.came(LUMP_BYTES)
    lumps.stop()
    lumps.came(LUMP_BYTES)
    await asyncio.sleep(0.05)
    assert line.asked == [LUMP_BYTES]


async def test_a_socket_that_cannot_is_asked_once() -> None:
    lumps = SocketBuffer(Played(can=False))
    lumps.came(LUMP_BYTES)
    assert lumps._socket is None
    lumps.came(LUMP_BYTES)
    assert lumps._timer is None


async def test_a_transport_without_a_socket() -> None:
    SocketBuffer(asyncio.BaseTransport()).came(LUMP_BYTES)


async def test_the_kernel_takes_it() -> None:
    """A real pair of sockets: asked for many bytes, few do not wake; asked for one again, they do."""
    listener = socket.create_server(("127.0.0.1", 0))
    far = socket.create_connection(listener.getsockname())
    near, _ = listener.accept()
    near.setblocking(False)
    loop = asyncio.get_running_loop()
    woken = asyncio.Event()

    class Real(Played):
        def get_extra_info(self, name: str, default: Any = None) -> Any:
            return near if name == "socket" else default

    lumps = SocketBuffer(Real())
    lumps.came(LUMP_FROM_BYTES)
    assert near.getsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT) == LUMP_BYTES
    loop.add_reader(near, woken.set)
    far.sendall(b"few")
    await asyncio.wait_for(woken.wait(), PATIENCE_SECONDS)
    assert near.getsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT) == 1
    assert near.recv(10) == b"few"
    loop.remove_reader(near)
    for one in (far, near, listener):
        one.close()
