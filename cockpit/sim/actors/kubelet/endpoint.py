"""The HTTPS endpoint of all kubelets of one actor, on one port: logs, exec, attach, port forwarding, pods,
resource metrics.

Who may speak to it is proved by a client certificate (or a bearer token): shells on this machine hang on it.
SPDY is not spoken: a kube-apiserver hands `kubectl exec` through as a WebSocket from 1.36 on.
"""

import contextlib
import hmac
import logging
import ssl
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from aiohttp import web

from cockpit.sim.actors.kubelet.actor import Kubelets
from cockpit.sim.actors.kubelet.channels import Streams, converse, open_socket, refuse
from cockpit.sim.actors.kubelet.forwarding import forward, ports_of
from cockpit.sim.actors.kubelet.logs import NoLog, find_log, options_from, told
from cockpit.sim.actors.kubelet.metrics import cadvisor_metrics, pod_list, resource_metrics
from cockpit.sim.actors.kubelet.runs import ContainerRun, PodRun
from cockpit.sim.actors.kubelet.runtime import Piece, PortConnection, RunningContainer, StartFailed

_log = logging.getLogger(__name__)
_HALF_OPEN_SECONDS = 32
"""To send a request (Go's server: ReadHeaderTimeout of kube-apiserver), and between two."""


def server_context(certificate: Path, key: Path, client_ca: Path) -> ssl.SSLContext:
    """TLS for the endpoint: callers have to show a certificate that `client_ca` has signed."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(client_ca))
    context.load_cert_chain(certificate, key)
    context.verify_mode = ssl.CERT_REQUIRED
    return context


class KubeletServer:
    """Serves what `kubelets` knows. Raises ValueError where anybody on this machine could come in."""

    def __init__(
        self, kubelets: Kubelets, context: ssl.SSLContext, *, token: str = "", callers: Sequence[str] = ()
    ) -> None:
        """Without `token` the context has to ask for client certificates (`server_context`).

        `callers` are the common names that may come in; without them everybody whom the CA has signed.
        """
        if context.verify_mode is not ssl.CERT_REQUIRED and not token:
            raise ValueError("the kubelet endpoint needs client certificates or a token: it opens shells")
        self._kubelets = kubelets
        self._context = context
        self._token = token
        self._callers = tuple(callers)
        self._runner: web.AppRunner | None = None

    async def start(self, host: str = "", port: int = 0) -> int:
        """Listen; answers the port and tells the kubelets, so do it before the engine starts.

        Raises OSError when the port is taken.
        """
        app = web.Application(middlewares=[self._authorize])
        place = "/{namespace}/{pod}/{container}"
        app.router.add_get("/containerLogs" + place, self._logs)
        for verb, handler in (("exec", self._exec), ("attach", self._attach)):
            for path in (f"/{verb}{place}", f"/{verb}/{{namespace}}/{{pod}}/{{uid}}/{{container}}"):
                app.router.add_get(path, handler)
                app.router.add_post(path, handler)
        for path in ("/portForward/{namespace}/{pod}", "/portForward/{namespace}/{pod}/{uid}"):
            app.router.add_get(path, self._port_forward)
            app.router.add_post(path, self._port_forward)
        app.router.add_get("/pods", self._pods)
        app.router.add_get("/metrics/resource", self._metrics)
        app.router.add_get("/metrics/cadvisor", self._cadvisor)
        app.router.add_get("/healthz", self._healthz)
        self._runner = web.AppRunner(
            app,
            access_log=None,
            handle_signals=False,
            shutdown_timeout=0.5,
            keepalive_timeout=_HALF_OPEN_SECONDS,
            auto_decompress=False,
        )
        await self._runner.setup()
        endpoint = self._kubelets.endpoint
        site = web.TCPSite(self._runner, host or endpoint.host, port, ssl_context=self._context)
        await site.start()
        endpoint.port = int(self._runner.addresses[0][1])
        return endpoint.port

    async def stop(self) -> None:
        """Stop listening; open streams are cut."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    @web.middleware
    async def _authorize(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        if self._token:
            given = request.headers.get("Authorization", "").removeprefix("Bearer ")
            if not hmac.compare_digest(given.encode(), self._token.encode()):
                return web.Response(status=401, text="Unauthorized")
        if self._callers and _caller(request) not in self._callers:
            return web.Response(status=403, text=f"Forbidden (user={_caller(request)})")
        return await handler(request)

    def _pod(self, request: web.Request) -> PodRun:
        """The pod of a path. Raises HTTP errors with the kubelet's sentences."""
        namespace, name = request.match_info["namespace"], request.match_info["pod"]
        run = self._kubelets.run_of(namespace, name)
        if run is None:
            raise web.HTTPNotFound(text=f'pod "{name}" does not exist')
        if self._kubelets.nodes[run.node].is_out:
            raise web.HTTPServiceUnavailable(text=f"the kubelet of node {run.node} is out")
        return run

    def _find(self, request: web.Request) -> tuple[PodRun, ContainerRun]:
        """The pod and container of a path. Raises HTTP errors with the kubelet's sentences."""
        container = request.match_info["container"]
        run = self._pod(request)
        one = run.container(container)
        if one is None:
            raise web.HTTPNotFound(text=f'container "{container}" not found in pod "{run.name}"')
        return run, one

    async def _logs(self, request: web.Request) -> web.StreamResponse:
        try:
            options = options_from(request.query)
        except ValueError:
            return web.Response(status=422, text='{"message": "Invalid request."}')
        run, one = self._find(request)
        try:
            log = find_log(run, one, previous=options.previous)
        except NoLog as refusal:
            return web.Response(status=400, text=str(refusal))
        response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        response.enable_chunked_encoding()
        await response.prepare(request)
        with contextlib.suppress(ConnectionResetError):
            async for piece in told(log, options, self._kubelets.engine.now()):
                await response.write(piece)
            await response.write_eof()
        return response

    async def _exec(self, request: web.Request) -> web.StreamResponse:
        run, one = self._find(request)
        command = request.query.getall("command", [])
        running = _speakable(request, one)
        if not command:
            raise web.HTTPBadRequest(text="you must specify at least 1 command")
        streams = _streams(request)
        runtime = self._kubelets.runtime_of(run)
        socket = await open_socket(request, streams)
        try:
            session = await runtime.open(running, command, is_tty=streams.tty, has_stdin=streams.stdin)
        except StartFailed as failure:
            await refuse(socket, str(failure))
            return socket
        await converse(socket, session, streams)
        return socket

    async def _attach(self, request: web.Request) -> web.StreamResponse:
        _, one = self._find(request)
        running = _speakable(request, one)
        streams = _streams(request)
        socket = await open_socket(request, streams)
        await converse(socket, _Attached(one, running, self._kubelets.engine.now()), streams)
        return socket

    async def _port_forward(self, request: web.Request) -> web.StreamResponse:
        if request.headers.get("Upgrade", "").lower() != "websocket":
            raise web.HTTPBadRequest(
                text="this kubelet forwards over WebSockets (v4.channel.k8s.io), not SPDY"
            )
        try:
            ports = ports_of(request.query.getall("port", []))
        except ValueError as error:
            raise web.HTTPBadRequest(text=str(error)) from None
        run = self._pod(request)
        runtime = self._kubelets.runtime_of(run)

        async def dial(port: int) -> PortConnection:
            now = self._kubelets.engine.now()
            running = [(one.name, one.running) for one in run.containers if one.running is not None]
            return await runtime.dial(run.pod, running, port, now)

        return await forward(request, run.name, ports, dial)

    async def _pods(self, request: web.Request) -> web.Response:
        return web.json_response(pod_list(self._kubelets, request.query.get("node", "")))

    async def _metrics(self, request: web.Request) -> web.Response:
        text = resource_metrics(self._kubelets, request.query.get("node", ""))
        return web.Response(text=text, headers={"Content-Type": "text/plain; version=0.0.4"})

    async def _cadvisor(self, request: web.Request) -> web.Response:
        text = cadvisor_metrics(self._kubelets, request.query.get("node", ""))
        return web.Response(text=text, headers={"Content-Type": "text/plain; version=0.0.4"})

    async def _healthz(self, request: web.Request) -> web.Response:
        return web.Response(text="ok")


def _caller(request: web.Request) -> str:
    """The common name of the certificate that the caller has shown, "" without one."""
    transport = request.transport
    certificate = transport.get_extra_info("peercert") if transport is not None else None
    for part in (certificate or {}).get("subject", ()):
        for key, value in part:
            if key == "commonName":
                return str(value)
    return ""


def _speakable(request: web.Request, one: ContainerRun) -> RunningContainer:
    """The running container, asked for by WebSocket. Raises HTTP errors."""
    if request.headers.get("Upgrade", "").lower() != "websocket":
        raise web.HTTPBadRequest(text="this kubelet speaks WebSockets (v5.channel.k8s.io), not SPDY")
    if one.running is None:
        raise web.HTTPInternalServerError(text=f'container not found ("{one.name}")')
    return one.running


def _streams(request: web.Request) -> Streams:
    """From the kubelet's words (`input`, `output`, `error`) or the API server's."""

    def _asks(*names: str) -> bool:
        return any(request.query.get(name, "").lower() in ("1", "true", "t") for name in names)

    tty = _asks("tty")
    return Streams(
        stdin=_asks("input", "stdin"),
        stdout=_asks("output", "stdout"),
        stderr=_asks("error", "stderr") and not tty,
        tty=tty,
    )


class _Attached:
    """An attach: what the container writes from now on, and its input."""

    def __init__(self, one: ContainerRun, running: RunningContainer, now: float) -> None:
        self._one = one
        self._running = running
        self._lines = running.log.follow(now)

    async def read(self) -> Piece | None:
        """The next line."""
        async for line in self._lines:
            return line.stream, line.text + (b"" if line.is_partial else b"\n")
        return None

    def write(self, data: bytes) -> None:
        """Input, where the container has one."""
        if self._one.spec.get("stdin"):
            self._running.write(data)

    async def drain(self) -> None:
        """What a container does not read is kept by its pipe."""

    def close_input(self) -> None:
        """The container's input stays open (`stdinOnce` is not modelled)."""

    def resize(self, width: int, height: int) -> None:
        """Containers have no terminal of their own here."""

    async def wait(self) -> int:
        """Attach ends well, whatever the container's code."""
        return 0

    async def end(self) -> None:
        """The container lives on."""
