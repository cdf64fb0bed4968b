"""Port forwarding over a WebSocket: two channels a port, data and error, each begun with the port's number.

Source: Kubernetes 1.36 k8s.io/cri-streaming pkg/streaming/portforward/websocket.go (v4.channel.k8s.io). The
newer way, SPDY inside a WebSocket, is not spoken.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence

from aiohttp import WSCloseCode, WSMsgType, web

from cockpit.sim.actors.kubelet.ports import DialFailed
from cockpit.sim.actors.kubelet.runtime import PortConnection

PROTOCOLS = ("v4.channel.k8s.io",)
_MOST_PORT = (1 << 16) - 1
Dial = Callable[[int], Awaitable[PortConnection]]
"""Connects to a port of the pod. Raises DialFailed."""


def ports_of(words: Sequence[str]) -> tuple[int, ...]:
    """The ports of the `port` parameters. Raises ValueError with the kubelet's sentence."""
    if not words:
        raise ValueError('query parameter "port" is required')
    found = []
    for word in words:
        if not word:
            raise ValueError('query parameter "port" cannot be empty')
        for part in word.split(","):
            is_number = part.isascii() and part.isdecimal()
            if not is_number or int(part) > _MOST_PORT:
                why = "value out of range" if is_number else "invalid syntax"
                told = f'strconv.ParseUint: parsing "{part}": {why}'
                raise ValueError(f'unable to parse "{word}" as a port: {told}')
            if int(part) < 1:
                raise ValueError(f'port "{word}" must be > 0')
            found.append(int(part))
    return tuple(found)


async def forward(request: web.Request, pod: str, ports: Sequence[int], dial: Dial) -> web.StreamResponse:
    """Carry the bytes of every port until all have ended, or the caller is gone."""
    socket = web.WebSocketResponse(protocols=PROTOCOLS, max_msg_size=8 << 20, heartbeat=None)
    await socket.prepare(request)
    lines: dict[int, PortConnection] = {}
    speaking = []
    try:
        for index, port in enumerate(ports):
            number = port.to_bytes(2, "little")
            for channel in (2 * index, 2 * index + 1):
                await socket.send_bytes(bytes((channel,)) + number)
        for index, port in enumerate(ports):
            try:
                lines[2 * index] = await dial(port)
            except DialFailed as failure:
                told = f"error forwarding port {port} to pod {pod}, uid : {failure}"
                await socket.send_bytes(bytes((2 * index + 1,)) + told.encode())
        speaking = [asyncio.create_task(_speak(socket, channel, line)) for channel, line in lines.items()]
        if speaking:
            await _until_over(socket, lines, speaking)
        await socket.close(code=WSCloseCode.OK)
    except ConnectionError:
        pass  # the caller is gone
    finally:
        for task in speaking:
            task.cancel()
        await asyncio.gather(*speaking, return_exceptions=True)
        for line in lines.values():
            line.close()
    return socket


async def _until_over(
    socket: web.WebSocketResponse, lines: dict[int, PortConnection], speaking: Sequence["asyncio.Task[None]"]
) -> None:
    """Until every port has said all, or the caller has gone."""
    listening = asyncio.create_task(_listen(socket, lines))
    all_said = asyncio.ensure_future(asyncio.gather(*speaking, return_exceptions=True))
    try:
        await asyncio.wait((listening, all_said), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (listening, all_said):
            task.cancel()
        await asyncio.gather(listening, all_said, return_exceptions=True)


async def _speak(socket: web.WebSocketResponse, channel: int, line: PortConnection) -> None:
    while data := await line.read():
        await socket.send_bytes(bytes((channel,)) + data)


async def _listen(socket: web.WebSocketResponse, lines: dict[int, PortConnection]) -> None:
    async for message in socket:
        if message.type is not WSMsgType.BINARY:
            return
        line = lines.get(message.data[0]) if message.data else None
        if line is not None and len(message.data) > 1:
            with contextlib.suppress(ConnectionError):
                await line.write(message.data[1:])
