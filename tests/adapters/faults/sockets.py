"""Streams that switch protocols (exec, attach, port-forward over WebSocket) pass a proxy as they are."""

import asyncio
import ssl

import aiohttp
from aiohttp import WSMsgType, web

_OF_THE_HANDSHAKE = ("sec-websocket-", "connection", "upgrade", "host")
Socket = web.WebSocketResponse | aiohttp.ClientWebSocketResponse


async def pass_socket(
    request: web.Request, session: aiohttp.ClientSession, url: str, tls: ssl.SSLContext | bool
) -> web.StreamResponse:
    """Opens the same socket at `url` and carries messages both ways until either end closes.

    A server that refuses the switch is heard with its status.
    """
    asked = request.headers.get("Sec-WebSocket-Protocol", "")
    protocols = tuple(part.strip() for part in asked.split(",") if part.strip())
    kept = {k: v for k, v in request.headers.items() if not k.lower().startswith(_OF_THE_HANDSHAKE)}
    try:
        upstream = await session.ws_connect(
            url, headers=kept, protocols=protocols, ssl=tls, max_msg_size=0, autoclose=False, autoping=False
        )
    except aiohttp.WSServerHandshakeError as error:
        return web.Response(status=error.status, text=error.message)
    async with upstream:
        chosen = (upstream.protocol,) if upstream.protocol else ()
        downstream = web.WebSocketResponse(protocols=chosen, max_msg_size=0, autoclose=False, autoping=False)
        await downstream.prepare(request)
        ways = [
            asyncio.ensure_future(_carry(upstream, downstream)),
            asyncio.ensure_future(_carry(downstream, upstream)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
        await downstream.close(code=upstream.close_code or 1000)
        return downstream


async def _carry(source: Socket, sink: Socket) -> None:
    """Messages from one end to the other, until the source closes."""
    while True:
        message = await source.receive()
        if message.type is WSMsgType.BINARY:
            await sink.send_bytes(message.data)
        elif message.type is WSMsgType.TEXT:
            await sink.send_str(message.data)
        elif message.type is WSMsgType.PING:
            await sink.ping(message.data)
        elif message.type is WSMsgType.PONG:
            await sink.pong(message.data)
        else:
            return
