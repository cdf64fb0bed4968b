"""Where the embedded cluster may connect to: its addresses are invented, and others' on a real network."""

import ipaddress
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aiohttp.abc import AbstractResolver, ResolveResult

Listens = Callable[[str, int], bool]
"""Whether something of this cluster listens at a host and port of this machine."""


def is_loopback(host: str) -> bool:
    """True for an address of this machine's loopback; a name is none, whatever it would resolve to."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def on_loopback(host: str, port: int) -> bool:
    """The rule of a server that knows no cluster: whatever listens on this machine's loopback."""
    return is_loopback(host)


def socket_factory(listens: Listens) -> Callable[..., socket.socket]:
    """For aiohttp's connector: makes sockets for what `listens` knows, raises OSError for anything else."""

    def make(info: tuple[int, int, int, str, tuple[object, ...]]) -> socket.socket:
        family, kind, proto, _, address = info
        host, port = str(address[0]), int(str(address[1]))
        if not (is_loopback(host) and listens(host, port)):
            raise OSError("connect: no route to host")
        return socket.socket(family, kind, proto)

    return make


def no_resolver() -> "AbstractResolver":
    """For aiohttp's connector: no name of the cluster is looked up anywhere."""
    from aiohttp.abc import AbstractResolver

    class NoResolver(AbstractResolver):
        async def resolve(self, host: str, port: int = 0, family: int = 0) -> "list[ResolveResult]":
            raise OSError(f"lookup {host}: no such host")

        async def close(self) -> None:
            """Holds nothing."""

    return NoResolver()
