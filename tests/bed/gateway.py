"""Carries connections from outside the namespace to a port inside it.

A socket belongs to the network namespace it was made in: the bed's owner opens listening sockets outside and
hands them down, and this process, which lives inside, accepts on them and dials loopback. Because the port
number is the same on both sides, one kubeconfig is good in both places.
"""

import asyncio
import socket
import sys

_CHUNK = 256 * 1024


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
    except (ConnectionError, OSError):
        writer.close()


async def _carry(port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port, limit=_CHUNK)
    except OSError:
        writer.close()
        return
    try:
        await asyncio.gather(_pump(reader, inner_writer), _pump(inner_reader, writer))
    finally:
        inner_writer.close()
        writer.close()


async def serve(listeners: dict[int, int]) -> None:
    """`listeners` maps an inherited listening descriptor to the port inside."""
    servers = []
    for descriptor, port in listeners.items():

        async def accept(
            reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int = port
        ) -> None:
            await _carry(port, reader, writer)

        servers.append(
            await asyncio.start_server(accept, sock=socket.socket(fileno=descriptor), limit=_CHUNK)
        )
    await asyncio.gather(*(server.serve_forever() for server in servers))


def main(arguments: list[str]) -> None:
    """Arguments are FD:PORT pairs."""
    pairs = (argument.split(":") for argument in arguments)
    asyncio.run(serve({int(descriptor): int(port) for descriptor, port in pairs}))


if __name__ == "__main__":
    main(sys.argv[1:])
