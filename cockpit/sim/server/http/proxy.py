"""The proxy subresource of pods, services and nodes: what they serve over HTTP, behind the API server.

Of a kubelet only what it tells about itself is passed on: behind its other paths are shells of this machine.
"""

import ipaddress
import re
from collections.abc import Iterator
from urllib.parse import quote

import aiohttp
from aiohttp import web

from cockpit.kube.resource import NODES, PODS, SERVICES
from cockpit.sim.loopback import is_loopback
from cockpit.sim.port import PortError, Tree
from cockpit.sim.server.http.nodes import kubelet_of, unreachable
from cockpit.sim.server.http.server_context import ApiRequest, ServerContext
from cockpit.sim.server.http.statuses import unavailable
from cockpit.sim.server.http.writes import body_of
from cockpit.sim.server.refusals import bad_request, not_found

_HOP_BY_HOP = frozenset(
    {
        *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer"),
        *("transfer-encoding", "upgrade", "content-length", "host", "authorization"),
    }
)


_OF_KUBELETS = re.compile(r"metrics(/[a-z]+)?|pods|healthz")


def parse(text: str, what: str) -> tuple[str, str, str]:
    """`[SCHEME:]NAME[:PORT]` as scheme, name and port. Raises PortError 400."""
    parts = text.split(":")
    if len(parts) == 1:
        return "http", parts[0], ""
    if len(parts) == 2:
        return "http", parts[0], parts[1]
    if len(parts) == 3 and parts[0] in ("http", "https", ""):
        return parts[0] or "http", parts[1], parts[2]
    raise bad_request(f"invalid {what} request {text!a}".replace("'", '"'))


def _announced(pod: Tree) -> Iterator[tuple[str, int]]:
    for container in pod["spec"].get("containers") or ():
        for port in container.get("ports") or ():
            yield port.get("name", ""), port["containerPort"]


def _ready(pod: Tree) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)


def _dialled(pod: Tree, port: int) -> str:
    """`ADDRESS:PORT`. A loopback address is dialled only at a port that the pod announces."""
    address = (pod.get("status") or {}).get("podIP")
    if not address:
        raise bad_request("address not allowed")
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        raise bad_request("address not allowed") from None
    known = {number for _, number in _announced(pod)}
    if parsed.is_link_local or parsed.is_multicast or (parsed.is_loopback and port not in known):
        raise bad_request("address not allowed")
    return f"[{address}]:{port}" if parsed.version == 6 else f"{address}:{port}"


def _root(context: ServerContext, scheme: str, address: str) -> str:
    """The URL at which `ADDRESS:PORT` of a pod really answers. Raises PortError 503 where it is invented."""
    root = context.reroute(address)
    if root:
        return root
    host, _, port = address.rpartition(":")
    if not (is_loopback(host.strip("[]")) and context.listens(host.strip("[]"), int(port))):
        raise unavailable(
            f"error trying to reach service: the pod is simulated: nothing listens at {address}"
        )
    return f"{scheme}://{address}"


def _of_pod(context: ServerContext, namespace: str, name: str, port: str) -> str:
    stored = context.operations.storage.get(PODS, namespace, name)
    if stored is None:
        raise not_found(PODS, name)
    pod = stored.tree
    announced = list(_announced(pod))
    if not port:
        number = announced[0][1] if announced else 80
    elif port.isdigit():
        number = int(port)
    else:
        number = dict(announced).get(port, 0)
    if not 0 < number < 65536:
        raise bad_request(f"invalid port {port!a} of pod {name}".replace("'", '"'))
    return _dialled(pod, number)


def _of_service(context: ServerContext, namespace: str, name: str, port: str) -> str:
    """A ready pod behind a service: the choice is drawn, as the real server's is."""
    storage = context.operations.storage
    stored = storage.get(SERVICES, namespace, name)
    if stored is None:
        raise not_found(SERVICES, name)
    spec = stored.tree["spec"]
    ports = spec.get("ports") or ()
    found = [one for one in ports if not port or port in (str(one["port"]), one.get("name"))]
    if not found:
        raise unavailable(f"no service port {port!a} found for service {name!a}".replace("'", '"'))
    selector = spec.get("selector") or {}
    behind = [
        pod.tree
        for pod in (storage.shelf(PODS).between(namespace) if selector else ())
        if selector.items() <= (pod.tree["metadata"].get("labels") or {}).items() and _ready(pod.tree)
    ]
    if not behind:
        raise unavailable(f"no endpoints available for service {name!a}".replace("'", '"'))
    pod = context.random.choice(behind)
    wanted = found[0].get("targetPort", found[0]["port"])
    if isinstance(wanted, str):
        wanted = dict(_announced(pod)).get(wanted, 0)
    return _dialled(pod, int(wanted))


async def proxy(context: ServerContext, asked: ApiRequest) -> web.StreamResponse:
    """Passes a request on and its answer back."""
    target = asked.target
    if asked.kind.resource == NODES:
        return await _passed_on(asked, context, _kubelets(context, asked))
    scheme, name, port = parse(target.name, asked.kind.resource.kind.lower())
    finder = _of_pod if asked.kind.resource == PODS else _of_service
    address = finder(context, target.namespace, name, port)
    query = asked.http.rel_url.raw_query_string
    root = _root(context, scheme, address)
    return await _passed_on(asked, context, f"{root}/{target.rest}" + (f"?{query}" if query else ""))


def _kubelets(context: ServerContext, asked: ApiRequest) -> str:
    """The URL of a path that a node's kubelet tells of itself. Raises PortError 403 for any other."""
    target = asked.target
    if asked.http.method not in ("GET", "HEAD") or not _OF_KUBELETS.fullmatch(target.rest):
        raise PortError(403, "Forbidden", f"the embedded kubelets do not serve /{target.rest} by this way")
    _, name, _ = parse(target.name, "node")
    # All embedded kubelets share one endpoint, which is told which of them is meant. It is on loopback, where
    # the real server's proxy leads nobody.
    return f"{kubelet_of(context, name)}/{target.rest}?node={quote(name, safe='')}"


async def _passed_on(asked: ApiRequest, context: ServerContext, url: str) -> web.StreamResponse:
    headers = {key: value for key, value in asked.http.headers.items() if key.lower() not in _HOP_BY_HOP}
    body = await body_of(asked) if asked.http.can_read_body else None
    import yarl

    try:
        async with context.dialler().request(
            asked.http.method,
            yarl.URL(url, encoded=True),
            headers=headers,
            data=body,
            allow_redirects=False,
            skip_auto_headers=("User-Agent", "Content-Type", "Accept", "Accept-Encoding"),
        ) as upstream:
            kept = {key: value for key, value in upstream.headers.items() if key.lower() not in _HOP_BY_HOP}
            return await _back(asked, upstream, kept)
    except (aiohttp.ClientConnectorError, aiohttp.ServerDisconnectedError) as error:
        told = unreachable(asked.http.method.capitalize(), url, error)
        raise PortError(503, "ServiceUnavailable", f"error trying to reach service: {told.message}") from None


async def _back(
    asked: ApiRequest, upstream: aiohttp.ClientResponse, headers: dict[str, str]
) -> web.StreamResponse:
    response = web.StreamResponse(status=upstream.status, headers=headers)
    if upstream.content_length is not None:
        response.content_length = upstream.content_length
    else:
        response.enable_chunked_encoding()
    await response.prepare(asked.http)
    async for piece in upstream.content.iter_any():
        await response.write(piece)
    await response.write_eof()
    return response
