"""Exec and attach over a WebSocket: one byte of channel before each piece (v4 and v5.channel.k8s.io).

Source: Kubernetes 1.36 k8s.io/apimachinery/pkg/util/remotecommand/constants.go; a kube-apiserver hands
WebSockets through to nodes that declare the feature ExtendWebSocketsToKubelet (KEP-4006).
"""

import asyncio
import contextlib
import json

import msgspec
from aiohttp import WSCloseCode, WSMsgType, web

from cockpit.sim.actors.kubelet.runtime import STDERR, STDOUT, ExecSession

PROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io")
STDIN_CHANNEL, STDOUT_CHANNEL, STDERR_CHANNEL, ERROR_CHANNEL, RESIZE_CHANNEL = range(5)
CLOSE_CHANNEL = 255
_CHANNELS = {STDOUT: STDOUT_CHANNEL, STDERR: STDERR_CHANNEL}


class Streams(msgspec.Struct, frozen=True):
    """Which streams the caller wants."""

    stdin: bool
    stdout: bool
    stderr: bool
    tty: bool


def success() -> bytes:
    """The Status of a command that ended well."""
    return json.dumps({"metadata": {}, "status": "Success"}).encode()


def exit_status(code: int) -> bytes:
    """The Status of a command that ended with a code."""
    if code == 0:
        return success()
    return json.dumps(
        {
            "metadata": {},
            "status": "Failure",
            "message": f"command terminated with non-zero exit code: exit status {code}",
            "reason": "NonZeroExitCode",
            "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
        }
    ).encode()


def internal_error(sentence: str) -> bytes:
    """The Status of a command that could not be run."""
    return json.dumps(
        {
            "metadata": {},
            "status": "Failure",
            "message": f"Internal error occurred: error executing command in container: {sentence}",
            "reason": "InternalError",
            "details": {"causes": [{"message": f"error executing command in container: {sentence}"}]},
            "code": 500,
        }
    ).encode()


async def open_socket(request: web.Request, streams: Streams) -> web.WebSocketResponse:
    """Accept the WebSocket and say that it stands (an empty piece on the first channel)."""
    socket = web.WebSocketResponse(protocols=PROTOCOLS, max_msg_size=8 << 20, heartbeat=None)
    await socket.prepare(request)
    first = STDOUT_CHANNEL if streams.stdout else STDERR_CHANNEL if streams.stderr else ERROR_CHANNEL
    await socket.send_bytes(bytes((first,)))
    return socket


async def refuse(socket: web.WebSocketResponse, sentence: str) -> None:
    """Tell that nothing could be run, and close."""
    await socket.send_bytes(bytes((ERROR_CHANNEL,)) + internal_error(sentence))
    await socket.close(code=WSCloseCode.OK)


async def converse(socket: web.WebSocketResponse, session: ExecSession, streams: Streams) -> None:
    """Carry the streams until the command has ended or the caller is gone."""
    listening = asyncio.create_task(_listen(socket, session, streams))
    speaking = asyncio.create_task(_speak(socket, session, streams))
    try:
        await asyncio.wait((listening, speaking), return_when=asyncio.FIRST_COMPLETED)
        if speaking.done() and not speaking.exception():
            await socket.close(code=WSCloseCode.OK)
    finally:
        for task in (listening, speaking):
            task.cancel()
        await asyncio.gather(listening, speaking, return_exceptions=True)
        await session.end()


async def _speak(socket: web.WebSocketResponse, session: ExecSession, streams: Streams) -> None:
    wanted = {STDOUT: streams.stdout, STDERR: streams.stderr}
    while (piece := await session.read()) is not None:
        stream, data = piece
        if wanted[stream]:
            await socket.send_bytes(bytes((_CHANNELS[stream],)) + data)
    code = await session.wait()
    await socket.send_bytes(bytes((ERROR_CHANNEL,)) + exit_status(code))


async def _listen(socket: web.WebSocketResponse, session: ExecSession, streams: Streams) -> None:
    async for message in socket:
        if message.type is WSMsgType.BINARY:
            data: bytes = message.data
        elif message.type is WSMsgType.TEXT:
            data = message.data.encode()
        else:
            return
        if not data:
            continue
        channel, rest = data[0], data[1:]
        if channel == STDIN_CHANNEL and streams.stdin:
            session.write(rest)
            await session.drain()
        elif channel == RESIZE_CHANNEL:
            with contextlib.suppress(ValueError, KeyError, TypeError):
                size = json.loads(rest)
                session.resize(int(size["Width"]), int(size["Height"]))
        elif channel == CLOSE_CHANNEL and rest[:1] == bytes((STDIN_CHANNEL,)):
            session.close_input()
