"""What only the node of a pod can answer: its log, commands in its containers, and its ports."""

import asyncio
from collections.abc import Iterable
from urllib.parse import quote

import aiohttp
import yarl
from aiohttp import web

from cockpit.kube.resource import NODES, PODS
from cockpit.sim.loopback import is_loopback
from cockpit.sim.port import PortError, Tree
from cockpit.sim.server.http.answers import COMMON
from cockpit.sim.server.http.server_context import ApiRequest, ServerContext
from cockpit.sim.server.http.statuses import unavailable
from cockpit.sim.server.refusals import bad_request, not_found

_LOG_QUERY = (
    "follow",
    "previous",
    "sinceSeconds",
    "sinceTime",
    "timestamps",
    "tailLines",
    "limitBytes",
    "stream",
)
_RUN_QUERY = {"stdin": "input", "stdout": "output", "stderr": "error", "tty": "tty"}
_PROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io")
_FORWARD_PROTOCOLS = ("v4.channel.k8s.io",)
_NO_SPDY = (
    "this embedded cluster forwards ports over WebSocket (v4.channel.k8s.io), not over SPDY as kubectl does: "
    "use `cockpit job tensorboard JOB --port PORT`"
)
_PIECE_BYTES = 64 * 1024
_MOST_MESSAGE_BYTES = 8 * 1024 * 1024
_DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"
_KUBELET_PORT = 10250


def _pod(context: ServerContext, asked: ApiRequest) -> Tree:
    stored = context.operations.storage.get(PODS, asked.target.namespace, asked.target.name)
    if stored is None:
        raise not_found(PODS, asked.target.name)
    return stored.tree


def _names(spec: Tree, part: str) -> list[str]:
    return [one["name"] for one in spec.get(part) or ()]


def container_of(pod: Tree, wanted: str, *, heed_annotation: bool = False) -> str:
    """The container that is meant. Raises PortError 400 where it is not clear or not there."""
    spec, name = pod["spec"], pod["metadata"]["name"]
    plain, first = _names(spec, "containers"), _names(spec, "initContainers")
    if not wanted and heed_annotation:
        wanted = (pod["metadata"].get("annotations") or {}).get(_DEFAULT_CONTAINER, "")
    if wanted:
        if wanted not in (*plain, *first, *_names(spec, "ephemeralContainers")):
            raise bad_request(f"container {wanted} is not valid for pod {name}")
        return wanted
    if len(plain) == 1:
        return plain[0]
    told = f"a container name must be specified for pod {name}, choose one of: [{' '.join(plain)}]"
    if first:
        told += f" or one of the init containers: [{' '.join(first)}]"
    raise bad_request(told)


def kubelet_of(context: ServerContext, name: str) -> str:
    """`https://ADDRESS:PORT` of a node's kubelet.

    Raises PortError 404 when there is no such node, 503 when the address is none that we listen at: anybody
    with rights may write one, and on a real network it is somebody else's.
    """
    stored = context.operations.storage.get(NODES, "", name)
    if stored is None:
        raise not_found(NODES, name)
    status = stored.tree.get("status") or {}
    addresses = {one["type"]: one["address"] for one in status.get("addresses") or ()}
    host = addresses.get("InternalIP") or addresses.get("Hostname")
    if not host:
        known = " ".join(sorted(addresses))
        raise PortError(500, "", f"no preferred addresses found; known addresses: [{known}]")
    endpoint = (status.get("daemonEndpoints") or {}).get("kubeletEndpoint") or {}
    # The field is spelt with a capital letter in the API.
    port = endpoint.get("Port") or _KUBELET_PORT
    if not (is_loopback(host) and context.listens(host, port)):
        raise unavailable(f"the kubelet of node {name} is simulated: nothing listens at {host}:{port}")
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"


def dial_fault(error: Exception, url: str) -> str:
    """Why nobody answers at a URL, in the words of Go's dialler."""
    target = yarl.URL(url)
    cause = getattr(error, "os_error", None) or error
    if isinstance(cause, ConnectionRefusedError):
        return f"dial tcp {target.host}:{target.port}: connect: connection refused"
    if isinstance(cause, TimeoutError):
        return f"dial tcp {target.host}:{target.port}: i/o timeout"
    return f"dial tcp {target.host}:{target.port}: {str(cause) or type(cause).__name__}"


def unreachable(method: str, url: str, error: Exception) -> PortError:
    """500: nobody answers there, in the words of Go's HTTP client."""
    return PortError(500, "", f'{method} "{url}": {dial_fault(error, url)}')


async def _kubelets_refusal(asked: ApiRequest, response: aiohttp.ClientResponse) -> PortError:
    text = (await response.content.read(_PIECE_BYTES)).decode("utf-8", "replace").strip()
    if response.status == 400:
        return bad_request(text)
    if response.status == 404:
        what = f"({asked.kind.resource.label} {asked.target.name})"
        return PortError(404, "NotFound", f"the server could not find the requested resource {what}")
    if response.status == 500:
        return PortError(500, "InternalError", f"Internal error occurred: {text}")
    return PortError(
        response.status, "", text or f"the server responded with the status code {response.status}"
    )


_STREAMS = ("All", "Stderr", "Stdout")


def _check_stream(asked: ApiRequest) -> None:
    """As with the gate PodLogsQuerySplitStreams on (1.36 ValidatePodLogOptions). Raises PortError."""
    stream = asked.query.get("stream", "All")
    told = ""
    if stream not in _STREAMS:
        known = ", ".join(f'"{one}"' for one in _STREAMS)
        told = f'stream: Unsupported value: "{stream}": supported values: {known}'
    elif stream != "All" and "tailLines" in asked.query:
        told = ": Forbidden: `tailLines` and specific `stream` are mutually exclusive for now"
    if told:
        raise PortError(422, "Invalid", f'PodLogOptions "{asked.target.name}" is invalid: {told}')


async def log(context: ServerContext, asked: ApiRequest) -> web.StreamResponse:
    """`GET pods/NAME/log`, line by line as the node sends it."""
    pod = _pod(context, asked)
    _check_stream(asked)
    container = container_of(pod, asked.query.get("container", ""))
    headers = {**COMMON, "Content-Type": "text/plain"}
    if not pod["spec"].get("nodeName"):
        return web.Response(status=204, headers=COMMON)
    metadata = pod["metadata"]
    url = (
        f"{kubelet_of(context, pod['spec']['nodeName'])}/containerLogs/"
        f"{metadata['namespace']}/{metadata['name']}/{quote(container, safe='')}"
    )
    query = [(name, asked.query[name]) for name in _LOG_QUERY if name in asked.query]
    try:
        async with context.dialler().get(url, params=query) as upstream:
            if upstream.status >= 400:
                raise await _kubelets_refusal(asked, upstream)
            response = web.StreamResponse(headers=headers)
            response.enable_chunked_encoding()
            await response.prepare(asked.http)
            async for piece in upstream.content.iter_any():
                await response.write(piece)
            await response.write_eof()
            return response
    except aiohttp.ClientConnectorError as error:
        raise unreachable("Get", url, error) from None
    except aiohttp.ClientPayloadError:
        # The node broke off in the middle: so does the answer, as the reader must not take it for the end.
        if asked.http.transport is not None:
            asked.http.transport.abort()
        return response


def _run_query(asked: ApiRequest, verb: str) -> list[tuple[str, str]]:
    query = [
        (kubelets, "1")
        for name, kubelets in _RUN_QUERY.items()
        if asked.query.get(name, "").lower() in ("1", "t", "true")
    ]
    if verb == "exec":
        query += [("command", one) for one in asked.http.query.getall("command", [])]
    return query


async def run(context: ServerContext, asked: ApiRequest, verb: str) -> web.StreamResponse:
    """`exec` and `attach`: a websocket to the client, one to the kubelet, and every message passed on."""
    pod = _pod(context, asked)
    container = container_of(pod, asked.query.get("container", ""), heed_annotation=True)
    kubelet = await _upgraded(context, asked, pod)
    query = _run_query(asked, verb)
    if not any(name in ("input", "output", "error") for name, _ in query):
        raise bad_request("you must specify at least 1 of stdin, stdout, stderr")
    metadata = pod["metadata"]
    place = f"{metadata['namespace']}/{metadata['name']}/{quote(container, safe='')}"
    offered = _offered(_protocol_headers(asked))
    return await _through(context, asked, f"{kubelet}/{verb}/{place}", query, offered)


async def forward(context: ServerContext, asked: ApiRequest) -> web.StreamResponse:
    """`portforward`, as `run`: `ports` of the API is `port` for the kubelet."""
    pod = _pod(context, asked)
    given = {one.strip() for header in _protocol_headers(asked) for one in header.split(",")}
    is_tunnel = any(one.startswith("SPDY/") for one in given) and not given.intersection(_FORWARD_PROTOCOLS)
    if is_tunnel or asked.http.headers.get("Upgrade", "").lower().startswith("spdy/"):
        raise bad_request(_NO_SPDY)
    kubelet = await _upgraded(context, asked, pod)
    ports = [one for one in asked.http.query.getall("ports", []) if one]
    query = [("port", ",".join(ports))] if ports else []
    offered = tuple(one for one in _FORWARD_PROTOCOLS if one in given)
    metadata = pod["metadata"]
    url = f"{kubelet}/portForward/{metadata['namespace']}/{metadata['name']}"
    return await _through(context, asked, url, query, offered)


def _protocol_headers(asked: ApiRequest) -> list[str]:
    return list(asked.http.headers.getall("Sec-WebSocket-Protocol", []))


async def _upgraded(context: ServerContext, asked: ApiRequest, pod: Tree) -> str:
    """The kubelet of a pod for a request that asks for a websocket. Raises PortError."""
    node = pod["spec"].get("nodeName")
    if not node:
        raise bad_request(f"pod {pod['metadata']['name']} does not have a host assigned")
    upgrade = asked.http.headers.get("Upgrade", "").lower()
    if upgrade and upgrade != "websocket":
        await _check_reachable(kubelet_of(context, node))
    if upgrade != "websocket":
        raise bad_request("Upgrade request required")
    return kubelet_of(context, node)


async def _through(
    context: ServerContext,
    asked: ApiRequest,
    url: str,
    query: list[tuple[str, str]],
    offered: tuple[str, ...],
) -> web.StreamResponse:
    """Dial the kubelet, then pass every message on."""
    client = context.dialler()
    try:
        upstream = await client.ws_connect(
            url, params=query, protocols=offered, max_msg_size=_MOST_MESSAGE_BYTES, autoclose=False
        )
    except aiohttp.WSServerHandshakeError as error:
        raise PortError(error.status, "", f"error dialing backend: {error.message}") from None
    except aiohttp.ClientError as error:
        raise PortError(500, "", f"error dialing backend: {dial_fault(error, url)}") from None
    async with upstream:
        chosen = (upstream.protocol,) if upstream.protocol else ()
        socket = web.WebSocketResponse(
            protocols=chosen, max_msg_size=_MOST_MESSAGE_BYTES, autoclose=False, compress=False
        )
        await socket.prepare(asked.http)
        await _pass_on(socket, upstream)
        return socket


async def _check_reachable(url: str) -> None:
    """Says so when nobody listens: a client that falls back to SPDY shows what it heard last."""
    target = yarl.URL(url)
    try:
        _, writer = await asyncio.open_connection(target.host, target.port)
    except OSError as error:
        raise PortError(500, "", f"error dialing backend: {dial_fault(error, url)}") from None
    writer.close()


def _offered(headers: Iterable[str]) -> tuple[str, ...]:
    """The client's protocols that are spoken here, in our order."""
    given = {one.strip() for header in headers for one in header.split(",")}
    return tuple(one for one in _PROTOCOLS if one in given)


Socket = web.WebSocketResponse | aiohttp.ClientWebSocketResponse


async def _pump(source: Socket, sink: Socket) -> None:
    code = aiohttp.WSCloseCode.OK
    async for message in source:
        if message.type is aiohttp.WSMsgType.BINARY:
            await sink.send_bytes(message.data)
        elif message.type is aiohttp.WSMsgType.TEXT:
            await sink.send_str(message.data)
        else:
            break
    await sink.close(code=source.close_code or code)


async def _pass_on(client: Socket, kubelet: Socket) -> None:
    """Until the kubelet has said all, or either side is gone."""
    pumps = [asyncio.ensure_future(_pump(client, kubelet)), asyncio.ensure_future(_pump(kubelet, client))]
    try:
        await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for pump in pumps:
            pump.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)
