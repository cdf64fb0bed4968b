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
