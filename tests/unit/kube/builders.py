"""Objects as the API server writes them, in JSON and in protobuf, and a scripted API server."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import web
from google.protobuf.message import Message

from cockpit.kube.decode.wire import MAGIC, PROTOBUF
from cockpit.kube.proto import meta_pb2

CREATED = "2026-11-01T10:00:00Z"
CREATED_SECONDS = 1793527200.0

# ---- objects


def meta(
    name: str, *, namespace: str = "team-a", uid: str = "", version: str = "5", **more: Any
) -> dict[str, Any]:
    """`metadata` of an object; the uid defaults to one made of the name."""
    tree = {
        "name": name,
        "namespace": namespace,
        "uid": uid or f"uid-{name}",
        "resourceVersion": version,
        "creationTimestamp": CREATED,
        **more,
    }
    return {key: value for key, value in tree.items() if value != ""}


def owner(kind: str, name: str, api_version: str = "kubeflow.org/v1") -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "name": name, "uid": f"uid-{name}", "controller": True}


def gpu_container(gpus: int = 1, resource: str = "nvidia.com/gpu", name: str = "main") -> dict[str, Any]:
    return {
        "name": name,
        "image": f"registry/{name}:1",
        "resources": {
            "requests": {"cpu": "4", "memory": "32Gi", resource: str(gpus)},
            "limits": {"cpu": "8", resource: str(gpus)},
        },
    }


def pod(name: str = "p", *, version: str = "5", **more: Any) -> dict[str, Any]:
    """A running pod on node n1 with one GPU; `more` replaces whole parts (metadata, spec, status)."""
    return {
        "metadata": meta(name, version=version),
        "spec": {"nodeName": "n1", "schedulerName": "default-scheduler", "containers": [gpu_container()]},
        "status": {"phase": "Running"},
        **more,
    }


# ---- protobuf

_JSON_NAMES = {"pod_ip": "podIP", "provider_id": "providerID"}


def _camel(name: str) -> str:
    if name in _JSON_NAMES:
        return _JSON_NAMES[name]
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def fill(message: Any, tree: dict[str, Any]) -> Any:
    """Fill a trimmed message from the JSON tree of the same object, as the API server would encode it."""
    for field in message.DESCRIPTOR.fields:
        value = tree.get(_camel(field.name))
        if value is None:
            continue
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            target = getattr(message, field.name)
            for key, item in value.items():
                if (
                    isinstance(item, str | int | float)
                    and field.message_type.fields_by_name["value"].message_type
                ):
                    target[key].string = str(item)
                else:
                    target[key] = item
        elif field.is_repeated:
            for item in value:
                if field.message_type is None:
                    getattr(message, field.name).append(item)
                else:
                    fill(getattr(message, field.name).add(), item)
        elif field.message_type is None:
            setattr(message, field.name, value)
        elif field.message_type.name == "Time":
            moment = datetime.fromisoformat(value)
            getattr(message, field.name).seconds = int(moment.timestamp() // 1)
            getattr(message, field.name).nanos = moment.microsecond * 1000
        else:
            getattr(message, field.name).SetInParent()
            fill(getattr(message, field.name), value)
    return message


def envelope(raw: bytes) -> bytes:
    return MAGIC + meta_pb2.Unknown(raw=raw).SerializeToString()


def protobuf_event(type_: str, message: Message) -> bytes:
    """One length-delimited watch event."""
    event = meta_pb2.WatchEvent(type=type_)
    event.object.raw = envelope(message.SerializeToString())
    data = event.SerializeToString()
    return len(data).to_bytes(4, "big") + data


def event(type_: str, tree: dict[str, Any]) -> bytes:
    """One watch event as a JSON line."""
    return json.dumps({"type": type_, "object": tree}).encode() + b"\n"


def bookmark(version: str, *, ends_list: bool = False) -> bytes:
    notes = {"annotations": {"k8s.io/initial-events-end": "true"}} if ends_list else {}
    return event("BOOKMARK", {"metadata": {"resourceVersion": version, **notes}})


def status(code: int, reason: str, message: str, **details: Any) -> dict[str, Any]:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": message,
        "details": details,
    }


def listing(*items: dict[str, Any], version: str = "10", token: str = "") -> dict[str, Any]:
    return {"kind": "List", "metadata": {"resourceVersion": version, "continue": token}, "items": list(items)}


# ---- the scripted server


class Seen(msgspec.Struct, frozen=True):
    """One request that arrived."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes


OVER = web.AppKey("over", asyncio.Event)
Step = Callable[[web.Request], Awaitable[web.StreamResponse]]


def reply(tree: Any, code: int = 200, content_type: str = "application/json", **headers: str) -> Step:
    """A whole answer; `tree` is JSON, text or bytes."""

    async def answer(_request: web.Request) -> web.StreamResponse:
        body = (
            tree
            if isinstance(tree, bytes)
            else tree.encode()
            if isinstance(tree, str)
            else json.dumps(tree).encode()
        )
        named = {key.replace("_", "-"): value for key, value in headers.items()}
        return web.Response(status=code, body=body, headers={"Content-Type": content_type, **named})

    return answer


def refuse(code: int, reason: str, message: str, **headers: str) -> Step:
    return reply(status(code, reason, message), code, **headers)


def stream(
    *parts: bytes, content_type: str = "application/json", stays: bool = False, cut: bool = False
) -> Step:
    """A streamed answer: ends cleanly, or stays open without a word, or is cut in the middle."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": content_type})
        await response.prepare(request)
        for part in parts:
            await response.write(part)
        if stays:
            await request.app[OVER].wait()
        if cut and request.transport is not None:
            request.transport.abort()
        return response

    return answer


def protobuf_stream(*parts: bytes, stays: bool = False) -> Step:
    return stream(*parts, content_type=f"{PROTOBUF};stream=watch", stays=stays)


class FakeServer:
    """Answers by script: each request to a path takes the next step, the last step stays."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.url = ""
        self._steps: dict[str, list[Step]] = {"/version": [reply({"gitVersion": "v1.36.0"})]}
        self.over = asyncio.Event()

    def on(self, path: str, *steps: Step) -> None:
        self._steps[path] = list(steps)

    def count(self, path: str) -> int:
        return sum(one.path == path for one in self.seen)

    def queries(self, path: str) -> list[dict[str, str]]:
        return [one.query for one in self.seen if one.path == path]

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.seen.append(
            Seen(
                request.method, request.path, dict(request.query), dict(request.headers), await request.read()
            )
        )
        steps = self._steps.get(request.path)
        if not steps:
            return await refuse(404, "NotFound", "the server could not find the requested resource")(request)
        step = steps.pop(0) if len(steps) > 1 else steps[0]
        return await step(request)


@asynccontextmanager
async def serving(server: FakeServer, **options: Any) -> AsyncIterator[FakeServer]:
    """The server on a free loopback port; `options` go to the site (ssl_context)."""
    app = web.Application(client_max_size=1 << 24)
    app[OVER] = server.over
    app.router.add_route("*", "/{tail:.*}", server.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, **options)
    await site.start()
    assert site._server is not None
    port = site._server.sockets[0].getsockname()[1]  # type: ignore[attr-defined]
    server.url = f"{'https' if options.get('ssl_context') else 'http'}://127.0.0.1:{port}"
    try:
        yield server
    finally:
        server.over.set()
        await runner.cleanup()


def kubeconfig(
    folder: Path, server: str, cluster: Mapping[str, Any] | None = None, *, user: dict[str, Any] | None = None
) -> str:
    """Write a kubeconfig with one context `here`; gives its path."""
    tree = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "clusters": [{"name": "c", "cluster": {"server": server, **(cluster or {})}}],
        "users": [{"name": "me", "user": user if user is not None else {"token": "t-1"}}],
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "me", "namespace": "team-a"}}],
    }
    path = folder / "kubeconfig"
    path.write_text(json.dumps(tree), encoding="utf-8")
    return str(path)


def server_side(tls: tuple[str, str]) -> ssl.SSLContext:
    """TLS of a server with these certificate and key files."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*tls)
    return context
