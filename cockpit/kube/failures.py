"""Transport failures in one sentence that names the server and the remedy."""

import asyncio
import os
import ssl
from urllib.parse import urlsplit

from cockpit.errors import NoConnection, shortage_of
from cockpit.kube.authorities import aiohttp
from cockpit.sanitise import clean


class Unreachable(NoConnection):
    """The server did not answer, or the connection broke; trying again later may work."""

    can_retry = True


class Silent(Unreachable):
    """Nothing was heard for longer than the server may keep silent."""


class Distrusted(Unreachable):
    """TLS failed: the server's certificate, or a file that the kubeconfig names, may be mended meanwhile."""


def host_of(server: str) -> str:
    """`host:port` of a base URL."""
    parts = urlsplit(server)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return f"{parts.hostname or server}:{port}"


def explain(error: BaseException, server: str, via: str = "") -> NoConnection:
    """The NoConnection for what aiohttp or ssl raised. `via` is the proxy's URL, if one is used."""
    where = host_of(server) + (f" through the proxy {host_of(via)}" if via else "")
    if short := shortage_of(error):
        return Unreachable(f"{where} cannot be asked: {short}.")
    if isinstance(error, aiohttp.ClientConnectorCertificateError | ssl.SSLCertVerificationError):
        cause = getattr(error, "certificate_error", error)
        reason = clean(getattr(cause, "verify_message", "") or str(cause), 200)
        return Distrusted(
            f"TLS: the certificate of {where} is not trusted ({reason}); "
            "check certificate-authority and server in the kubeconfig.",
            is_unsent=True,
        )
    if isinstance(error, aiohttp.ClientConnectorSSLError | ssl.SSLError):
        inner = getattr(error, "os_error", error)
        reason = clean(getattr(inner, "reason", "") or str(inner), 160)
        return Distrusted(
            f"TLS with {where} failed ({reason}); check the server URL and the client certificate.",
            is_unsent=isinstance(error, aiohttp.ClientConnectorSSLError),
        )
    if isinstance(error, aiohttp.ClientProxyConnectionError | aiohttp.ClientHttpProxyError):
        return Unreachable(
            f"The proxy for {host_of(server)} cannot be used; check proxy-url and HTTPS_PROXY.",
            is_unsent=True,
        )
    if isinstance(error, aiohttp.ServerTimeoutError | asyncio.TimeoutError):
        return Unreachable(
            f"{where} does not answer in time; check the network, VPN or firewall.",
            is_unsent=isinstance(error, aiohttp.ConnectionTimeoutError),
        )
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return Unreachable(
            f"The name of {where} cannot be resolved; check the server URL in the kubeconfig, or VPN.",
            is_unsent=True,
        )
    if isinstance(error, aiohttp.ClientConnectorError):
        number = error.os_error.errno  # asyncio's own text repeats the address
        reason = clean(os.strerror(number) if number and number > 0 else str(error.os_error), 120)
        return Unreachable(
            f"{where} cannot be reached ({reason}); is the cluster running, is a VPN needed?", is_unsent=True
        )
    if isinstance(error, aiohttp.ClientPayloadError | aiohttp.ServerDisconnectedError):
        return Unreachable(f"The connection to {where} was cut.")
    if isinstance(error, aiohttp.InvalidURL):
        return NoConnection(
            f"The server URL {clean(server, 200)!r} cannot be used; fix it in the kubeconfig.",
            is_unsent=True,
        )
    return Unreachable(f"The connection to {where} broke ({clean(str(error), 120) or type(error).__name__}).")
