"""Probes that really look: a command, a TCP connection, an HTTP request.

Source of the sentences: Kubernetes 1.36 pkg/probe/{exec,http,tcp} and pkg/kubelet/prober/prober.go.
"""

import asyncio
import contextlib
import ssl
from collections.abc import Awaitable, Callable
from typing import Any

from cockpit.sim.actors.kubelet.runtime import ProbeResult, StartFailed
from cockpit.sim.loopback import is_loopback
from cockpit.sim.port import Tree

RunCommand = Callable[[list[str], float], Awaitable[tuple[int, bytes]]]
_HOST = "127.0.0.1"


async def run_probe(probe: Tree, container: Tree, run: RunCommand) -> ProbeResult:
    """Run one probe within its timeout; never raises."""
    seconds = float(probe.get("timeoutSeconds") or 1)
    try:
        if "exec" in probe:
            return await _exec(probe["exec"], run, seconds)
        async with asyncio.timeout(seconds):
            if "httpGet" in probe:
                return await _http(probe["httpGet"], container)
            if "tcpSocket" in probe:
                return await _tcp(probe["tcpSocket"], container)
    except TimeoutError:
        return ProbeResult(is_success=False, text=f"probe timed out after {seconds:g}s")
    except (OSError, StartFailed) as error:
        return ProbeResult(is_success=False, text=str(error))
    return ProbeResult(is_success=False, text="this runtime runs exec, httpGet and tcpSocket probes only")


async def _exec(spec: Tree, run: RunCommand, seconds: float) -> ProbeResult:
    # A Python starts before the command does; that is our time, not the probe's.
    command = [str(one) for one in spec.get("command", ())]
    try:
        code, output = await run(command, seconds + 1.0)
    except TimeoutError:
        words = " ".join(command)
        return ProbeResult(
            is_success=False, text=f'command timed out: "{words}" timed out after {seconds:g}s'
        )
    return ProbeResult(is_success=code == 0, text=output.decode("utf-8", "replace"))


def _port(wanted: Any, container: Tree) -> int:
    for one in container.get("ports", ()):
        if one.get("name") == wanted:
            return int(one["containerPort"])
    with contextlib.suppress(ValueError):
        return int(wanted)
    raise OSError(f"couldn't find port: {wanted}")


def _host(spec: Tree, port: int) -> str:
    """Where a probe looks: this machine alone, on which all pods run. Raises OSError for another host."""
    host = str(spec.get("host") or _HOST)
    if host == "localhost":
        return _HOST
    if not is_loopback(host):
        raise OSError(f"dial tcp {host}:{port}: connect: no route to host")
    return host


async def _tcp(spec: Tree, container: Tree) -> ProbeResult:
    port = _port(spec.get("port"), container)
    host = _host(spec, port)
    try:
        _, writer = await asyncio.open_connection(host, port)
    except OSError:
        return ProbeResult(is_success=False, text=f"dial tcp {host}:{port}: connect: connection refused")
    writer.close()
    return ProbeResult(is_success=True)


async def _http(spec: Tree, container: Tree) -> ProbeResult:
    port = _port(spec.get("port"), container)
    path = spec.get("path") or "/"
    host = _host(spec, port)
    scheme = str(spec.get("scheme") or "HTTP").lower()
    context = None
    if scheme == "https":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # as the kubelet does
    try:
        reader, writer = await asyncio.open_connection(host, port, ssl=context)
    except OSError:
        text = f'Get "{scheme}://{host}:{port}{path}": dial tcp {host}:{port}: connect: connection refused'
        return ProbeResult(is_success=False, text=text)
    try:
        headers = {"Host": f"{host}:{port}", "User-Agent": "kube-probe/1.36", "Connection": "close"}
        headers |= {one["name"]: one["value"] for one in spec.get("httpHeaders", ())}
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        writer.write(f"GET {path} HTTP/1.1\r\n{lines}\r\n".encode())
        await writer.drain()
        words = (await reader.readline()).split()
        code = int(words[1]) if len(words) > 1 and words[1].isdigit() else 0
    finally:
        writer.close()
    if 200 <= code < 400:
        return ProbeResult(is_success=True)
    return ProbeResult(is_success=False, text=f"HTTP probe failed with statuscode: {code}")
