"""A guard over the connecting layer of this process: nothing leaves loopback, no name is looked up."""

import ipaddress
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


@contextmanager
def only_loopback() -> Iterator[list[str]]:
    """Gives the list of what was tried and refused: connections elsewhere, datagrams elsewhere, names."""
    tried: list[str] = []

    def check(what: str, address: object) -> None:
        host = str(address[0]) if isinstance(address, tuple) else ""
        if not host:
            return  # a socket of the file system
        try:
            is_here = ipaddress.ip_address(host).is_loopback
        except ValueError:
            is_here = False
        if not is_here:
            tried.append(f"{what} {address}")
            raise ConnectionRefusedError(111, f"the guard lets nothing leave: {address}")

    def connect(self: socket.socket, address: Any) -> None:
        check("connect", address)
        super(socket.socket, self).connect(address)

    def connect_ex(self: socket.socket, address: Any) -> int:
        check("connect", address)
        return super(socket.socket, self).connect_ex(address)

    def sendto(self: socket.socket, data: Any, *rest: Any) -> int:
        check("sendto", rest[-1])
        return super(socket.socket, self).sendto(data, *rest)

    real = socket.getaddrinfo

    def getaddrinfo(host: Any, *rest: Any, **more: Any) -> Any:
        if host is not None:
            check("lookup", (host.decode() if isinstance(host, bytes) else host,))
        return real(host, *rest, **more)

    with pytest.MonkeyPatch.context() as patch:
        for made in (connect, connect_ex, sendto):
            patch.setattr(socket.socket, made.__name__, made)
        patch.setattr(socket, "getaddrinfo", getaddrinfo)
        yield tried
