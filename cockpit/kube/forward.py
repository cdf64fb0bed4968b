"""A port of a pod: one WebSocket a connection, a byte of channel before each piece.

Source: Kubernetes 1.36 k8s.io/cri-streaming pkg/streaming/portforward/websocket.go: v4.channel.k8s.io, per
port a channel for data and one for the node's error, each begun with the port's number in two bytes. Servers
of every version hand it through to the node; neither side can close one direction alone.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from cockpit.errors import Refused
from cockpit.kube.resource import PODS
from cockpit.sanitise import clean

if TYPE_CHECKING:
    from cockpit.kube.session import ApiSession
    from cockpit.kube.sockets import Socket

PROTOCOL = "v4.channel.k8s.io"
_DATA, _ERROR = 0, 1
_NUMBER_BYTES = 2
_PIECE_BYTES = 32 << 10
_MOST_SENTENCE = 400


class PodTunnel:
    """One connection to a port of a pod."""

    def __init__(self, socket: "Socket", where: str) -> None:
        self._socket = socket
        self._where = where
        self._unnumbered = {_DATA: _NUMBER_BYTES, _ERROR: _NUMBER_BYTES}

    async def begun(self) -> None:
        """Wait until the node has answered for the port: it tells the number on both channels.

        Raises Refused, NoConnection.
        """
        while any(self._unnumbered.values()):
            message = await self._socket.receive()
            if message is None:
                raise Refused(f"{self._where}: the node ended the connection before it began")
            self._take(message)

    async def read(self) -> bytes | None:
        """The next bytes; None when the pod's side has ended.

        Raises Refused with the node's sentence (the port is closed, the pod has ended), NoConnection where
        the connection was cut.
        """
        while (message := await self._socket.receive()) is not None:
            if data := self._take(message):
                return data
        return None

    async def write(self, data: bytes) -> None:
        """Send bytes to the port. Raises NoConnection."""
        for at in range(0, len(data), _PIECE_BYTES):
            await self._socket.send(bytes((_DATA,)) + data[at : at + _PIECE_BYTES])

    def _take(self, message: bytes) -> bytes:
        """Bytes of data in a message. Raises Refused where it is the node's error."""
        if not message or message[0] not in self._unnumbered:
            return b""
        channel, data = message[0], message[1:]
        number = self._unnumbered[channel]
        self._unnumbered[channel] = max(0, number - len(data))
        data = data[number:]
        if channel == _ERROR and data:
            told = clean(data.decode("utf-8", "replace"), _MOST_SENTENCE)
            raise Refused(f"{self._where}: {told}")
        return data


@asynccontextmanager
async def open_tunnel(
    session: "ApiSession", namespace: str, pod: str, port: int
) -> AsyncGenerator[PodTunnel, None]:
    """Connect to a port of a pod; the connection ends with the block.

    Raises Refused with the guard's or the server's sentence (read-only, no right, no such pod), NoConnection
    where no answer comes.
    """
    where = f"port {port} of {namespace}/{pod}"
    path = PODS.path(namespace, pod, "portforward")
    async with session.socket(path, query=[("ports", str(port))], protocols=(PROTOCOL,)) as socket:
        if socket.protocol != PROTOCOL:
            raise Refused(f"{where}: the server does not speak {PROTOCOL}")
        yield PodTunnel(socket, where)
