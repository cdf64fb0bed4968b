"""Sockets, headers and proxies of the connections to an API server."""

import asyncio
import socket
import string
import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from multidict import CIMultiDict

from cockpit.errors import NoConnection
from cockpit.kube.failures import host_of
from cockpit.model.acts_as import ActsAs

_TOKEN_LETTERS = frozenset(string.ascii_letters + string.digits + "!#$&'*+-.^_`|~")
"""Letters of a header's name (RFC 9110, `token`), without the mark of percent-encoding."""

KEEPALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 3}
"""A dead peer is noticed after 75 s even where no byte is due (client-go: ping after 30 s, 15 s patience)."""


LUMP_BYTES = 128 << 10
LUMP_FROM_BYTES = 16 << 10
LUMP_SECONDS = 0.004
"""Longest wait for more bytes where less than a full read has arrived, and only after a full one."""


def headers_for(
    user_agent: str, server: str, acts_as: ActsAs | None = None, *, is_compressed: bool = True
) -> CIMultiDict[str]:
    """What every request of a connection carries: its agent, and whom it acts as.

    Compression saves time on every link slower than about 5 Gb/s, so on all but loopback.
    """
    headers = CIMultiDict({"User-Agent": user_agent})
    if not is_compressed or urlsplit(server).hostname in ("127.0.0.1", "::1", "localhost"):
        headers["Accept-Encoding"] = "identity"
    if acts_as is not None:
        headers.extend(_impersonating(acts_as))
    return headers


def _impersonating(acts_as: ActsAs) -> Iterator[tuple[str, str]]:
    """The headers by which client-go asks to act as another user (transport/round_trippers.go)."""
    yield "Impersonate-User", acts_as.user
    if acts_as.uid:
        yield "Impersonate-Uid", acts_as.uid
    for group in acts_as.groups:
        yield "Impersonate-Group", group
    for key, values in acts_as.extra:
        # what no header name can hold, and the mark of such a byte itself, is percent-encoded
        name = "".join(
            chr(byte) if chr(byte) in _TOKEN_LETTERS else f"%{byte:02X}" for byte in key.encode("utf-8")
        )
        for value in values:
            yield f"Impersonate-Extra-{name}", value


def open_socket(address: Any) -> Any:
    """A socket with TCP keep-alive, so that a peer that vanished is noticed."""
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in KEEPALIVE.items():
        if hasattr(socket, name):
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return made


def proxy_for(server: str, configured: str | None) -> str | None:
    """The proxy of a server: `proxy-url` of its cluster, else HTTPS_PROXY and NO_PROXY of the environment.

    Raises NoConnection for a kind of proxy that cannot be used.
    """
    parts = urlsplit(server)
    proxy = configured
    if not proxy:
        found = getproxies()
        proxy = found.get(parts.scheme) or found.get("all")
        if not proxy or proxy_bypass(parts.netloc):
            return None
    if "://" not in proxy:
        proxy = f"http://{proxy}"
    if not proxy.startswith(("http://", "https://")):
        raise NoConnection(
            f"A {proxy.partition(':')[0]} proxy cannot be used for {host_of(server)}; give an HTTP proxy."
        )
    return proxy


class SocketBuffer:
    """Lets the kernel wake us once for many bytes while a stream pours (SO_RCVLOWAT).

    A server writes records of 4 KB, and a reader who has time is woken for every other one: 35,000 times for
    a list of 324 MB, which costs 0.95 s of CPU; the same bytes in 1,800 lumps cost 0.37 s.
    """

    def __init__(self, transport: asyncio.BaseTransport) -> None:
        self._socket: Any = transport.get_extra_info("socket") if sys.platform == "linux" else None
        self._timer: asyncio.TimerHandle | None = None
        self._has_come = False

    def came(self, size: int) -> None:
        """Note the bytes of one read."""
        self._has_come = True
        if size >= LUMP_FROM_BYTES and self._timer is None and self._wake_at(LUMP_BYTES):
            self._look_later()

    def stop(self) -> None:
        """Nothing more is read."""
        self._socket = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look_later(self) -> None:
        self._has_come = False
        self._timer = asyncio.get_running_loop().call_later(LUMP_SECONDS, self._look)

    def _look(self) -> None:
        """As long as lumps come nothing changes; else what there is must not wait any longer."""
        if self._has_come:
            self._look_later()
        else:
            self._timer = None
            self._wake_at(1)

    def _wake_at(self, size: int) -> bool:
        if self._socket is None:
            return False
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, size)
        except OSError:  # it is closed, or of a kind that cannot
            self._socket = None
        return self._socket is not None
