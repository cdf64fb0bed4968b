"""Sockets, headers and proxies of the connections to an API server."""

from typing import Any
from urllib.parse import urlsplit

from cockpit.errors import NoConnection
from cockpit.kube.failures import host_of

KEEPALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 3}
"""A dead peer is noticed after 75 s even where no byte is due (client-go: ping after 30 s, 15 s patience)."""


def headers_for(user_agent: str, server: str) -> dict[str, str]:
    """Compression saves time on every link slower than about 5 Gb/s, so on all but loopback."""
    headers = {"User-Agent": user_agent}
    if urlsplit(server).hostname in ("127.0.0.1", "::1", "localhost"):
        headers["Accept-Encoding"] = "identity"
    return headers


def open_socket(address: Any) -> Any:
    """A socket with TCP keep-alive, so that a peer that vanished is noticed."""
    import socket

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
    from urllib.request import getproxies, proxy_bypass

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
