"""The faults that can be asked for: functions of one exchange, made by functions of their numbers."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from cockpit.sim.faults.exchange import Exchange, Fault

Pause = Callable[[float], Awaitable[None]]
"""Lets so many seconds pass."""

JSON = "application/json"
PROTOBUF_STREAM = "application/vnd.kubernetes.protobuf;stream=watch"
HTML = (
    b"<!DOCTYPE html><html><body><h1>Sign in</h1><p>Your session with the proxy has ended.</p></body></html>"
)


def status_object(code: int, reason: str, message: str) -> dict[str, Any]:
    """A metav1.Status, as a server writes it."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }


def status(
    code: int, *, reason: str = "", message: str = "injected", retry_after_seconds: int | None = None
) -> Fault:
    """An HTTP status with a Status body."""

    async def fault(exchange: Exchange) -> None:
        headers = {} if retry_after_seconds is None else {"Retry-After": str(retry_after_seconds)}
        body = json.dumps(status_object(code, reason, message)).encode()
        await exchange.answer(code, JSON, body, headers)

    return fault


def bare(code: int, body: bytes = b"", content_type: str = "text/plain") -> Fault:
    """An HTTP status without a Status body, as load balancers send."""

    async def fault(exchange: Exchange) -> None:
        await exchange.answer(code, content_type, body)

    return fault


def html() -> Fault:
    """A log-in page with status 200: what a proxy in between sends."""
    return bare(200, HTML, "text/html; charset=utf-8")


def empty_stream(content_type: str = JSON) -> Fault:
    """Status 200 and nothing else: the stream closes at once."""
    return bare(200, b"", content_type)


def error_event(code: int, reason: str, message: str) -> Fault:
    """Status 200, then one ERROR event in JSON, then the end."""
    line = json.dumps({"type": "ERROR", "object": status_object(code, reason, message)}).encode() + b"\n"
    return bare(200, line, JSON)


def refuse() -> Fault:
    """The connection is dropped before any answer."""

    async def fault(exchange: Exchange) -> None:
        exchange.abort()

    return fault


def lost_answer() -> Fault:
    """The server does what it was asked; the connection drops before its answer is heard."""

    async def fault(exchange: Exchange) -> None:
        await exchange.whole()
        exchange.abort()

    return fault


def delay(seconds: float, pause: Pause = asyncio.sleep) -> Fault:
    """The server's answer, begun `seconds` later."""

    async def fault(exchange: Exchange) -> None:
        await pause(seconds)
        await exchange.forward()

    return fault


def cut(after_bytes: int, *, orderly: bool = False) -> Fault:
    """The first `after_bytes` of the body, then the connection drops (`orderly`: it ends as if whole)."""

    async def fault(exchange: Exchange) -> None:
        left = after_bytes
        if not left:
            await exchange.begin(200, PROTOBUF_STREAM)
            exchange.abort()
            return

        async def each(piece: bytes) -> None:
            nonlocal left
            await exchange.write(piece[:left])
            left -= len(piece)
            if left <= 0:
                raise ConnectionAbortedError

        try:
            await exchange.forward(each)
        except ConnectionAbortedError:
            if not orderly:
                exchange.abort()

    return fault


def silence(after_bytes: int) -> Fault:
    """The first `after_bytes` of the body, then nothing while the connection stays open."""

    async def fault(exchange: Exchange) -> None:
        left = after_bytes

        async def each(piece: bytes) -> None:
            nonlocal left
            if left > 0:
                await exchange.write(piece[:left])
            left -= len(piece)

        await exchange.forward(each)
        await asyncio.Event().wait()

    return fault


def hang() -> Fault:
    """A half-open connection: the request is taken, and nothing is ever answered."""

    async def fault(exchange: Exchange) -> None:
        await asyncio.Event().wait()

    return fault


def drip(piece_bytes: int) -> Fault:
    """The body in tiny pieces, each flushed alone: every frame is torn apart."""

    async def fault(exchange: Exchange) -> None:
        async def each(piece: bytes) -> None:
            for at in range(0, len(piece), piece_bytes):
                await exchange.write(piece[at : at + piece_bytes])
                await asyncio.sleep(0)

        await exchange.forward(each)

    return fault


def trickle(piece_bytes: int, pause_seconds: float) -> Fault:
    """The body in pieces with a pause after each."""

    async def fault(exchange: Exchange) -> None:
        async def each(piece: bytes) -> None:
            for at in range(0, len(piece), piece_bytes):
                await exchange.write(piece[at : at + piece_bytes])
                await asyncio.sleep(pause_seconds)

        await exchange.forward(each)

    return fault


def as_json(then: Fault | None = None) -> Fault:
    """Asks the server for JSON whatever the reader asked for, as an intermediary that knows only JSON."""

    async def fault(exchange: Exchange) -> None:
        exchange.headers["Accept"] = JSON
        await (then(exchange) if then is not None else exchange.forward())

    return fault


def lines(change: Callable[[int, bytes], list[bytes]]) -> Fault:
    """JSON lines, each given to `change` with its number from 0; the answer is the lines that go on.

    The server is asked for JSON.
    """

    async def fault(exchange: Exchange) -> None:
        exchange.headers["Accept"] = JSON
        rest = b""
        number = 0

        async def each(piece: bytes) -> None:
            nonlocal rest, number
            *whole, rest = (rest + piece).split(b"\n")
            for line in whole:
                for one in change(number, line):
                    await exchange.write(one + b"\n")
                number += 1

        await exchange.forward(each)

    return fault


def objects(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Fault:
    """JSON watch events, each object given to `change`."""

    def each(number: int, line: bytes) -> list[bytes]:
        event = json.loads(line)
        event["object"] = change(event["object"])
        return [json.dumps(event).encode()]

    return lines(each)


def listed(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Fault:
    """A plain JSON list, whose tree is given to `change`."""

    async def fault(exchange: Exchange) -> None:
        exchange.headers["Accept"] = JSON
        answer = await exchange.whole()
        body = json.dumps(change(json.loads(answer.body))).encode()
        await exchange.answer(answer.status, JSON, body)

    return fault


def frames(change: Callable[[int, bytes], bytes]) -> Fault:
    """Length-prefixed protobuf frames; `change` turns number and payload into the bytes that are sent."""

    async def fault(exchange: Exchange) -> None:
        rest = b""
        number = 0

        async def each(piece: bytes) -> None:
            nonlocal rest, number
            rest += piece
            while len(rest) >= 4 and len(rest) >= 4 + (size := int.from_bytes(rest[:4], "big")):
                payload, rest = rest[4 : 4 + size], rest[4 + size :]
                await exchange.write(change(number, payload))
                number += 1

        await exchange.forward(each)

    return fault


def framed(payload: bytes) -> bytes:
    """A payload behind its 4-byte length."""
    return len(payload).to_bytes(4, "big") + payload


def mislabelled(content_type: str) -> Fault:
    """The server's own body under a wrong content type."""

    async def fault(exchange: Exchange) -> None:
        await exchange.forward(content_type=content_type)

    return fault


def asking(**query: str | None) -> Fault:
    """The request with other query parameters (None: without it), and the server's honest answer to that."""

    async def fault(exchange: Exchange) -> None:
        for name, value in query.items():
            if value is None:
                exchange.query.pop(name, None)
            else:
                exchange.query[name] = value
        await exchange.forward()

    return fault


def without_streaming_lists() -> Fault:
    """A server too old for sendInitialEvents: 422 in its words, everything else as it is."""

    async def fault(exchange: Exchange) -> None:
        if exchange.seen.query.get("sendInitialEvents"):
            message = (
                'ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden: '
                "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"
            )
            await status(422, reason="Invalid", message=message)(exchange)
        else:
            await exchange.forward()

    return fault
